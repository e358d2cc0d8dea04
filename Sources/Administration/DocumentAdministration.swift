import Applications
package import Description
package import Domain
package import Encodings
import NIOConcurrencyHelpers
import Providers
import Secrets
package import Store

/// The changes to an application that its document would make, or has made.
package struct ApplicationPlan: Sendable {
    package let application: ApplicationID
    package let changes: [PlannedChange]
    /// The stored properties that the document does not name.
    ///
    /// They stay, since `apply` removes no property.
    package let undeclared: [PropertyName]
    /// Warnings for the operator about the document.
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

    /// The plan as a JSON object.
    ///
    /// Its shape is `{"application", "changes": [{"action", "target", "from", "to"}], "undeclaredProperties": [name],
    /// "warnings": [text]}`.
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

/// Reads, compares and applies the configurations of whole applications as JSON documents.
package struct DocumentAdministration: Sendable {
    let store: Store
    let kinds: ProviderKinds
    let masterKeys: MasterKeys
    let clock: WallClock
    let changes: ApplicationChanges

    /// The JSON Schema of application documents, as formatted text.
    package var schema: String { ApplicationSchema.text(kinds) }

    /// Returns the application as a document for `apply`.
    ///
    /// Keys and secrets appear as names of environment variables.
    package func read(of application: String) async throws(Failure) -> Resource {
        let stored = try await changes.existing(application)
        return Resource(DocumentExport.document(of: stored, kinds: kinds), tag: stored.tag)
    }

    /// Returns the changes that the document would make.
    ///
    /// - Throws: `DocumentProblems` or `Failure`.
    package func plan(
        _ document: ApplicationDocument,
        environment: @escaping @Sendable (String) -> String?
    ) async throws -> ApplicationPlan {
        let stored = try await store.application(document.id)
        let columns = try await store.liveColumns(ofSchema: stored?.schema ?? document.schema, of: stored)
        let plan = try plan(document, stored, columns, environment)
        try await store.refuseTakenHostNames(document.settings.hostNames, of: document.id)
        try await store.refuseTakenProject(document.settings.firebase.projectID, of: document.id)
        if let stored {
            try await store.refuseIdentityChange(to: SettingsDocument.document(of: document.settings), of: stored)
        }
        if let variable = document.database.database(of: stored),
            let problem = await store.problem(at: variable, with: stored)
        {
            throw DocumentProblems(JSONPointer() / "database" / "env", problem.description)
        }
        return plan
    }

    /// Asks the providers whether they have the fields that the document's mappings read.
    ///
    /// - Returns: For each enabled provider, its display name and the result. Each problem has a JSON pointer into the
    ///   document.
    /// - Throws: `DocumentProblems` or `Failure`.
    package func checkFields(
        of document: ApplicationDocument,
        environment: @escaping @Sendable (String) -> String?
    ) async throws -> [(title: String, check: FieldCheck)] {
        let stored = try await store.application(document.id)
        var secrets = DocumentSecrets(
            of: document.id,
            stored: stored,
            masterKeys: masterKeys,
            clock: clock,
            environment: environment
        )
        let desired = DesiredApplication(document, stored: stored, secrets: &secrets)
        var checks: [(title: String, check: FieldCheck)] = []
        for (name, settings) in desired.providers.sorted(by: { $0.key.text < $1.key.text }) where settings.enabled {
            let setup = ProviderSetup(
                name: name,
                application: document.id,
                isEnabled: true,
                apps: masterKeys.apps(of: settings, at: name, in: document.id, stored: stored),
                options: settings.options
            )
            guard let mapping = desired.mappings[name], let kind = kinds.named(settings.kind),
                let provider = try? kind.provider(setup)
            else { continue }
            checks.append((provider.title, await store.check(fieldsOf: mapping, at: provider, in: stored?.place)))
        }
        return checks
    }

    /// Applies a document to its application in one transaction.
    ///
    /// Parts without a difference are not written.
    ///
    /// - Throws: `DocumentProblems` with all problems, or `Failure`. After an error, nothing has changed.
    package func apply(
        _ document: ApplicationDocument,
        environment: @escaping @Sendable (String) -> String?,
        if precondition: Precondition,
        by actor: ChangeAuthor
    ) async throws -> ApplicationPlan {
        // A repeated transaction makes a new plan. The last plan is the one that is carried out.
        let carriedOut = NIOLockedValueBox<ApplicationPlan?>(nil)
        _ = try await changes.change(document.id, by: actor) { stored, columns in
            if let stored { try precondition.check(stored.tag) } else { try precondition.checkAbsent() }
            let plan = try plan(document, stored, columns, environment)
            carriedOut.withLockedValue { $0 = plan }
            return plan.changes
        }
        return carriedOut.withLockedValue { $0 }
            ?? ApplicationPlan(application: document.id, changes: [], undeclared: [])
    }

    /// Reads an application document that an operator sent in a request.
    ///
    /// Unlike a document in a file, it may contain secrets.
    ///
    /// - Throws: `DocumentProblems` with all problems, each with its position in the document.
    package func parse(_ value: JSONValue) throws(DocumentProblems) -> ApplicationDocument {
        try ApplicationDocument(value, origin: .request, kinds: kinds)
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
            clock: clock,
            environment: environment
        )
        let desired = DesiredApplication(document, stored: stored, secrets: &secrets)
        // Both lists of problems are reported at once. Otherwise an operator would correct one list only to get the
        // other.
        var problems = secrets.problems
        problems.add(ConfigurationDifference.problems(from: stored, to: desired, columns: columns))
        guard problems.isEmpty else { throw problems }
        return ApplicationPlan(
            application: document.id,
            changes: try ConfigurationDifference.changes(from: stored, to: desired, columns: columns),
            undeclared: document.undeclared(in: stored).map(\.name),
            warnings: desired.warnings + desired.endings(on: clock.today)
        )
    }
}

