package import Domain
package import Encodings

/// An application as the database holds it: secrets encrypted, documents not decoded.
package struct StoredApplication: Sendable {
    package let id: ApplicationID
    package let name: String
    /// The PostgreSQL schema with the application's users.
    package let schema: String
    /// The environment variable with the URL of the application's own database; nil if its users are in the main
    /// database.
    package let database: DatabaseVariable?
    /// The configuration's revision at the last change of the application; it is the application's entity tag in HTTP.
    package internal(set) var revision: Int64
    package let settings: JSONValue
    /// The API keys, ordered by label.
    package let keys: [Key]
    package let providers: [ProviderName: Provider]
    /// The provider kinds, keyed by provider name.
    ///
    /// Removed providers whose identities still exist are included.
    package let providerKinds: [ProviderName: ProviderName]
    /// The active mapping for each provider.
    package let mappings: [ProviderName: ActiveMapping]
    /// Built-in and declared properties.
    package let properties: [Property]
    package let dynamicNames: Set<PropertyName>
    /// The time of the application's creation, in milliseconds since 1970 UTC.
    package let created: Int64
    package internal(set) var updated: Int64?
    /// The names of the database columns that cannot be read.
    ///
    /// The members of this structure that those columns fill are empty.
    package internal(set) var unreadable: [String] = []
    /// The names of the environment variables that hold a document's keys and secrets, by their positions in the
    /// document.
    ///
    /// The value is not decoded.
    package var variables: JSONValue = .object([:])

    /// An API key.
    package struct Key: Sendable {
        package let label: String
        /// The SHA-256 hash of the key's text.
        package let hash: [UInt8]
        package let created: Int64
        /// Whether the key is a server's, which gives access to all users, not only to the user of the session.
        package let server: Bool

        package init(label: String, hash: [UInt8], created: Int64, server: Bool = false) {
            self.label = label
            self.hash = hash
            self.created = created
            self.server = server
        }
    }

    /// The settings of a provider, and its apps in the order in which they are tried.
    package struct Provider: Sendable, Equatable {
        /// The provider kind, which can differ from the name that the operator chose for the provider.
        package let kind: ProviderName
        package let enabled: Bool
        /// The provider's options as the operator has set them, not decoded.
        package let options: JSONValue
        package let apps: [App]
    }

    /// A mapping and its revision number.
    package struct ActiveMapping: Sendable {
        package let revision: Int64
        package let document: JSONValue
    }

    /// An app with its encrypted secret.
    package struct App: Sendable, Equatable {
        package let id: ProviderAppID
        package let secret: EncryptedSecret
        package let secretChanged: Int64
        /// The id of the login configuration that the app's dialog uses at the provider (Facebook's `config_id`).
        package let configID: String?

        package init(id: ProviderAppID, secret: EncryptedSecret, secretChanged: Int64, configID: String? = nil) {
            self.id = id
            self.secret = secret
            self.secretChanged = secretChanged
            self.configID = configID
        }
    }
}

/// A secret as stored: encrypted by AES-256-GCM with the master key whose id is `keyID` (decision D15).
package struct EncryptedSecret: Sendable, Equatable {
    package let bytes: [UInt8]
    package let keyID: String

    package init(bytes: [UInt8], keyID: String) {
        self.bytes = bytes
        self.keyID = keyID
    }
}
