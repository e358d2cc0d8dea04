package import Vocabulary

/// One step of a change of an application's configuration; the vocabulary of everything that operators can do to one.
package enum ConfigurationChange: Sendable {
    /// Makes the application and its PostgreSQL schema. Stands in front of all other steps.
    case create(name: String, schema: String, database: DatabaseVariable? = nil, settings: JSONValue)
    case rename(String)
    case changeSettings(JSONValue)
    /// Notes which environment variables a document named for keys and secrets.
    case nameVariables(JSONValue)
    /// Has the application's users in another database, which they have been copied to; nil for the main one.
    case move(to: DatabaseVariable?)
    /// Removes the application, its PostgreSQL schema and everything in it. Stands alone.
    case delete

    /// A server's key may do what concerns other users than the session's own.
    case addKey(label: String, hash: [UInt8], server: Bool)
    case replaceKey(label: String, hash: [UInt8])
    case relabelKey(from: String, to: String)
    /// Says whether the key is a server's.
    case changeKey(label: String, server: Bool)
    case revokeKey(label: String)

    /// Sets everything of a provider but its apps; makes it when there is none.
    case setProvider(ProviderName, kind: ProviderName, enabled: Bool, options: JSONValue)
    /// The apps that there shall be, in the order in which they are asked.
    case setProviderApps(ProviderName, [App])
    case removeProvider(ProviderName)

    /// Adds the column, behind the others; values that clients brought in under the name move into it. Where the
    /// operator made a column of the name and of the right type by hand, that one is taken.
    case declareProperty(Property)
    /// Renames the column; what the mapping wrote last of it (`untilEdited`) follows.
    case renameProperty(from: PropertyName, to: PropertyName)
    /// Gives the column another type that holds every value of the old one.
    case widenProperty(PropertyName, to: PropertyType)
    /// Changes who may write and see it, and whether it is required (NOT NULL of its column).
    case changeProperty(Property)
    /// Says whether its column has an index of its own; `reconcileIndexes` builds and drops it.
    case indexProperty(PropertyName, Bool)
    /// Drops the column.
    case removeProperty(PropertyName)
    /// The order of the declared properties in documents and replies.
    case orderProperties([PropertyName])

    /// Makes a new revision of the mapping for a provider, in the list form, and makes it the active one.
    case setMapping(ProviderName, JSONValue)

    /// An app at a provider, as it shall be.
    package struct App: Sendable {
        let id: ProviderAppID
        /// The stored one is left as it is when this is nil.
        let secret: SealedSecret?
        let configID: String?

        package init(id: ProviderAppID, secret: SealedSecret?, configID: String? = nil) {
            self.id = id
            self.secret = secret
            self.configID = configID
        }
    }
}

extension ConfigurationChange {
    /// Whether it needs the database that the users of an application are in, which is nil when there is none yet.
    package func touchesUsers(of stored: StoredApplication?) -> Bool {
        switch self {
        case .create, .move, .delete, .declareProperty, .renameProperty, .widenProperty, .changeProperty,
            .removeProperty:
            true
        // Only by another identity property: it is asked whether anybody has a password.
        case .changeSettings(let settings): stored?.hasOtherIdentityProperty(than: settings) ?? true
        case .rename, .nameVariables, .addKey, .replaceKey, .relabelKey, .changeKey, .revokeKey, .setProvider,
            .setProviderApps,
            .removeProvider, .indexProperty, .orderProperties, .setMapping:
            false
        }
    }

    /// Whether the application's users are not in a database of its own behind it.
    var leavesOwnDatabase: Bool {
        switch self {
        case .delete, .move(to: nil): true
        default: false
        }
    }

    /// The database, not the main one, that an application comes to have by it.
    var otherDatabase: DatabaseVariable? {
        switch self {
        case .create(_, _, let database, _), .move(to: let database): database
        default: nil
        }
    }
}

/// A step together with what the audit log and an operator who looks at a plan see of it; no secret is in it, not even
/// sealed.
package struct PlannedChange: Sendable {
    package let change: ConfigurationChange
    /// What is done, like `property.declare`.
    package let action: String
    /// What it is done to, within the application: a label, a property's name; nil for the application as a whole.
    package let target: String?
    /// What was and what will be; nil where there was or will be nothing.
    package let from: JSONValue?
    package let to: JSONValue?

    package init(_ change: ConfigurationChange, action: String, target: String?, from: JSONValue?, to: JSONValue?) {
        self.change = change
        self.action = action
        self.target = target
        self.from = from
        self.to = to
    }
}
