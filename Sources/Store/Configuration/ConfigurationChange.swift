package import Domain
package import Encodings

/// One step of a configuration change.
///
/// The cases are everything that operators can do to an application.
package enum ConfigurationChange: Sendable {
    /// Creates the application and its PostgreSQL schema.
    ///
    /// This must be the first step.
    case create(name: String, schema: String, database: DatabaseVariable? = nil, settings: JSONValue)
    case rename(String)
    case changeSettings(JSONValue)
    /// Records the names of the environment variables from which a document takes API keys and secrets.
    case nameVariables(JSONValue)
    /// Moves the application to another database, where a copy of its users exists already; nil is the main database.
    case move(to: DatabaseVariable?)
    /// Removes the application, its PostgreSQL schema and everything in the schema.
    ///
    /// This must be the only step.
    case delete

    /// Adds an API key.
    ///
    /// A server's key gives access to all users. Any other key gives access only to the user of the session.
    case addKey(label: String, hash: [UInt8], server: Bool)
    case replaceKey(label: String, hash: [UInt8])
    case relabelKey(from: String, to: String)
    /// Sets whether an API key is a server's, which gives access to all users, not only to the user of the session.
    case changeKey(label: String, server: Bool)
    case revokeKey(label: String)

    /// Sets the kind and the options of a provider, and whether it is enabled.
    ///
    /// Creates the provider if there is none.
    case setProvider(ProviderName, kind: ProviderName, enabled: Bool, options: JSONValue)
    /// Replaces a provider's apps.
    ///
    /// A login tries the apps in the given order.
    case setProviderApps(ProviderName, [App])
    case removeProvider(ProviderName)

    /// Declares a property and adds its column to the users table.
    ///
    /// If the operator has already added a column of that name and of the right type, the property uses that column.
    ///
    /// Clients may have written values under that name while the property was undeclared. The step moves them to the
    /// column.
    case declareProperty(Property)
    /// Renames a declared property and its column.
    ///
    /// The record of the values that the mapping wrote last (`untilEdited`) gets the new name, too.
    case renameProperty(from: PropertyName, to: PropertyName)
    /// Changes the type of a property and of its column to one that holds every value of the old type.
    case widenProperty(PropertyName, to: PropertyType)
    /// Changes who may write and see the property, and whether it is required (NOT NULL of its column).
    case changeProperty(Property)
    /// Sets whether the property's column has its own index.
    ///
    /// `reconcileIndexes` builds or drops the index later.
    case indexProperty(PropertyName, Bool)
    /// Removes the property and drops its column.
    case removeProperty(PropertyName)
    /// Sets the order of the declared properties in documents and responses.
    case orderProperties([PropertyName])

    /// Creates a revision of a provider's mapping and activates it.
    ///
    /// The document is in the list form: an array with one element for each entry of the mapping.
    case setMapping(ProviderName, JSONValue)

    /// The wanted state of an app at a provider.
    package struct App: Sendable {
        let id: ProviderAppID
        /// The new secret; nil keeps the stored one.
        let secret: EncryptedSecret?
        let configID: String?

        package init(id: ProviderAppID, secret: EncryptedSecret?, configID: String? = nil) {
            self.id = id
            self.secret = secret
            self.configID = configID
        }
    }
}

extension ConfigurationChange {
    /// Whether the step needs the database of the application's users; `stored` is nil if there is no application yet.
    package func touchesUsers(of stored: StoredApplication?) -> Bool {
        switch self {
        case .create, .move, .delete, .declareProperty, .renameProperty, .widenProperty, .changeProperty,
            .removeProperty:
            true
        // A change of the identity property needs that database, since the step checks whether any user has a password.
        case .changeSettings(let settings): stored?.hasOtherIdentityProperty(than: settings) ?? true
        case .rename, .nameVariables, .addKey, .replaceKey, .relabelKey, .changeKey, .revokeKey, .setProvider,
            .setProviderApps,
            .removeProvider, .indexProperty, .orderProperties, .setMapping:
            false
        }
    }

    /// Whether the step deletes the application or moves it to the main database.
    ///
    /// The application has no database of its own after that.
    var leavesOwnDatabase: Bool {
        switch self {
        case .delete, .move(to: nil): true
        default: false
        }
    }

    /// The database, other than the main one, in which the step creates the application or to which it moves it.
    ///
    /// The result is nil for any other step.
    var otherDatabase: DatabaseVariable? {
        switch self {
        case .create(_, _, let database, _), .move(to: let database): database
        default: nil
        }
    }
}

/// A step with its description for the audit log and for operators who read a plan.
///
/// The description contains no secret, not even an encrypted one.
package struct PlannedChange: Sendable {
    package let change: ConfigurationChange
    /// The kind of change, like `property.declare`.
    package let action: String
    /// The target within the application: a key's label, a property's name; nil for the application as a whole.
    package let target: String?
    /// The value before the change; nil if there was none.
    ///
    /// The value after the change is `to`.
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
