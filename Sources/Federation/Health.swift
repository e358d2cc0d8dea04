import Applications
import Secrets
import Store
import Vocabulary

/// Whether an instance should get traffic.
package struct Readiness: Sendable {
    /// Why it should not; nil when it is ready: database reachable, schema current, configuration read.
    package var reason: String?
    /// Why logins of some applications fail although the instance is ready; another instance would serve them no
    /// better.
    package var errors: [String]
    /// What an operator should know all the same.
    package var warnings: [String]
}

/// How an instance is.
package struct Health: Sendable {
    let store: Store
    let directory: ApplicationDirectory
    let warnings: Warnings
    let clock: WallClock

    /// Whether this instance should get traffic, and what an operator should know.
    package func readiness() async -> Readiness {
        Readiness(
            reason: await reasonNotReady(),
            errors: hindrances + unusableDatabases,
            warnings: warnings.texts() + endings
        )
    }

    private func reasonNotReady() async -> String? {
        do throws(Failure) {
            let version = try await store.schemaVersion()
            guard version == Store.expectedSchemaVersion else {
                return "the schema has version \(version), this binary needs \(Store.expectedSchemaVersion): "
                    + "run federation migrate"
            }
        } catch {
            // Host and role of the database are nothing for whoever reaches this listener without a token.
            return "the database cannot be asked; the log says why, and so does `federation doctor`"
        }
        if let refusal = directory.keyRefusal { return refusal.message }
        return directory.isLoaded ? nil : "the configuration has not been read yet"
    }

    /// What is wrong with the stored configuration of applications, so that their logins are refused.
    private var hindrances: [String] {
        directory.applications.sorted { $0.application.id.text < $1.application.id.text }.flatMap { loaded in
            loaded.hindrances.map { "\(loaded.application.id): \($0)" }
        }
    }

    /// Applications whose own databases cannot be used, by their databases.
    private var unusableDatabases: [String] {
        var applications: [DatabaseProblem: [String]] = [:]
        for loaded in directory.applications {
            guard let problem = store.databases.problem(of: loaded.application) else { continue }
            applications[problem, default: []].append(loaded.application.id.text)
        }
        return applications.map { problem, ids in
            "users of \(ids.sorted().prefix(Self.mostNamed).joined(separator: ", ")) cannot log in: \(problem)"
        }.sorted()
    }

    /// Applications that are named in a warning at most.
    private static let mostNamed = 10

    /// Looked up each time, so that what has been mended is gone at once; the log names the applications.
    private var endings: [String] {
        Ending.all(in: directory.applications, on: clock.today).map { ending in
            let count = ending.applications.count
            return "\(count == 1 ? "1 application" : "\(count) applications"): \(ending.text)"
        }
    }
}
