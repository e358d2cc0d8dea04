package import Applications
package import Encodings
package import Providers

/// A client's request for a login through the server, parsed at the edge.
package struct DialogRequest: Sendable {
    /// The client's own mapping: an object of field → property.
    package var mapping: JSONValue?
    package var wishes = DialogWishes()
    /// The id of the application's app at the provider that the user logs in to; nil for the first app.
    package var appID: String?
    /// The address to which the browser shall go at the end.
    package var redirectAfterLoginURL: String?
    /// The client's PKCE challenge (S256) for the login code: 43 characters of base64url.
    package var codeChallenge: String?
    /// Whether a session uses the login code to link the identity; the session then shows the second factor.
    package var isForLinking = false
    /// The address of the account page, if the account page makes the request: it gets the login code.
    package var accountPage: String?
    /// The invitation that a new user presents.
    package var invitation: InvitationToken?
    /// The `Origin` of the requesting page.
    package var origin: String?

    package init() {}
}
