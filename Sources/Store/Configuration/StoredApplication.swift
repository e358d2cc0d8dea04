package import Vocabulary

/// An application as the database holds it: secrets sealed, documents unread.
package struct StoredApplication: Sendable {
    package let id: ApplicationID
    package let name: String
    /// The PostgreSQL schema of its users.
    package let schema: String
    /// Where that schema is; nil for the main database.
    package let database: DatabaseVariable?
    /// The configuration's revision at the last change of anything of this application: its entity tag.
    package internal(set) var revision: Int64
    package let settings: JSONValue
    /// In the order of their labels.
    package let keys: [Key]
    package let providers: [ProviderName: Provider]
    /// Of which kind each name is or was: also of providers that have been removed, whose identities are still there.
    package let providerKinds: [ProviderName: ProviderName]
    /// The active mapping for each provider.
    package let mappings: [ProviderName: ActiveMapping]
    /// Built-in and declared properties.
    package let properties: [Property]
    package let dynamicNames: Set<PropertyName>
    /// Milliseconds since 1970 UTC, as everywhere.
    package let created: Int64
    package internal(set) var updated: Int64?
    /// What the database holds of the above and cannot be read, by the names of the columns; it stands here as if there
    /// were nothing.
    package internal(set) var unreadable: [String] = []
    /// The environment variables that a document named for keys and secrets, by their places, as stored.
    package var variables: JSONValue = .object([:])

    /// An API key.
    package struct Key: Sendable {
        package let label: String
        /// SHA-256 of its text.
        package let hash: [UInt8]
        package let created: Int64
        /// Whether it is a server's: see `KeyKind`.
        package let server: Bool

        package init(label: String, hash: [UInt8], created: Int64, server: Bool = false) {
            self.label = label
            self.hash = hash
            self.created = created
            self.server = server
        }
    }

    /// Settings of a provider, and its apps in the order in which they are asked.
    package struct Provider: Sendable, Equatable {
        /// What the provider is; the name is the operator's for it.
        package let kind: ProviderName
        package let enabled: Bool
        /// What else the operator decided, unread.
        package let options: JSONValue
        package let apps: [App]
    }

    /// A mapping and its number among the revisions.
    package struct ActiveMapping: Sendable {
        package let revision: Int64
        package let document: JSONValue
    }

    /// An app with its sealed secret.
    package struct App: Sendable, Equatable {
        package let id: ProviderAppID
        package let secret: SealedSecret
        package let secretChanged: Int64
        /// Which configuration at the provider the app's login dialog follows.
        package let configID: String?

        package init(id: ProviderAppID, secret: SealedSecret, secretChanged: Int64, configID: String? = nil) {
            self.id = id
            self.secret = secret
            self.secretChanged = secretChanged
            self.configID = configID
        }
    }
}

/// A secret as it is stored: AES-256-GCM under the master key of that id (decision D15).
package struct SealedSecret: Sendable, Equatable {
    package let bytes: [UInt8]
    package let keyID: String

    package init(bytes: [UInt8], keyID: String) {
        self.bytes = bytes
        self.keyID = keyID
    }
}
