/// A row of the users table.
package struct User: Sendable {
    package let objectID: ObjectID
    /// Milliseconds since 1970 UTC, as everywhere on the wire.
    package let created: Int64
    /// When a property changed last; nil until one has.
    package let updated: Int64?
    package let lastLogin: Int64?
    package let status: UserStatus
    /// The provider that the user came by, in the words of client SDKs: `FACEBOOK`.
    package let socialAccount: String?
    /// The language of e-mails, two letters.
    package let locale: String?
    /// Whether the e-mail address has been verified by a mail; a provider's word does not count (decision D6).
    package let emailVerified: Bool
    /// The declared and built-in properties, in the order of the application, nil where empty.
    package let properties: [(name: PropertyName, value: PropertyValue?, visibleTo: Visibility)]
    /// Undeclared properties by name.
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
    /// The value of the built-in property.
    package var email: String? { text(of: .email) }
    package var name: String? { text(of: .name) }

    /// The value of a property that is a text.
    package func text(of name: PropertyName) -> String? {
        guard case .text(let text) = properties.first(where: { $0.name == name })?.value else { return nil }
        return text
    }
}

/// What a user may do, in the words of client SDKs (docs/protocols/backendless.md §3.2).
package enum UserStatus: String, Sendable, CaseIterable {
    case enabled = "ENABLED"
    case disabled = "DISABLED"
    case emailConfirmationPending = "EMAIL_CONFIRMATION_PENDING"
    case guest = "GUEST"
}

/// The `user-token` of a session: 256 random bits as 43 characters of base64url (decision D7).
package struct SessionToken: Sendable {
    /// The token as the client holds it.
    package let secret: Secret

    /// Takes 32 random bytes.
    package init(random bytes: [UInt8]) {
        secret = Secret(Base64URL.encode(bytes))
    }

    /// A token that a client sent; nil when it cannot be one of ours, which saves asking the database.
    package init?(received text: some StringProtocol) {
        guard text.utf8.count == 43, text.utf8.allSatisfy(Base64URL.isCharacter) else { return nil }
        secret = Secret(String(text))
    }
}
