package import Applications
package import Providers
package import Vocabulary

/// What a client asks for when a person is to log in through the server, parsed at the edge.
package struct DialogRequest: Sendable {
    /// The client's own mapping: an object of field → property.
    package var mapping: JSONValue?
    package var wishes = DialogWishes()
    /// Which of the application's apps at the provider the person logs in to; nil for the first one.
    package var appID: String?
    /// Where the client wants the browser to be sent in the end.
    package var redirectAfterLoginURL: String?
    /// The client's challenge of PKCE (S256), for the code that the login ends with: 43 characters of base64url.
    package var codeChallenge: String?
    /// Whether the code at the end is for a session that links the identity: the session shows the factor then.
    package var isForLinking = false
    /// The address of the account page, if it is that which asks: the code at the end is for it.
    package var accountPage: String?
    /// The invitation that a new person presents.
    package var invitation: InvitationToken?
    /// The `Origin` of the page that asks.
    package var origin: String?

    package init() {}
}
