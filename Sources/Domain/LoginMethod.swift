/// A login method of a user: an identity at a provider, the password, or a passkey.
package struct LoginMethod: Sendable {
    /// The name of a provider; or `password`, or `passkey`.
    package let provider: String
    /// The provider's app; nil for a password, a passkey, and a provider whose subjects are the same in every app.
    package let app: String?
    /// The user's subject at the provider, the login name that goes with the password, or the id of the passkey.
    package let subject: String
    /// When the identity or the passkey was added, or the password was last changed, in milliseconds since 1970 UTC.
    package let created: Int64
    package let lastUsed: Int64?
    /// Whether the session that sent the request was opened by this login method.
    package let isCurrent: Bool
    /// Whether the provider has reported the identity as revoked: the user has to grant access anew.
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

/// The provider and app by which a request names one login method of a user.
package struct LoginMethodSelection: Sendable {
    /// The name of a provider; or `password`.
    package let provider: String
    /// The provider's app; needed only when the user has identities at several apps of the provider.
    package let app: String?

    package init(provider: String, app: String?) {
        self.provider = provider
        self.app = app
    }
}

/// The purpose of a mailed link.
package enum EmailTokenPurpose: String, Sendable {
    case passwordReset
    case confirmation
    /// Reverses a change of an account; the link goes to the e-mail address that the account had before.
    case reversal
    /// Undoes a merge of two users; the link goes to the addresses of both.
    case mergeReversal
    /// Makes an account one with that of a new user, who logged in by a provider and brought the account's address.
    case claim
    /// Confirms the address of the user who requested the link. The link alone is enough.
    case verification
    /// Gives the account the address to which the link was mailed. The link alone is enough.
    case newAddress

    /// Whether a link of this purpose never sets a password.
    package var onlyConfirms: Bool { self == .verification || self == .newAddress }

    /// The number of seconds around a change of an account in which other changes count as suspect: three days.
    ///
    /// If the user reverses the change by the mailed link, the service unlinks the identities that were linked after
    /// the change, or in the three days before it. For three days after the change, notices go to both the former and
    /// the new address.
    package static let suspicionSeconds = 259_200

    /// The last path segment of the page that the link leads to.
    package var page: String {
        switch self {
        case .passwordReset: "reset-password"
        case .confirmation: "confirm-email"
        case .reversal: "undo-change"
        case .mergeReversal: "undo-merge"
        case .claim: "connect-accounts"
        case .verification: "verify-email"
        case .newAddress: "change-email"
        }
    }

    /// The number of seconds after which the mailed link expires.
    package var seconds: Int {
        switch self {
        case .passwordReset: 1800
        case .confirmation, .claim, .verification, .newAddress: 172_800
        case .reversal, .mergeReversal: 604_800
        }
    }
}
