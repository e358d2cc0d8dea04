package import Providers
package import SignedTokens

/// The options of logins with Facebook and of kept tokens.
package struct FacebookOptions: Sendable, Equatable {
    /// The Graph version, such as `v25.0`, in every Graph path.
    package var graphVersion = "v25.0"
    package var proof = ProofForm.timed
    /// Whether the dialogs that the service opens have a PKCE challenge.
    package var pkce = DialogChallenge.auto
    /// Which ID tokens are accepted, depending on their claim `nonce`.
    package var nonce = NoncePolicy.clientMade
    /// The seconds from the issue of an ID token until the service refuses it.
    package var idTokenSeconds: Int64 = 3600
    /// The redirect URIs that are accepted with an authorization code from a client, compared as bytes.
    package var redirectURIs: [String] = []
    /// The URLs to which a browser may return after a login in a dialog that this service opens, compared as bytes.
    ///
    /// The first one is the default.
    package var returnURLs: [String] = []
    /// The permissions that the login dialog asks for if the client names none.
    package var permissions: [String] = ["public_profile", "email"]
    /// Whether the service keeps the provider token of the last login.
    ///
    /// The token is encrypted and kept with the identity.
    package var keepTokens = false
    /// Whether a kept access token is exchanged for a token that is valid for some 60 days.
    package var longLivedTokens = false
    /// Whether a client may retrieve the kept token.
    package var returnTokens = false
    /// Whether the service revokes sessions when Facebook reports that an identity is revoked.
    ///
    /// It revokes the sessions that the identity opened.
    package var endSessionsWhenRevoked = false
    /// The age in hours at which the service refreshes a profile; nil for never.
    ///
    /// To refresh a profile, the service reads it again with the kept token, and maps its fields again.
    package var refreshHours: Int64?
    /// The days from a user's request for deletion to the erasure.
    ///
    /// With 0, the erasure is immediate.
    package var eraseAfterDays: Int64 = 0

    package init() {}
}

/// The two forms of `appsecret_proof` (docs/protocols/facebook.md §1.8).
package enum ProofForm: String, Sendable, CaseIterable {
    /// The HMAC over the token, `|` and the time; it is valid for five minutes.
    ///
    /// Facebook's current documentation has this form.
    case timed
    /// The HMAC over the token alone; it is valid as long as the token.
    case classic
}
