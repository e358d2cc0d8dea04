package import Accounts
import Domain
import Encodings
import Import
import Providers
import Store

extension UserImport {
    /// Imports the users in a request of a backend.
    package var ofBackends: ImportingUsers {
        { given, application, actor throws(Failure) in try await importUsers(given, into: application, by: actor) }
    }

    private func importUsers(
        _ given: GivenUsers,
        into application: ApplicationID,
        by actor: ChangeAuthor
    ) async throws(Failure) -> [(index: Int, message: String)] {
        let stored = try await changes.importable(application.text, in: store)
        var options = ImportOptions()
        options.withoutPasswords = given.hashing == nil
        // If the application has a single app at a provider, the users' ids there belong to this app.
        for (name, provider) in stored.providers {
            let kind = stored.providerKinds[name].flatMap { kinds.named($0) }
            guard kind?.subjects.isGlobal == false, provider.apps.count == 1, let app = provider.apps.first else {
                continue
            }
            options.apps[name] = app.id
        }
        let file = Array(
            JSONValue.object(["users": .array(given.records.map(JSONValue.object))]).text.utf8
        )
        var job = ImportJob(
            application: application.text,
            source: .firebase,
            options: options,
            fileHash: FileDigest.digest(of: file),
            open: ImportJob.reader(of: file)
        )
        job.firebase = given.hashing
        // A backend may repeat a request. Users who were deleted in between are imported again.
        job.former = .begunAnew
        var refused: [(index: Int, message: String)] = []
        var listener = ImportListener()
        listener.refused = { refused.append(($0.record - 1, $0.message)) }
        do {
            _ = try await run(job, by: actor, telling: listener)
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure(.internal, "The users could not be imported.", cause: "\(error)")
        }
        return refused
    }
}
