package import Vocabulary
import Mapping
package import Store

/// From what an application is to what it shall be.
///
/// Every change of an application's configuration passes here, whether it came as a document, over REST or by command, so
/// what is checked here holds everywhere.
package enum ConfigurationDifference {
    /// The steps that make an application what it shall be.
    ///
    /// Each step says what it does for the audit log and for people who look at a plan, and there a secret is `•••`, a key its label.
    ///
    /// - Parameters:
    ///   - stored: The application as it is; nil when there is none.
    ///   - desired: What it shall be. What came in with a secret has gone through `MasterKeys.desired`.
    ///   - columns: The live users table; empty when there is none.
    /// - Returns: The steps in an order in which each of them works; none when the application is so already.
    /// - Throws: Everything that is wrong, by its place in an application document; `moved(from:to:)` makes that a place in
    ///   the part that was submitted.
    package static func changes(
        from stored: StoredApplication?,
        to desired: DesiredApplication,
        columns: [LiveColumn]
    ) throws(DocumentProblems) -> [PlannedChange] {
        let problems = problems(from: stored, to: desired, columns: columns)
        guard problems.isEmpty else { throw problems }
        let names = desired.providerNames(beside: stored)
        return ApplicationSteps.steps(from: stored, to: desired)
            + KeySteps.steps(from: stored?.keys ?? [], to: desired.keys)
            + names.flatMap { name in
                ProviderSteps.steps(
                    at: name,
                    desired.kinds,
                    from: stored?.providers[name],
                    to: desired.providers[name]
                )
            }
            + PropertySteps.stepsBeforeMapping(from: stored, to: desired)
            + names.flatMap { MappingSteps.steps(for: $0, from: stored, to: desired) }
            + PropertySteps.stepsBehindMapping(from: stored, to: desired)
    }

    /// The one step that removes an application with everything in it.
    package static func deletion(of stored: StoredApplication) -> [PlannedChange] {
        [
            PlannedChange(
                .delete,
                action: "application.delete",
                target: nil,
                from: .object(["name": .string(stored.name), "schema": .string(stored.schema)]),
                to: nil
            )
        ]
    }
}

extension DesiredApplication {
    /// The names of all providers that are, or shall be, configured or mapped, in a fixed order.
    fileprivate func providerNames(beside stored: StoredApplication?) -> [ProviderName] {
        var names = Set(providers.keys).union(mappings.keys)
        if let stored { names.formUnion(Set(stored.providers.keys).union(stored.mappings.keys)) }
        return names.sorted { $0.text < $1.text }
    }
}
