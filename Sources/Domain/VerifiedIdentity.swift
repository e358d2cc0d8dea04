package import Encodings

/// The outcome of a verified credential: a user's identity and profile at a provider.
package struct VerifiedIdentity: Sendable {
    package let identity: IdentityKey
    /// The profile as received, or the claims of an ID token under the names of the provider's fields.
    package let profile: JSONObject
    /// The permissions that the user had granted to the app when the service read the profile.
    package let scopes: [String]
    /// Whether `scopes` is the provider's complete list.
    ///
    /// The claims of an ID token reveal only some permissions.
    package let scopesAreListed: Bool
    /// The permissions that the user declined in the dialog of this login; nil when unknown.
    package var declinedScopes: [String]?
    /// Unix seconds at which access to the user's data expires; nil when never or unknown.
    package let dataAccessExpiresAt: Int64?
    /// Unix seconds at which the credential itself expires; nil when never or unknown.
    package let credentialExpiresAt: Int64?
    /// The SHA-256 of the provider's name and of the user's session there (the claim `sid` of an ID token); nil when
    /// unknown.
    package let providerSession: [UInt8]?

    package init(
        identity: IdentityKey,
        profile: JSONObject,
        scopes: [String],
        scopesAreListed: Bool = true,
        declinedScopes: [String]? = nil,
        dataAccessExpiresAt: Int64?,
        credentialExpiresAt: Int64? = nil,
        providerSession: [UInt8]? = nil
    ) {
        self.identity = identity
        self.profile = profile
        self.scopes = scopes
        self.scopesAreListed = scopesAreListed
        self.declinedScopes = declinedScopes
        self.dataAccessExpiresAt = dataAccessExpiresAt
        self.credentialExpiresAt = credentialExpiresAt
        self.providerSession = providerSession
    }
}

/// A token from a provider that the service can keep.
package struct ProviderToken: Sendable {
    package enum Kind: String, Sendable {
        case access
        /// A refresh token, by which the service gets access tokens (RFC 6749 §1.5).
        case refresh
        /// An ID token, which serves only to revoke the app's permissions.
        case id
    }

    package let kind: Kind
    package let text: Secret
    /// Unix seconds at which the token expires; nil when never or unknown.
    package let expiresAt: Int64?

    package init(kind: Kind, text: Secret, expiresAt: Int64?) {
        self.kind = kind
        self.text = text
        self.expiresAt = expiresAt
    }
}
