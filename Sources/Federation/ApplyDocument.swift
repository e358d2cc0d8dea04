import Identity
import Mapping
package import Store

extension ApplicationDocument {
    /// What does not fit the live users table, whose columns are given.
    fileprivate func problems(with columns: [LiveColumn]) -> DocumentProblems {
        var problems = DocumentProblems()
        let mapping = mapping?.json ?? .array([])
        for problem in MappingCheck.problems(of: mapping, properties: properties, columns: columns) {
            problems.add("mapping.facebook", problem.message)
        }
        return problems
    }

    /// How many entries the mapping for Facebook has.
    package var mappingEntryCount: Int { mapping?.entries.count ?? 0 }
}

/// Writes application documents into the database.
package struct ApplyDocument: Sendable {
    private let store: Store
    private let masterKey: MasterKey
    private let environment: @Sendable (String) -> String?

    /// Prepares to apply documents, which name environment variables instead of holding secrets.
    package init(store: Store, masterKey: MasterKey, environment: @escaping @Sendable (String) -> String?) {
        self.store = store
        self.masterKey = masterKey
        self.environment = environment
    }

    /// Checks a document against the live database and makes the application what it says, all or nothing.
    ///
    /// - Parameters:
    ///   - document: what the operator wants.
    ///   - actor: who does it, for the audit log.
    /// - Throws: `DocumentProblems` with everything that is wrong, or the `Failure` of the database.
    package func callAsFunction(_ document: ApplicationDocument, actor: String) async throws {
        var problems = document.problems(with: try await store.liveColumns(ofSchema: document.schema))
        let keys = document.keys.map { key in
            (label: key.label, hash: Digest.sha256(apiKey(from: key.variable, problems: &problems)))
        }
        if Set(keys.map(\.hash)).count < keys.count {
            problems.add("keys", "two labels have the same API key; each needs one of its own")
        }
        let facebook = document.facebook.map { facebook in
            StoredApplication.Facebook(
                enabled: facebook.enabled,
                graphVersion: facebook.graphVersion,
                proof: facebook.proof,
                sealedApps: facebook.apps.map { seal($0, of: document.id, problems: &problems) }
            )
        }
        guard problems.isEmpty else { throw problems }
        try await store.apply(
            ApplicationWrite(
                id: document.id,
                name: document.name,
                schema: document.schema,
                settings: SettingsDocument.document(of: document.settings),
                keys: keys,
                facebook: facebook,
                mapping: document.mapping?.json,
                properties: document.properties,
                actor: actor
            )
        )
    }

    /// API keys stand in URLs, so they hold only what needs no escape there; 16 characters are the least that cannot be guessed.
    private func apiKey(from variable: String, problems: inout DocumentProblems) -> String {
        let key = value(of: variable, problems: &problems)
        let isURLSafe = key.utf8.allSatisfy {
            $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
        }
        if !key.isEmpty, !isURLSafe || !(16...128).contains(key.utf8.count) {
            problems.add("keys", "the API key in \(variable) must be 16 to 128 letters, digits, - or _")
        }
        return key
    }

    private func seal(
        _ app: ApplicationDocument.Facebook.App,
        of application: ApplicationID,
        problems: inout DocumentProblems
    ) -> StoredApplication.App {
        let secret = Secret(value(of: app.secretVariable, problems: &problems))
        if !secret.reveal().utf8.allSatisfy({ (0x21...0x7E).contains($0) }) || secret.byteCount > 256 {
            problems.add(
                "providers.facebook.apps",
                "the app secret in \(app.secretVariable) must be at most 256 visible ASCII characters without spaces"
            )
        }
        let place = MasterKey.Place.appSecret(application: application, app: app.id)
        return StoredApplication.App(id: app.id, sealedSecret: masterKey.seal(secret, for: place), keyID: masterKey.id)
    }

    private func value(of variable: String, problems: inout DocumentProblems) -> String {
        guard let value = environment(variable), !value.isEmpty else {
            problems.add("", "the environment variable \(variable) is not set; the document takes a secret from it")
            return ""
        }
        return value
    }
}
