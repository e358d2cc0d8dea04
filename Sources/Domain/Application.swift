import Encodings

/// An application as its operator configured it, at one revision.
package struct Application: Sendable {
    package let id: ApplicationID
    /// The name that operators and users read.
    package let name: String
    /// The PostgreSQL schema that holds the application's users.
    package let schema: String
    /// The environment variable with the URL of the users' own database; nil if the configuration's database holds the
    /// users.
    package let database: DatabaseVariable?
    /// The configuration's revision at the application's last change.
    ///
    /// Every change of its settings, properties, providers, keys or mappings raises the revision.
    package let revision: Int64
    package var settings: ApplicationSettings
    /// Declared properties and the built-in ones, in the order of their columns.
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
    /// A variable with this prefix that the service does not know is an error of the operator, and the service reports
    /// it.
    package static let prefix = "FEDERATION_"
}

/// The environment variable that holds the URL of an application's own database for its users (decision D24).
///
/// The form of the name is fixed, for example `SHOP_DATABASE_URL`, and excludes the service's own variables. So an
/// operator who may change an application cannot have the service try other environment variables as URLs.
package struct DatabaseVariable: Sendable, Hashable, CustomStringConvertible {
    package let text: String

    /// The rule for the names of these environment variables, as error messages show it to operators.
    package static let rule = """
        must be {"env": "NAME"} with the name of an environment variable that ends in _DATABASE_URL and does not begin \
        with FEDERATION_: at most 63 of A to Z, 0 to 9 and _, beginning with a letter
        """

    /// Creates the name of an environment variable; nil unless the text has a form such as `SHOP_DATABASE_URL`.
    package init?(_ text: String) {
        guard text.utf8.count <= 63, text.hasSuffix("_DATABASE_URL"), !text.hasPrefix(ServiceVariable.prefix),
            let first = text.utf8.first, Self.letters.contains(first),
            text.utf8.allSatisfy({ Self.letters.contains($0) || $0.isASCIIDigit || $0 == UInt8(ascii: "_") })
        else { return nil }
        self.text = text
    }

    private static let letters = UInt8(ascii: "A")...UInt8(ascii: "Z")

    package var description: String { text }
}

/// The API key of a request.
package struct APIKey: Sendable {
    /// The key as the client sent it, after the service has accepted the key.
    package let text: Secret
    /// The operator's name for the key.
    package let label: String
    /// Whether the key belongs to an operator's server, not to an app.
    ///
    /// Requests with such a key may concern other users than the user of the session.
    package let isServer: Bool

    package init(text: Secret, label: String, isServer: Bool) {
        self.text = text
        self.label = label
        self.isServer = isServer
    }
}
