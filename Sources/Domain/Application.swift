import Encodings

/// A tenant of the service, with the configuration that its operator has given it.
///
/// The value is a snapshot of the configuration at one revision.
package struct Application: Sendable {
    package let id: ApplicationID
    /// The name that operators and users read.
    package let name: String
    /// The PostgreSQL schema that holds the application's users.
    package let schema: String
    /// The environment variable with the URL of the separate database that holds the application's users.
    ///
    /// Nil if the users are in the same database as the service's configuration.
    package let database: DatabaseVariable?
    /// The number of the configuration's revision that last changed this application.
    ///
    /// Every change of the application's settings, properties, providers, keys or mappings raises the revision.
    package let revision: Int64
    package var settings: ApplicationSettings
    /// The application's built-in and declared properties, in the order of their columns in the users table.
    package let properties: [Property]

    package init(
        id: ApplicationID,
        name: String,
        schema: String,
        database: DatabaseVariable? = nil,
        revision: Int64,
        settings: ApplicationSettings,
        properties: [Property]
    ) {
        self.id = id
        self.name = name
        self.schema = schema
        self.database = database
        self.revision = revision
        self.settings = settings
        self.properties = properties
    }
}

/// The names of the service's own environment variables.
package enum ServiceVariable {
    /// The prefix of the names of the service's environment variables.
    ///
    /// An environment variable with this prefix and an unknown name is probably misspelt. So the service reports it.
    package static let prefix = "FEDERATION_"

    /// Returns whether a text is the name of an environment variable that an application's settings may name.
    ///
    /// Such a name has at most 63 of `A` to `Z`, `0` to `9` and `_`, begins with a letter, ends with the given suffix,
    /// and is not one of the service's own. An operator who may change an application can therefore not make the
    /// service use any other variable.
    static func isNameForApplications(_ text: String, suffix: String) -> Bool {
        guard text.utf8.count <= 63, text.hasSuffix(suffix), !text.hasPrefix(prefix), let first = text.utf8.first else {
            return false
        }
        return letters.contains(first)
            && text.utf8.allSatisfy { letters.contains($0) || $0.isASCIIDigit || $0 == UInt8(ascii: "_") }
    }

    private static let letters = UInt8(ascii: "A")...UInt8(ascii: "Z")
}

/// The environment variable that holds the URL of an application's own database for its users (decision D24).
///
/// The form of the name is fixed, for example `SHOP_DATABASE_URL` (`ServiceVariable.isNameForApplications`).
package struct DatabaseVariable: Sendable, Hashable, CustomStringConvertible {
    package let text: String

    /// The rule for the names of environment variables with the URLs of databases, as error messages show it.
    package static let rule = """
        must be {"env": "NAME"} with the name of an environment variable that ends in _DATABASE_URL and does not begin \
        with FEDERATION_: at most 63 of A to Z, 0 to 9 and _, beginning with a letter
        """

    /// Creates the name of an environment variable; nil unless the text has a form such as `SHOP_DATABASE_URL`.
    package init?(_ text: String) {
        guard ServiceVariable.isNameForApplications(text, suffix: "_DATABASE_URL") else { return nil }
        self.text = text
    }

    package var description: String { text }
}

/// The API key of a request.
package struct APIKey: Sendable {
    /// The text of the key, which the client sent and the service has accepted.
    package let text: Secret
    /// The name that the operator gave to the API key.
    package let label: String
    /// Whether the key is for an operator's server, not for an app on users' devices.
    ///
    /// A request with such a key may concern any user. A request with another key concerns the user of its session.
    package let isServer: Bool

    package init(text: Secret, label: String, isServer: Bool) {
        self.text = text
        self.label = label
        self.isServer = isServer
    }
}
