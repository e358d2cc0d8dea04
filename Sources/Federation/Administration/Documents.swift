package import Vocabulary
import NIOConcurrencyHelpers
package import Store

/// What applying a document does, or would do.
package struct ApplicationPlan: Sendable {
    package let application: ApplicationID
    package let changes: [PlannedChange]
    /// Declared properties that the document does not name: they stay.
    package let undeclared: [PropertyName]
    /// What an operator should know about what the document says.
    package let warnings: [String]

    package init(
        application: ApplicationID,
        changes: [PlannedChange],
        undeclared: [PropertyName],
        warnings: [String] = []
    ) {
        self.application = application
        self.changes = changes
        self.undeclared = undeclared
        self.warnings = warnings
    }

    /// `{"application", "changes": [{"action", "target", "from", "to"}], "undeclaredProperties": [name], "warnings": [text]}`.
    package var json: JSONValue {
        let changes = changes.map { change in
            JSONValue.object([
                "action": .string(change.action), "target": change.target.map(JSONValue.string) ?? .null,
                "from": change.from ?? .null, "to": change.to ?? .null,
            ])
        }
        return .object([
            "application": .string(application.text), "changes": .array(changes),
            "undeclaredProperties": .array(undeclared.map { .string($0.text) }),
            "warnings": .array(warnings.map(JSONValue.string)),
        ])
    }
}

extension Administration {
    /// The application as a document that `apply` takes back; keys and secrets as names of environment variables.
    package func document(of application: String) async throws(Failure) -> Resource {
        let stored = try await existing(application)
        return Resource(DocumentExport.document(of: stored), tag: stored.tag)
    }

    /// What applying the document would do.
    ///
    /// - Throws: `DocumentProblems` or `Failure`.
    package func plan(
        _ document: ApplicationDocument,
        environment: @escaping @Sendable (String) -> String?
    ) async throws -> ApplicationPlan {
        let stored = try await store.application(document.id)
        let columns = try await store.liveColumns(ofSchema: stored?.schema ?? document.schema)
        let plan = try plan(document, stored, columns, environment)
        try await store.refuseTakenHostNames(document.settings.hostNames, of: document.id)
        return plan
    }

    /// Makes an application what its document says, in one transaction; what is so already is left alone.
    ///
    /// - Throws: `DocumentProblems` with everything that is wrong, or `Failure`; nothing has changed then.
    package func apply(
        _ document: ApplicationDocument,
        environment: @escaping @Sendable (String) -> String?,
        if precondition: Precondition,
        by actor: Actor
    ) async throws -> ApplicationPlan {
        // A transaction that has to run again plans again; the last plan is the one that was carried out.
        let carriedOut = NIOLockedValueBox<ApplicationPlan?>(nil)
        _ = try await change(document.id, by: actor) { stored, columns in
            if let stored { try precondition.check(stored.tag) } else { try precondition.checkAbsent() }
            let plan = try plan(document, stored, columns, environment)
            carriedOut.withLockedValue { $0 = plan }
            return plan.changes
        }
        return carriedOut.withLockedValue { $0 }
            ?? ApplicationPlan(application: document.id, changes: [], undeclared: [])
    }

    private func plan(
        _ document: ApplicationDocument,
        _ stored: StoredApplication?,
        _ columns: [LiveColumn],
        _ environment: @escaping @Sendable (String) -> String?
    ) throws(DocumentProblems) -> ApplicationPlan {
        var secrets = DocumentSecrets(
            of: document.id,
            stored: stored,
            masterKeys: masterKeys,
            environment: environment
        )
        let desired = DesiredApplication(document, stored: stored, secrets: &secrets)
        // All at once: an operator should not mend one list of problems to be shown another.
        var problems = secrets.problems
        problems.add(ConfigurationDifference.problems(from: stored, to: desired, columns: columns))
        guard problems.isEmpty else { throw problems }
        return ApplicationPlan(
            application: document.id,
            changes: try ConfigurationDifference.changes(from: stored, to: desired, columns: columns),
            undeclared: document.undeclared(in: stored).map(\.name),
            warnings: desired.endings(on: .today)
        )
    }
}

extension DesiredApplication {
    /// What a document says.
    ///
    /// Declared properties that it does not name stay, behind those that it names: a column with the data of users never goes
    /// because a line is missing.
    init(_ document: ApplicationDocument, stored: StoredApplication?, secrets: inout DocumentSecrets) {
        self.init(id: document.id, name: document.name, schema: document.schema)
        settings = document.settings
        keys = secrets.keys(document.keys, at: JSONPointer() / "keys")
        for type in IdentityProviders.all {
            providers[type.name] = document.providers[type.name].map { provider in
                secrets.provider(provider, of: type, at: JSONPointer() / "providers" / type.name.text)
            }
        }
        properties = document.properties + document.undeclared(in: stored)
        mappings = document.mappings
    }
}

extension DesiredApplication {
    fileprivate func endings(on day: CalendarDate?) -> [String] {
        guard let day else { return [] }
        return IdentityProviders.all.flatMap { type -> [String] in
            guard let provider = providers[type.name], provider.enabled,
                let settings = try? type.settings(
                    enabled: provider.enabled,
                    options: provider.options,
                    secrets: [:],
                    apps: []
                )
            else { return [] }
            return type.endings(in: settings, on: day)
        }
    }
}

extension ApplicationDocument {
    fileprivate func undeclared(in stored: StoredApplication?) -> [Property] {
        (stored?.properties ?? []).filter { old in !properties.contains { $0.name == old.name } }
    }
}

extension Precondition {
    /// Holds the precondition against a resource that does not exist and will be made.
    fileprivate func checkAbsent() throws(Failure) {
        guard case .tags = self else { return }
        throw Failure(
            .preconditionFailed,
            "There is nothing with the ETag that you named any more. Leave out If-Match to make it."
        )
    }
}
