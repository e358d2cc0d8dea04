/// A person whom a provider vouched for: the outcome of a verification.
package struct VerifiedPerson: Sendable {
    package let identity: IdentityKey
    /// The profile as received, or the claims of an ID token under the names of the provider's fields.
    package let profile: JSONObject
    /// The permissions that stand behind the profile.
    package let scopes: [String]
    /// Whether `scopes` is the provider's own list; the claims of an ID token only give some of them away.
    package let scopesAreListed: Bool
    /// The permissions that the person declined in the dialog of this login; nil when it is not known.
    package var declinedScopes: [String]?
    /// Unix seconds at which access to the person's data ends; nil when never or unknown.
    package let dataAccessExpiresAt: Int64?
    /// Unix seconds at which the credential itself ends; nil when never or unknown.
    package let credentialExpiresAt: Int64?

    package init(
        identity: IdentityKey,
        profile: JSONObject,
        scopes: [String],
        scopesAreListed: Bool = true,
        declinedScopes: [String]? = nil,
        dataAccessExpiresAt: Int64?,
        credentialExpiresAt: Int64? = nil
    ) {
        self.identity = identity
        self.profile = profile
        self.scopes = scopes
        self.scopesAreListed = scopesAreListed
        self.declinedScopes = declinedScopes
        self.dataAccessExpiresAt = dataAccessExpiresAt
        self.credentialExpiresAt = credentialExpiresAt
    }
}

/// A credential of a provider's that can be kept.
package struct ProviderToken: Sendable {
    package enum Kind: String, Sendable {
        /// An access token.
        case access
        /// An ID token, good for giving up our permissions and for nothing else.
        case id
    }

    package let kind: Kind
    package let text: Secret
    /// Unix seconds at which it ends; nil when never or unknown.
    package let expiresAt: Int64?

    package init(kind: Kind, text: Secret, expiresAt: Int64?) {
        self.kind = kind
        self.text = text
        self.expiresAt = expiresAt
    }
}
