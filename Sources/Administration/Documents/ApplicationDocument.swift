import Applications
package import Providers
import Store
package import Vocabulary

/// An application as its operator writes it down: the document of mappings/README.md, checked as far as that needs no
/// database.
package struct ApplicationDocument: Sendable {
    /// The kinds of providers that it can name.
    let kinds: ProviderKinds
    package let id: ApplicationID
    package let name: String
    /// The PostgreSQL schema for its users; the id unless told otherwise.
    package let schema: String
    /// Where that schema is.
    package let database: GivenDatabase
    package let settings: ApplicationSettings
    package let keys: [Key]
    package let providers: [ProviderName: Provider]
    /// Built-in properties in front, then the others in the order of the document.
    package let properties: [Property]
    /// The mapping for each provider as it was written.
    package let mappings: [ProviderName: JSONValue]

    /// How a document says in which database the application's users are.
    package enum GivenDatabase: Sendable {
        /// Not at all: an application that exists stays where it is, and a new one comes into the main database.
        case unsaid
        /// `null`.
        case main
        case own(DatabaseVariable)

        /// The database, of an application that is as stored.
        func database(of stored: StoredApplication?) -> DatabaseVariable? {
            switch self {
            case .unsaid: stored?.database
            case .main: nil
            case .own(let variable): variable
            }
        }
    }

    /// Where a document comes from: that decides how secrets stand in it.
    package enum Origin: Sendable {
        /// A file under version control holds the names of environment variables, never a secret.
        case file
        /// A request may hold a secret itself; without it the stored one stays.
        case request
    }

    /// An API key.
    package struct Key: Sendable {
        package let label: String
        package let key: GivenSecret
        /// Whether it is a server's.
        package let server: Bool
    }

    /// Settings of a provider, and its apps in the order in which they are asked.
    package struct Provider: Sendable {
        /// The kind of provider that it is.
        package let kind: ProviderName
        package let enabled: Bool
        /// All of its options but the secret ones.
        package let options: JSONValue
        /// The secret options by their names; what is stored of one that is not here stays.
        package let secrets: [String: GivenSecret]
        package let apps: [App]

        /// An app at a provider.
        package struct App: Sendable {
            package let id: ProviderAppID
            package let secret: GivenSecret
            /// Which configuration at the provider the app's login dialog follows.
            package let configID: String?
        }
    }

    /// How a document gives a key or a secret.
    package enum GivenSecret: Sendable {
        /// In the environment variable of that name.
        case variable(String)
        case value(Secret)
        /// Not at all: what is stored stays. The variable is the one that the client names for it, if it names one.
        case stored(variable: String? = nil)
        /// Not at all, and what is stored goes.
        case removed
        /// In a form that cannot be read, which has been reported.
        case unreadable
    }

    /// What an operator should know about the settings and the mappings.
    package var warnings: [String] { DesiredApplication(self).warnings }

    /// How many entries the mappings have.
    package var mappingEntryCount: Int {
        mappings.values.reduce(0) { $0 + ($1.object?.members.count ?? $1.array?.count ?? 0) }
    }

    /// Reads the text of a document.
    ///
    /// - Throws: `DocumentProblems` with every problem and its place.
    package init(text: [UInt8], origin: Origin = .file, kinds: ProviderKinds) throws(DocumentProblems) {
        let value: JSONValue
        do { value = try JSONParser.parse(text, limits: .document) } catch {
            throw DocumentProblems(JSONPointer(), "\(error)")
        }
        try self.init(value, origin: origin, kinds: kinds)
    }

    /// Reads a document and holds it to every rule that needs neither secrets nor a database.
    ///
    /// - Throws: `DocumentProblems` with every problem and its place.
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
        // The rest is read under any id, so that one reading finds every problem.
        guard let id = found ?? ApplicationID("unnamed") else { throw reader.problems }
        self.id = id
        name = reader.text(object["name"], at: document / "name") ?? id.text
        schema = reader.text(object["schema"], at: document / "schema") ?? id.text
        database = reader.database(object["database"], at: document / "database")
        settings = SettingsDocument.parse(
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
    /// What a document says, with nothing where a key or a secret will be.
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
                    App(id: app.id, secret: .sealed(SealedSecret(bytes: [], keyID: "")), configID: app.configID)
                }
            )
        }
        properties = document.properties
        mappings = document.mappings
    }
}
