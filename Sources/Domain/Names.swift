import Encodings
package import FoundationEssentials

/// The id of an application, which is the first segment of every public path.
///
/// 1 to 63 bytes of `a-z A-Z 0-9 _ -`, beginning with a letter or digit, compared as bytes.
package struct ApplicationID: Sendable, Hashable, CustomStringConvertible {
    package let text: String

    /// Creates an application's id; nil unless the text has 1 to 63 of the allowed characters and begins with a letter
    /// or digit.
    package init?(_ text: some StringProtocol) {
        guard (1...63).contains(text.utf8.count) else { return nil }
        self.text = String(text)
        guard let first = self.text.utf8.first, first.isASCIIAlphanumeric,
            self.text.utf8.allSatisfy({ $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-") })
        else { return nil }
    }

    package var description: String { text }
}

/// The name of a property of users: ASCII `[A-Za-z][A-Za-z0-9_]{0,62}`, compared as bytes (decision D4).
///
/// 63 bytes is PostgreSQL's limit for a name. PostgreSQL truncates a longer name, so two long names could become one
/// column.
package struct PropertyName: Sendable, Hashable, Comparable, CustomStringConvertible {
    package let text: String

    /// Creates the name of a property; nil unless the text is a letter and at most 62 letters, digits or `_`, all
    /// ASCII.
    package init?(_ text: some StringProtocol) {
        let bytes = text.utf8
        guard (1...63).contains(bytes.count), let first = bytes.first, first.isASCIILetter,
            bytes.allSatisfy({ $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "_") })
        else { return nil }
        self.text = String(text)
    }

    package var description: String { text }

    package static func < (left: PropertyName, right: PropertyName) -> Bool { left.text < right.text }

    /// Whether the name is reserved, in upper or lower case.
    ///
    /// No property has a reserved name, and no mapping writes to one.
    package var isReserved: Bool { ReservedNames.contains(self) }

    /// The names reserved for the system, in lower case and sorted.
    package static var reserved: [String] { ReservedNames.all.filter { PropertyName($0) != nil }.sorted() }

    /// The name of the built-in property for the e-mail address, which every application has, like `name`.
    package static let email = PropertyName(known: "email")
    package static let name = PropertyName(known: "name")

    /// Creates a name from a literal in the source code that is known to follow the rule.
    package init(known text: StaticString) {
        self.text = text.description
    }
}

/// The names that no property may have, in lower case.
private enum ReservedNames {
    /// The service's own properties, and three JSON keys that make client SDKs read a response as an error.
    static let system: Set<String> = [
        "objectid", "ownerid", "created", "updated", "lastlogin", "userstatus", "socialaccount", "accounttype",
        "oauthidentities", "bluserlocale", "password", "user-token", "___class", "roles", "id", "code", "message",
    ]
    /// Columns of the users table besides `email` and `name`.
    static let columns: Set<String> = [
        "object_id", "email_verified", "user_status", "social_account", "last_login", "locale", "dynamic",
    ]
    /// The names of PostgreSQL's system columns, which every table has.
    static let postgres: Set<String> = ["oid", "tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"]

    static let all = system.union(columns).union(postgres)

    static func contains(_ name: PropertyName) -> Bool {
        // A property name is ASCII of at most 63 bytes, so folding and hashing it is cheap and exact.
        all.contains(name.text.lowercased())
    }
}

/// The id of a user at a provider, scoped to one app of the provider (decision D16).
///
/// A subject is a text that is compared as bytes, never a number. OpenID Connect Core 1.0 allows a `sub` of 255 ASCII
/// characters; this type accepts up to 255 printable ASCII characters, without spaces. A provider may have a narrower
/// rule, which the code that reads the provider's responses enforces.
package struct Subject: Sendable, Hashable, CustomStringConvertible {
    package let text: String

    /// Creates a subject; nil unless the text is 1 to 255 bytes of ASCII from `!` to `~`.
    package init?(_ text: String) {
        guard (1...255).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return nil
        }
        self.text = text
    }

    /// A subject of a provider that numbers its users, as Facebook and Twitter do.
    ///
    /// Nil unless the text is 1 to 64 ASCII digits, of which the first is not 0. These providers count from 1. In
    /// samples and in broken data, 0 stands for no user. With leading zeros, one id could be written as several texts.
    package init?(decimal text: String) {
        guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy(\.isASCIIDigit),
            text.utf8.first != UInt8(ascii: "0")
        else { return nil }
        self.text = text
    }

    package var description: String { text }
}

/// The id of a user: a random UUID made by the server, written in upper case (decision D16).
package struct ObjectID: Sendable, Hashable, CustomStringConvertible {
    package let uuid: UUID

    package init(_ uuid: UUID) {
        self.uuid = uuid
    }

    /// Creates a UUID from random bytes (RFC 9562 §5.4).
    ///
    /// - Parameter bytes: At least 16.
    package init(random bytes: [UInt8]) {
        var uuid: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        withUnsafeMutableBytes(of: &uuid) { $0.copyBytes(from: bytes.prefix(16)) }
        uuid.6 = uuid.6 & 0x0F | 0x40
        uuid.8 = uuid.8 & 0x3F | 0x80
        self.uuid = UUID(uuid: uuid)
    }

    /// Parses the id of a user; nil unless the text is a UUID with dashes, in upper or lower case.
    package init?(_ text: some StringProtocol) {
        guard text.utf8.count == 36, let uuid = UUID(uuidString: String(text)) else { return nil }
        self.uuid = uuid
    }

    package var description: String { uuid.uuidString }
}