extension DesiredApplication {
    /// Creates the desired application from a document.
    ///
    /// The list of properties begins with those that the document names. The other properties of the stored
    /// application follow and are kept: a document that omits a property never deletes its column.
    init(_ document: ApplicationDocument, stored: StoredApplication?, secrets: inout DocumentSecrets) {
        self.init(id: document.id, name: document.name, schema: document.schema, kinds: document.kinds)
        database = document.database.database(of: stored)
        settings = document.settings
        keys = secrets.keys(document.keys, at: JSONPointer() / "keys")
        for (name, provider) in document.providers {
            let place = JSONPointer() / "providers" / name.text
            providers[name] = secrets.provider(provider, named: name, document.kinds, at: place)
        }
        variables = secrets.variables
        properties = document.properties + document.undeclared(in: stored)
        mappings = document.mappings
    }
}

extension MasterKeys {
    /// Returns the desired apps of a provider with their decrypted secrets.
    ///
    /// Apps whose secret does not decrypt are left out.
    fileprivate func apps(
        of provider: DesiredApplication.Provider,
        at name: ProviderName,
        in application: ApplicationID,
        stored: StoredApplication?
    ) -> [ProviderApp] {
        provider.apps.compactMap { app in
            let encrypted: EncryptedSecret? =
                switch app.secret {
                case .encrypted(let secret): secret
                case .unchanged: stored?.providers[name]?.apps.first { $0.id == app.id }?.secret
                }
            let place = MasterKey.Place.appSecret(application: application, provider: name, app: app.id)
            return encrypted.flatMap { open($0, at: place) }.map { ProviderApp(id: app.id, secret: $0) }
        }
    }
}

extension DesiredApplication {
    fileprivate func endings(on day: CalendarDate?) -> [String] {
        guard let day else { return [] }
        return providers.sorted { $0.key.text < $1.key.text }.flatMap { name, provider -> [String] in
            let setup = ProviderSetup(
                name: name,
                application: id,
                isEnabled: provider.enabled,
                apps: [],
                options: provider.options
            )
            let value = try? kinds.named(provider.kind)?.provider(setup)
            guard provider.enabled, let reviewing = value as? any SettingsReviewing else { return [] }
            return reviewing.endings(on: day)
        }
    }
}

extension ApplicationDocument {
    fileprivate func undeclared(in stored: StoredApplication?) -> [Property] {
        (stored?.properties ?? []).filter { old in !properties.contains { $0.name == old.name } }
    }
}

extension Precondition {
    /// Checks the `If-Match` of a request that creates a resource: the header must not name an entity tag.
    ///
    /// - Throws: `precondition_failed` if it names one, since no resource with that tag exists.
    fileprivate func checkAbsent() throws(Failure) {
        guard case .tags = self else { return }
        throw Failure(
            .preconditionFailed,
            "The resource with this ETag does not exist any more. Leave out If-Match to create it."
        )
    }
}
