import Applications
package import Domain
package import Encodings
package import Providers
import Secrets
package import Store

/// The whole desired configuration of an application.
///
/// It is the stored application with one part changed, or an application document. `ConfigurationDifference` derives
/// the steps from it. Changes by documents, REST and commands therefore follow the same rules.
package struct DesiredApplication: Sendable {
    /// The provider kinds available to the application.
    let kinds: ProviderKinds
    package let id: ApplicationID
    package var name: String
    /// The PostgreSQL schema of the users.
    ///
    /// It cannot change after the creation of the application.
    package var schema: String
    /// The environment variable with the URL of the database that has this schema; nil for the main database.
    package var database: DatabaseVariable?
    package var settings: ApplicationSettings { didSet { keepsUnreadableSettings = false } }
    /// Whether this configuration keeps the stored settings as they are, because the service cannot read them.
    ///
    /// It becomes false when new settings replace them.
    private(set) var keepsUnreadableSettings = false
    /// The API keys, identified by their hashes.
    ///
    /// A key with the same hash and another label is the same key with a new label.
    package var keys: [Key]
    /// The names of the environment variables that an applied document has in place of keys and secrets.
    var variables = DocumentVariables()
    package var providers: [ProviderName: Provider]
    /// The built-in properties, then the declared ones in their order.
    ///
    /// A stored property that is missing here is removed.
    package var properties: [Property]
    /// The mapping of each provider in the form of the request: a list or a dictionary.
    ///
    /// Reported problems have their positions in this form.
    package var mappings: [ProviderName: JSONValue]
    /// The stored names of renamed properties, each with the new name.
    private(set) var renamed: [(from: PropertyName, to: PropertyName)] = []

    /// An API key.
    package struct Key: Sendable {
        package var label: String
        /// The SHA-256 of the key; empty if the key is missing or invalid.
        ///
        /// In that case the problem is already reported.
        package var hash: [UInt8]
        /// Whether the key is a server key, with which a client may assign roles, disable users and log in as a user.
        package var server: Bool

        package init(label: String, hash: [UInt8], server: Bool = false) {
            self.label = label
            self.hash = hash
            self.server = server
        }
    }

    /// A provider with its options, and its apps in the order in which logins try them.
    package struct Provider: Sendable {
        /// The provider kind.
        package var kind: ProviderName
        package var enabled: Bool
        /// All options of the provider.
        ///
        /// Secret options are encrypted, as the database stores them.
        ///
        /// Options that cannot be read stay as stored until an operator sets others. Another version or a direct change
        /// of the database may have written them.
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
        /// The id of the Facebook Login for Business configuration that the app's login dialog uses; nil if there is
        /// none.
        package var configID: String?

        package init(id: ProviderAppID, secret: AppSecret, configID: String? = nil) {
            self.id = id
            self.secret = secret
            self.configID = configID
        }
    }

    /// The change of an app's secret.
    package enum AppSecret: Sendable {
        /// Keeps the stored secret. If no secret is stored, the checks report a problem.
        case unchanged
        case encrypted(EncryptedSecret)
    }

    /// The maximum number of API keys of one application.
    ///
    /// `docs/configuration.md` lists this and the other limits for operators.
    package static let maxKeys = 100
    package static let maxApps = 100
    package static let maxProviders = 50
    /// The maximum number of declared properties of one application.
    ///
    /// Each property is a column, and a PostgreSQL table can have 1600 columns over its whole life, including dropped
    /// ones (T-55).
    package static let maxProperties = Store.propertiesAllowed

    /// Creates the configuration of an application.
    ///
    /// The settings have their defaults. The application has only the built-in properties, and no keys, providers or
    /// mappings.
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

    /// Creates the desired configuration as a copy of the stored one.
    ///
    /// The caller then changes one part of it. If another version or a direct change of the database wrote settings
    /// that the service cannot read, they stay as stored until an operator sets others.
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

    /// Warnings for the operator about the settings and the mappings.
    var warnings: [String] {
        settings.warnings
            + kinds.mappingWarnings(mappings) { name in providers[name]?.kind }
    }

    /// Renames a property.
    ///
    /// Its values stay, and the mapping entries that write it get the new name.
    ///
    /// `ConfigurationDifference` checks the new name.
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
    /// Returns the change that gives an app at a provider the desired secret.
    ///
    /// If the stored secret decrypts to the same text, the result is `unchanged`. Otherwise the given secret is
    /// encrypted.
    ///
    /// - Parameters:
    ///   - secret: The desired secret as plain text.
    ///   - app: The app of the secret.
    ///   - provider: The provider of the app.
    ///   - application: The application of the app.
    ///   - stored: The stored application. A stored secret that no available master key decrypts counts as different.
    /// - Returns: The change of the app's secret.
    package func desired(
        _ secret: Secret,
        of app: ProviderAppID,
        at provider: ProviderName,
        in application: ApplicationID,
        stored: StoredApplication?
    ) -> DesiredApplication.AppSecret {
        let place = MasterKey.Place.appSecret(application: application, provider: provider, app: app)
        if let encrypted = stored?.providers[provider]?.apps.first(where: { $0.id == app })?.secret,
            let opened = open(encrypted, at: place), opened.reveal().hasSameBytes(as: secret.reveal())
        {
            return .unchanged
        }
        return .encrypted(encrypt(secret, for: place))
    }
}

extension JSONValue {
    /// Returns this mapping with entries that write the property `new` in place of the property `old`.
    ///
    /// A list stays a list, and a dictionary stays a dictionary.
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
