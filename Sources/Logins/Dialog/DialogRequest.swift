package import Applications
package import Encodings
package import Providers

/// A client's request to begin a login by a provider's dialog, already parsed.
package struct DialogRequest: Sendable {
    /// The mapping that the client sent: a JSON object whose names are the provider's fields and whose values are
    /// properties.
    package var mapping: JSONValue?
    package var wishes = DialogParameters()
    /// The id of the provider's app that the user logs in to; nil for the application's first app.
    package var appID: String?
    /// The URL to which the browser goes at the end of the login.
    package var redirectAfterLoginURL: String?
    /// The client's PKCE challenge (S256) for the login code: 43 characters of base64url.
    package var codeChallenge: String?
    /// The page of this service at which the login ends, if it hands the login code to a page of the application.
    ///
    /// Requires `codeChallenge`.
    package var relay: RelayPage?
    /// Whether the client will use the login code to link the identity to the user of an existing session.
    ///
    /// If so, the service asks for no second factor after the dialog.
    package var isForLinking = false
    /// The address of the account page if that page makes the request.
    ///
    /// The login code goes to this address.
    package var accountPage: String?
    /// The invitation that a new user presents.
    package var invitation: InvitationToken?
    /// The `Origin` header of the request.
    package var origin: String?

    package init() {}
}

/// A page of this service that hands the login code to a page of the application.
package struct RelayPage: Sendable {
    /// The address of the page.
    let address: String
    /// The origin of the application's page: one of the allowed origins.
    let origin: String

    package init(address: String, origin: String) { (self.address, self.origin) = (address, origin) }
}
