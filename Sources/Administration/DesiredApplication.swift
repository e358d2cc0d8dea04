import Applications
package import Providers
import Secrets
package import Store
package import Vocabulary

/// What an application shall be, all of it.
///
/// It is made from what is stored and then edited in one part, or read from an application document;
/// `ConfigurationDifference` says what has to be done. So every change follows the same rules, however it came in.
package struct DesiredApplication: Sendable {
    /// The kinds of providers that it can have.
    let kinds: ProviderKinds
    package let id: ApplicationID
    package var name: String
    /// The PostgreSQL schema of its users; that of an application that exists cannot change.
    package var schema: String
    /// Where that schema is; nil for the main database.
    package var database: DatabaseVariable?
    package var settings: ApplicationSettings { didSet { keepsUnreadableSettings = false } }
    /// Whether the stored settings cannot be read and nobody has set others.
    private(set) var keepsUnreadableSettings = false
    /// Each is told by its hash: the same hash under another label is the same key, relabelled.
    package var keys: [Key]
    /// How a document called the variables of keys and secrets.
    var variables = DocumentVariables()
    package var providers: [ProviderName: Provider]
    /// Built-in properties in front, then the declared ones in their order.
    ///
    /// One that is stored and is not here is removed.
    package var properties: [Property]
    /// The mapping for each provider as it was written, in either form; problems point into it.
    package var mappings: [ProviderName: JSONValue]
    /// Stored names of properties and what they are called from here on.
    private(set) var renamed: [(from: PropertyName, to: PropertyName)] = []

    /// An API key.
    package struct Key: Sendable {
        package var label: String
        /// SHA-256 of its text; empty while its text is not at hand, which has been reported then.
        package var hash: [UInt8]
        /// Whether it is a server's.
        package var server: Bool

        package init(label: String, hash: [UInt8], server: Bool = false) {
            self.label = label
            self.hash = hash
            self.server = server
        }
    }

    /// Settings of a provider, and its apps in the order in which they are asked.
    package struct Provider: Sendable {
        /// The kind of provider that it is.
        package var kind: ProviderName
        package var enabled: Bool
        /// All of its options, the secret ones as they are stored; as they are stored when they cannot be read, since
        /// another version or somebody by other means wrote them, and nobody has set others.
        package var options: JSONValue
        package var apps: [App]

        package init(kind: ProviderName, enabled: Bool, options: JSONValue, apps: [App]) {
            self.kind = kind
            self.enabled = enabled
            self.options = options
            self.apps = apps
        }
    }

    /// An app at a provider.
    package struct App: Sendable {
        package var id: ProviderAppID
        package var secret: AppSecret
        /// Which configuration at the provider the app's login dialog follows.
        package var configID: String?

        package init(id: ProviderAppID, secret: AppSecret, configID: String? = nil) {
            self.id = id
            self.secret = secret
            self.configID = configID
        }
    }

    /// What becomes of an app's secret.
    package enum AppSecret: Sendable {
        /// The stored one stays; a problem when none is stored.
        case unchanged
        case sealed(SealedSecret)
    }

    /// A bound on what one application may have; `docs/configuration.md` lists them for operators.
    package static let mostKeys = 100
    package static let mostApps = 100
    package static let mostProviders = 50
    /// A table has at most 1600 columns in its whole life, dropped ones included (T-55).
    package static let mostProperties = Store.propertiesAllowed

    /// An application of which nothing is said but this.
    package init(id: ApplicationID, name: String, schema: String, kinds: ProviderKinds) {
        self.kinds = kinds
        self.id = id
        self.name = name
        self.schema = schema
        settings = ApplicationSettings()
        keys = []
        providers = [:]
        properties = Property.builtIn
        mappings = [:]
    }

    /// An application that shall stay as it is, for editing in one part.
    ///
    /// Settings that cannot be read, since another version or somebody by other means wrote them, stay unless they are
    /// set.
    package init(_ stored: StoredApplication, kinds: ProviderKinds) {
        self.init(id: stored.id, name: stored.name, schema: stored.schema, kinds: kinds)
        database = stored.database
        if let settings = try? SettingsDocument.parse(stored: stored.settings) {
            self.settings = settings
        } else {
            keepsUnreadableSettings = true
        }
        keys = stored.keys.map { Key(label: $0.label, hash: $0.hash, server: $0.server) }
        variables = DocumentVariables(stored: stored.variables)
        for (name, settings) in stored.providers {
            providers[name] = Provider(
                kind: settings.kind,
                enabled: settings.enabled,
                options: kinds.named(settings.kind).map(settings.readOptions) ?? settings.options,
                apps: settings.apps.map { App(id: $0.id, secret: .unchanged, configID: $0.configID) }
            )
        }
        mappings = stored.mappings.mapValues(\.document)
        properties = stored.properties
    }

    /// What an operator should know about the settings and the mappings.
    var warnings: [String] {
        settings.warnings
            + kinds.mappingWarnings(mappings) { name in providers[name]?.kind }
    }

    /// Gives a property another name: its values stay, and the entries of mappings that write it follow.
    ///
    /// Whether the name may be taken is for `ConfigurationDifference` to say.
    package mutating func renameProperty(_ old: PropertyName, to new: PropertyName) {
        guard old != new, let index = properties.firstIndex(where: { $0.name == old }) else { return }
        let property = properties[index]
        properties[index] = Property(
            name: new,
            type: property.type,
            required: property.required,
            clientMappable: property.clientMappable,
            visibleTo: property.visibleTo,
            indexed: property.indexed
        )
        renamed.append((from: old, to: new))
        mappings = mappings.mapValues { $0.renamingTarget(old.text, to: new.text) }
    }
}

extension MasterKeys {
    /// What a given secret of an app means: nothing new when the stored one opens to the same, else the secret sealed.
    ///
    /// - Parameters:
    ///   - secret: The secret as somebody gave it.
    ///   - app: The app that it is of.
    ///   - provider: Where the app is.
    ///   - application: The application that the app belongs to.
    ///   - stored: The application as it is; a secret of it under a master key that is not at hand counts as different.
    /// - Returns: What becomes of the app's secret.
    package func desired(
        _ secret: Secret,
        of app: ProviderAppID,
        at provider: ProviderName,
        in application: ApplicationID,
        stored: StoredApplication?
    ) -> DesiredApplication.AppSecret {
        let place = MasterKey.Place.appSecret(application: application, provider: provider, app: app)
        if let sealed = stored?.providers[provider]?.apps.first(where: { $0.id == app })?.secret,
            let opened = open(sealed, at: place), opened.reveal().hasSameBytes(as: secret.reveal())
        {
            return .unchanged
        }
        return .sealed(seal(secret, for: place))
    }
}

extension JSONValue {
    /// A mapping, in either form, whose entries write the property `new` where they wrote `old`.
    fileprivate func renamingTarget(_ old: String, to new: String) -> JSONValue {
        func renamed(_ object: JSONObject, where isTarget: (JSONObject.Member) -> Bool) -> JSONValue {
            let members = object.members.map { member in
                guard isTarget(member), member.value.string?.hasSameBytes(as: old) == true else { return member }
                return JSONObject.Member(member.key, .string(new))
            }
            return .object(JSONObject(members))
        }
        switch self {
        case .object(let dictionary): return renamed(dictionary) { _ in true }
        case .array(let entries):
            return .array(
                entries.map { entry in
                    guard let object = entry.object else { return entry }
                    return renamed(object) { $0.key.hasSameBytes(as: "to") }
                }
            )
        default: return self
        }
    }
}
