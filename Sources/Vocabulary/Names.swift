/// The id of an application: what stands first in every public path.
///
/// 1 to 63 bytes of `a-z A-Z 0-9 _ -`, beginning with a letter or digit, compared as bytes.
package struct ApplicationID: Sendable, Hashable, CustomStringConvertible {
    package let text: String

    /// Nil when the text does not follow the rule.
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
/// 63 bytes is PostgreSQL's limit for a name; a longer one would be cut, and two long names become one column.
package struct PropertyName: Sendable, Hashable, Comparable, CustomStringConvertible {
    package let text: String

    /// Nil when the text does not follow the rule.
    package init?(_ text: some StringProtocol) {
        let bytes = text.utf8
        guard (1...63).contains(bytes.count), let first = bytes.first, first.isASCIILetter,
            bytes.allSatisfy({ $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "_") })
        else { return nil }
        self.text = String(text)
    }

    package var description: String { text }

    package static func < (left: PropertyName, right: PropertyName) -> Bool { left.text < right.text }

    /// Whether the name belongs to the system, in whatever case it is spelt: no mapping may target it, no property take
    /// it.
    package var isReserved: Bool { ReservedNames.contains(self) }

    /// The two properties that every application has.
    package static let email = PropertyName(known: "email")
    package static let name = PropertyName(known: "name")

    private init(known text: StaticString) {
        self.text = text.description
    }
}

/// The names that no property may have, in lower case.
private enum ReservedNames {
    /// Properties that the service itself keeps, and the three keys that make a reply look like a fault to client SDKs.
    static let system: Set<String> = [
        "objectid", "ownerid", "created", "updated", "lastlogin", "userstatus", "socialaccount", "accounttype",
        "oauthidentities", "bluserlocale", "password", "user-token", "___class", "roles", "id", "code", "message",
    ]
    /// Columns of the users table besides `email` and `name`.
    static let columns: Set<String> = [
        "object_id", "email_verified", "user_status", "social_account", "last_login", "locale", "dynamic",
    ]
    /// PostgreSQL's system columns.
    static let postgres: Set<String> = ["oid", "tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"]

    static func contains(_ name: PropertyName) -> Bool {
        // A property name is ASCII of at most 63 bytes, so folding and hashing it is cheap and exact.
        let folded = name.text.lowercased()
        return system.contains(folded) || columns.contains(folded) || postgres.contains(folded)
    }
}

/// The provider's id of a person, scoped to one app of the provider: a text that is compared as bytes, never a number
/// (decision D16).
///
/// OpenID Connect Core 1.0 allows a `sub` 255 ASCII characters, and so many are taken here of those that print. A
/// provider may have a narrower rule, and whoever reads its replies holds them to that.
package struct Subject: Sendable, Hashable, CustomStringConvertible {
    package let text: String

    /// Nil unless the text is 1 to 255 bytes of ASCII from `!` to `~`.
    package init?(_ text: String) {
        guard (1...255).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return nil
        }
        self.text = text
    }

    /// An id of a provider that numbers people, as Facebook and Twitter do: nil unless the text is 1 to 64 ASCII
    /// digits, of which the first is not 0.
    ///
    /// Such providers count from 1. A 0 is what stands for nobody in samples and in what is broken, and with zeros in
    /// front one id would have many texts.
    package init?(decimal text: String) {
        guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy(\.isASCIIDigit),
            text.utf8.first != UInt8(ascii: "0")
        else { return nil }
        self.text = text
    }

    package var description: String { text }
}

extension UInt8 {
    /// `0`–`9`, and no other script's digits.
    package var isASCIIDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }

    /// `A`–`Z` or `a`–`z`.
    package var isASCIILetter: Bool {
        let lowered = self | 0x20
        return lowered >= UInt8(ascii: "a") && lowered <= UInt8(ascii: "z")
    }

    /// `a`–`z`.
    package var isASCIILowercase: Bool { self >= UInt8(ascii: "a") && self <= UInt8(ascii: "z") }

    /// The small letter of a capital one; every other byte as it is.
    package var asciiLowercased: UInt8 { (0x41...0x5A).contains(self) ? self | 0x20 : self }

    package var isASCIIAlphanumeric: Bool { isASCIIDigit || isASCIILetter }

    /// Whether it is one of a few characters of ASCII; a view of a string's bytes takes several times as long to ask.
    package func isOne(of characters: StaticString) -> Bool {
        characters.withUTF8Buffer { $0.contains(self) }
    }
}
