package import Accounts
import Applications
import Domain
import Encodings
import Import
import Limiting
import Providers
import Store

extension UserImport {
    /// Imports the users in a request of a backend.
    package var ofBackends: ImportingUsers {
        { given, application, actor throws(Failure) in try await importUsers(given, into: application, by: actor) }
    }

    /// The timeout of a request's wait for its turn.
    private static let turnTimeout = Duration.seconds(10)

    /// Imports users in the turn of their application.
    ///
    /// No progress is stored. A backend does not resume a request, but repeats it: users who are here already stay as
    /// they are, and users who were deleted in between are imported again. PostgreSQL's own maintenance updates the
    /// planner's statistics.
    private func importUsers(
        _ given: GivenUsers,
        into application: ApplicationID,
        by actor: ChangeAuthor
    ) async throws(Failure) -> [(index: Int, message: String)] {
        let stored = try await changes.importable(application.text, in: store)
        return try await turns.pass(of: application, at: stored.database, before: .now + Self.turnTimeout) {
            () throws(Failure) in
            do {
                return try await importUsers(given, into: stored, by: actor)
            } catch let failure as Failure {
                throw failure
            } catch {
                throw Failure(.internal, "The users could not be imported.", cause: "\(error)")
            }
        }
    }

    private func importUsers(
        _ given: GivenUsers,
        into stored: StoredApplication,
        by actor: ChangeAuthor
    ) async throws -> [(index: Int, message: String)] {
        let application = try Application(stored)
        let job = job(given, into: stored)
        let key = ImportKey(application: application.id, at: application.database, fileHash: job.fileHash)
        let source = job.source.rawValue
        var reading = try await reading(job, stored, application)
        let hash = try await banKey.hasher(of: application.id)
        var refused: [(index: Int, message: String)] = []
        var listener = ImportListener()
        listener.refused = { refused.append(($0.record - 1, $0.message)) }
        _ = try await pass(&reading, remembering: .byID, telling: listener) { batch, names throws(Failure) in
            if !names.isEmpty { try await store.registerDynamicNames(names, of: application.id) }
            return try await store.write(batch, of: key, from: source, by: actor, in: application, hashingBy: hash)
        }
        return refused
    }

    private func job(_ given: GivenUsers, into stored: StoredApplication) -> ImportJob {
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
            application: stored.id.text,
            source: .firebase,
            options: options,
            fileHash: FileDigest.digest(of: file),
            open: ImportJob.reader(of: file)
        )
        job.firebase = given.hashing
        return job
    }
}
