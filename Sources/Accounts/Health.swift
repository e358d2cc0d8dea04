import Applications
import Domain
import Secrets
import Store

/// The readiness of an instance for traffic.
package struct Readiness: Sendable {
    /// The reason why the instance should get no traffic; nil when it is ready.
    ///
    /// Ready means: the database is reachable, the schema is current, and the configuration was read.
    package var reason: String?
    /// The reasons why logins of some applications fail.
    ///
    /// The instance is ready all the same, since these logins would fail at every other instance, too.
    package var errors: [String]
    /// Further warnings for an operator.
    package var warnings: [String]
}

/// The health of an instance.
package struct Health: Sendable {
    let store: Store
    let directory: ApplicationDirectory
    let warnings: Warnings
    let clock: WallClock

    /// Returns whether this instance should get traffic, with errors and warnings for operators.
    package func readiness() async -> Readiness {
        Readiness(
            reason: await reasonNotReady(),
            errors: obstacles + unusableDatabases,
            warnings: warnings.texts() + endings
        )
    }

    private func reasonNotReady() async -> String? {
        do throws(Failure) {
            let version = try await store.schemaVersion()
            let needed = Store.expectedSchemaVersion
            guard version == needed else {
                return "the schema has version \(version), this binary needs \(needed): "
                    + (version < needed ? "run federation migrate" : "run the program that migrated it, or a later one")
            }
        } catch {
            // Host and role of the database stay secret, since clients reach this listener without a token.
            return "the database cannot be reached; see the log, or run `federation doctor`"
        }
        if let refusal = directory.keyRefusal { return refusal.message }
        return directory.isLoaded ? nil : "the configuration is not loaded yet"
    }

    /// The errors in the stored configuration of applications.
    ///
    /// Each text begins with the id of its application. Because of these errors, logins to these applications are
    /// refused.
    private var obstacles: [String] {
        directory.applications.sorted { $0.application.id.text < $1.application.id.text }.flatMap { loaded in
            loaded.obstacles.map { "\(loaded.application.id): \($0)" }
        }
    }

    /// Warnings about applications whose own databases cannot be used, one for each kind of problem.
    private var unusableDatabases: [String] {
        var applications: [DatabaseProblem: [String]] = [:]
        for loaded in directory.applications {
            guard let problem = store.databases.problem(of: loaded.application) else { continue }
            applications[problem, default: []].append(loaded.application.id.text)
        }
        return applications.map { problem, ids in
            "users of \(ids.sorted().prefix(Self.maxNamed).joined(separator: ", ")) cannot log in: \(problem)"
        }.sorted()
    }

    /// The maximum number of applications in one warning.
    private static let maxNamed = 10

    /// Warnings about configured versions of providers' APIs.
    ///
    /// The warnings are about versions that the provider has retired or will retire soon, and about versions that this
    /// service does not know.
    ///
    /// The warnings are computed for each request, so a warning disappears once the operator has corrected the
    /// configuration. A warning contains only the number of affected applications; the log has their ids.
    private var endings: [String] {
        Ending.all(in: directory.applications, on: clock.today).map { ending in
            let count = ending.applications.count
            return "\(count == 1 ? "1 application" : "\(count) applications"): \(ending.text)"
        }
    }
}
