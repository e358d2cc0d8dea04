package import Providers
package import SignedTokens

/// What an operator decides about logins with Facebook, and about what is kept of them.
package struct FacebookOptions: Sendable, Equatable {
    /// `v25.0`; part of every Graph path.
    package var graphVersion = "v25.0"
    package var proof = ProofForm.timed
    /// Whether our own login dialog is opened with a challenge of PKCE.
    package var pkce = DialogChallenge.auto
    /// What the `nonce` of an ID token must be.
    package var nonce = NoncePolicy.clientMade
    /// Seconds after its issue at which an ID token is no longer taken.
    package var idTokenSeconds: Int64 = 3600
    /// The redirect URIs that a client's authorization code may come with, compared as bytes.
    package var redirectURIs: [String] = []
    /// Where a browser may be sent after a login through the server, compared as bytes; the first is the default.
    package var returnURLs: [String] = []
    /// What the login dialog asks for when the client names no permissions.
    package var permissions: [String] = ["public_profile", "email"]
    /// Whether the provider token of the last login is kept, sealed, with the identity.
    package var keepTokens = false
    /// Whether a kept access token is exchanged for one that lives some 60 days.
    package var longLivedTokens = false
    /// Whether a client may have the kept token back.
    package var returnTokens = false
    /// Whether the sessions that rest on an identity end when Facebook says that it is revoked.
    package var endSessionsWhenRevoked = false
    /// Hours after which the profile of a kept token is read again by the stored mapping; nil for never.
    package var refreshHours: Int64?
    /// Days between a person's request for deletion and the erasure; 0 erases at once.
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
