import Applications
package import Description
package import Domain
package import Encodings
package import Providers
import Store

/// An application in the form that an operator writes: the document that mappings/README.md describes.
///
/// The document has passed all checks that need no database.
package struct ApplicationDocument: Sendable {
    /// The provider kinds that the document can name.
    let kinds: ProviderKinds
    package let id: ApplicationID
    package let name: String
    /// The PostgreSQL schema of the users.
    ///
    /// The default is the id.
    package let schema: String
    /// The database that has this schema, as the document names it.
    package let database: GivenDatabase
    package let settings: ApplicationSettings
    package let keys: [Key]
    package let providers: [ProviderName: Provider]
    /// The built-in properties, then the others in the order of the document.
    package let properties: [Property]
    /// The mapping of each provider, as the document has it.
    package let mappings: [ProviderName: JSONValue]

    /// The database of the application's users, as the document names it.
    package enum GivenDatabase: Sendable {
        /// The document has no `database`. An existing application stays in its database. A new one gets the main
        /// database.
        case unsaid
        /// The document has `null`: the main database.
        case main
        case own(DatabaseVariable)

        /// Returns the environment variable with the URL of the database; nil for the main database.
        ///
        /// If the document has no `database`, the result is that of the stored application.
        func database(of stored: StoredApplication?) -> DatabaseVariable? {
            switch self {
            case .unsaid: stored?.database
            case .main: nil
            case .own(let variable): variable
            }
        }
    }

    /// The source of a document.
    ///
    /// The source decides how secrets appear in the document.
    package enum Origin: Sendable {
        /// A file under version control. It contains names of environment variables and no secrets.
        case file
        /// A request. It may contain a secret. Without one, the stored secret stays.
        case request
    }

    /// An API key.
    package struct Key: Sendable {
        package let label: String
        package let key: GivenSecret
        /// Whether the key is a server key, with which a client may assign roles, disable users and log in as a user.
        package let server: Bool
    }

    /// A provider with its options, and its apps in the order in which logins try them.
    package struct Provider: Sendable {
        /// The provider kind.
        package let kind: ProviderName
        package let enabled: Bool
        /// All options except the secret ones.
        package let options: JSONValue
        /// The secret options by name.
        ///
        /// If an option is missing, its stored secret stays.
        package let secrets: [String: GivenSecret]
        package let apps: [App]

        /// An app at a provider.
        package struct App: Sendable {
            package let id: ProviderAppID
            package let secret: GivenSecret
            /// The id of the Facebook Login for Business configuration that the app's login dialog uses; nil if there
            /// is none.
            package let configID: String?
        }
    }

    /// A key or a secret as the document has it.
    package enum GivenSecret: Sendable {
        /// The secret is in the environment variable with this name.
        case variable(String)
        case value(Secret)
        /// The document has no secret, so the stored secret stays.
        ///
        /// `variable` is the environment variable that the client's document names, if any.
        case stored(variable: String? = nil)
        /// The stored secret is to be deleted: the document has `null`, or the document is a file that omits the secret
        /// option.
        case removed
        /// The document has an invalid value. The problem is already reported.
        case unreadable
    }

    /// Warnings for the operator about the settings and the mappings.
    package var warnings: [String] { DesiredApplication(self).warnings }

    /// The number of entries in all mappings.
    package var mappingEntryCount: Int {
        mappings.values.reduce(0) { $0 + ($1.object?.members.count ?? $1.array?.count ?? 0) }
    }

    /// Reads the text of a document.
    ///
    /// - Throws: `DocumentProblems` with all problems, each with its position in the document.
    package init(text: [UInt8], origin: Origin = .file, kinds: ProviderKinds) throws(DocumentProblems) {
        let value: JSONValue
        do { value = try JSONParser.parse(text, limits: .document) } catch {
            throw DocumentProblems(JSONPointer(), "\(error)")
        }
        try self.init(value, origin: origin, kinds: kinds)
    }

    /// Reads a document and checks all rules that need neither secrets nor a database.
    ///
    /// - Throws: `DocumentProblems` with all problems, each with its position in the document.
    package init(
        _ value: JSONValue,
        origin: Origin = .file,
        kinds: ProviderKinds
    ) throws(DocumentProblems) {
        self.kinds = kinds
        var reader = DocumentReader(origin: origin)
        let document = JSONPointer()
        guard
            let object = reader.object(
                value,
                at: document,
                known: [
                    "$schema", "application", "name", "schema", "database", "settings", "keys", "providers",
                    "properties", "mapping",
                ]
            )
        else { throw reader.problems }
        _ = reader.text(object["$schema"], at: document / "$schema")
        let found = reader.required(
            object["application"]?.string.flatMap { ApplicationID($0) },
            at: document / "application",
            "must be 1 to 63 letters, digits, _ or -, beginning with a letter or digit"
        )
        // Without a valid id, a placeholder allows to find all problems in one reading.
        guard let id = found ?? ApplicationID("unnamed") else { throw reader.problems }
        self.id = id
        name = reader.text(object["name"], at: document / "name") ?? id.text
        schema = reader.text(object["schema"], at: document / "schema") ?? id.text
        database = reader.database(object["database"], at: document / "database")
        settings = ApplicationSettings.description.read(
            object["settings"] ?? .object([:]),
            at: document / "settings",
            problems: &reader.problems
        )
        keys = reader.keys(object["keys"], at: document / "keys")
        providers = reader.providers(object["providers"], kinds, at: document / "providers")
        properties = reader.properties(object["properties"], at: document / "properties")
        mappings = reader.mappings(object["mapping"], at: document / "mapping")
        reader.problems.add(ConfigurationDifference.problems(from: nil, to: DesiredApplication(self), columns: []))
        guard reader.problems.isEmpty else { throw reader.problems }
    }
}

extension DesiredApplication {
    /// Creates the desired application from a document, for checks that need no keys and secrets.
    ///
    /// Each key has an empty hash, and each app an empty secret.
    fileprivate init(_ document: ApplicationDocument) {
        self.init(id: document.id, name: document.name, schema: document.schema, kinds: document.kinds)
        database = document.database.database(of: nil)
        settings = document.settings
        keys = document.keys.map { Key(label: $0.label, hash: [], server: $0.server) }
        providers = document.providers.mapValues { provider in
            Provider(
                kind: provider.kind,
                enabled: provider.enabled,
                options: provider.options,
                apps: provider.apps.map { app in
                    App(id: app.id, secret: .encrypted(EncryptedSecret(bytes: [], keyID: "")), configID: app.configID)
                }
            )
        }
        properties = document.properties
        mappings = document.mappings
    }
}
