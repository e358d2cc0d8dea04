package import Providers
package import SignedTokens

/// The options of logins with Facebook and of kept tokens.
package struct FacebookOptions: Sendable, Equatable {
    /// The Graph version, such as `v25.0`, in every Graph path.
    package var graphVersion = "v25.0"
    package var proof = ProofForm.timed
    /// Whether our own login dialog is opened with a challenge of PKCE.
    package var pkce = DialogChallenge.auto
    /// The requirement on the `nonce` of an ID token.
    package var nonce = NoncePolicy.clientMade
    /// Seconds after its issue at which an ID token expires here.
    package var idTokenSeconds: Int64 = 3600
    /// The redirect URIs accepted with a client's authorization code, compared as bytes.
    package var redirectURIs: [String] = []
    /// The addresses that a browser may return to after a login through the server, compared as bytes.
    ///
    /// The first one is the default.
    package var returnURLs: [String] = []
    /// The permissions that the login dialog asks for when the client names none.
    package var permissions: [String] = ["public_profile", "email"]
    /// Whether the provider token of the last login is kept, encrypted, with the identity.
    package var keepTokens = false
    /// Whether a kept access token is exchanged for one that lives some 60 days.
    package var longLivedTokens = false
    /// Whether a client may retrieve the kept token.
    package var returnTokens = false
    /// Whether the sessions of an identity end when Facebook says that the identity is revoked.
    package var endSessionsWhenRevoked = false
    /// Hours after which the profile of a kept token is fetched again, by the stored mapping; nil for never.
    package var refreshHours: Int64?
    /// Days between a user's request for deletion and the erasure; 0 erases at once.
    package var eraseAfterDays: Int64 = 0

    package init() {}
}

/// The two forms of `appsecret_proof` (docs/protocols/facebook.md §1.8).
package enum ProofForm: String, Sendable, CaseIterable {
    /// HMAC over token, `|` and the time, valid for five minutes: the form of Facebook's current documentation.
    case timed
    /// HMAC over the token alone, valid as long as the token.
    case classic
}
