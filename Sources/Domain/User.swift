package import Encodings

/// A user of an application: one row of the users table.
package struct User: Sendable {
    package let objectID: ObjectID
    /// The time at which the user was created, in milliseconds since 1970 UTC, like all times of this type.
    package let created: Int64
    /// The time of the last change of a property; nil until the first.
    package let updated: Int64?
    package let lastLogin: Int64?
    package let status: UserStatus
    /// The provider by which the user was created, in the words of client SDKs: `FACEBOOK`.
    package let socialAccount: String?
    /// The language of mails to the user, as two letters; nil if it is not known.
    package let locale: String?
    /// Whether the user confirmed the e-mail address by a mailed link.
    ///
    /// A provider's statement does not count (decision D6).
    package var emailVerified: Bool
    /// The declared and built-in properties, in the application's order; a value is nil if the user has none.
    package let properties: [(name: PropertyName, value: PropertyValue?, visibleTo: Visibility)]
    /// The user's undeclared properties, by name.
    package let dynamic: JSONObject

    package init(
        objectID: ObjectID,
        created: Int64,
        updated: Int64?,
        lastLogin: Int64?,
        status: UserStatus,
        socialAccount: String?,
        locale: String?,
        emailVerified: Bool,
        properties: [(name: PropertyName, value: PropertyValue?, visibleTo: Visibility)],
        dynamic: JSONObject
    ) {
        self.objectID = objectID
        self.created = created
        self.updated = updated
        self.lastLogin = lastLogin
        self.status = status
        self.socialAccount = socialAccount
        self.locale = locale
        self.emailVerified = emailVerified
        self.properties = properties
        self.dynamic = dynamic
    }
}

extension User {
    /// The value of the built-in property `email`.
    package var email: String? { text(of: .email) }
    package var name: String? { text(of: .name) }

    /// Returns the value of a property if it is a text.
    package func text(of name: PropertyName) -> String? {
        guard case .text(let text) = properties.first(where: { $0.name == name })?.value else { return nil }
        return text
    }
}

/// The status of a user, in the words of client SDKs (docs/protocols/backendless.md §3.2).
package enum UserStatus: String, Sendable, CaseIterable {
    case enabled = "ENABLED"
    case disabled = "DISABLED"
    case emailConfirmationPending = "EMAIL_CONFIRMATION_PENDING"
    case guest = "GUEST"
}

/// The key by which the database knows a session: the SHA-256 of its ``SessionToken``.
///
/// The database does not store the token itself.
package struct SessionKey: Sendable {
    package let hash: [UInt8]

    package init(hash: [UInt8]) { self.hash = hash }
}

/// The `user-token` of a session: 256 random bits as 43 characters of base64url (decision D7).
package struct SessionToken: Sendable {
    /// The token in the form that the client stores and sends.
    package let secret: Secret

    /// Creates a token from 32 random bytes.
    package init(random bytes: [UInt8]) {
        secret = Secret(Base64URL.encode(bytes))
    }

    /// Reads a received token; nil when the form is wrong.
    ///
    /// The service then need not query the database.
    package init?(received text: some StringProtocol) {
        guard text.utf8.count == 43, text.utf8.allSatisfy(Base64URL.isCharacter) else { return nil }
        secret = Secret(String(text))
    }
}
