/// A login method of a user: an identity of a provider, or the password.
package struct LoginMethod: Sendable {
    /// A provider's name, or `password`.
    package let provider: String
    /// The provider's app; nil for a password, and where the provider's subjects are the same for every app.
    package let app: String?
    /// The provider's id of the person, or the login that goes with the password.
    package let subject: String
    /// Milliseconds since 1970 UTC.
    package let created: Int64
    package let lastUsed: Int64?
    /// Whether the session that asks was opened by it.
    package let isCurrent: Bool
    /// Whether the provider has said that it is revoked: the person has to grant access anew.
    package let isRevoked: Bool

    package init(
        provider: String,
        app: String?,
        subject: String,
        created: Int64,
        lastUsed: Int64?,
        isCurrent: Bool,
        isRevoked: Bool
    ) {
        self.provider = provider
        self.app = app
        self.subject = subject
        self.created = created
        self.lastUsed = lastUsed
        self.isCurrent = isCurrent
        self.isRevoked = isRevoked
    }
}

/// Which login method is meant.
package struct LoginMethodSelection: Sendable {
    /// A provider's name, or `password`.
    package let provider: String
    /// Needed when the user has identities at several apps of the provider.
    package let app: String?

    package init(provider: String, app: String?) {
        self.provider = provider
        self.app = app
    }
}
