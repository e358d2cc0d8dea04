package import Vocabulary

/// What a client asks for when a person is to log in through the server, parsed at the edge.
package struct DialogRequest: Sendable {
    /// The client's own mapping: an object of Graph field → property.
    package var mapping: JSONValue?
    /// What the dialog shall ask for, each name checked; nil for the operator's choice.
    package var permissions: [String]?
    package var authType: DialogAuthType?
    /// Which of the application's Facebook apps the person logs in to; nil for the first one.
    package var appID: String?
    /// Which configuration of Facebook Login for Business the dialog shall follow, in the form of one; nil for the app's.
    package var configID: String?
    /// Where the client wants the browser to be sent in the end.
    package var redirectAfterLoginURL: String?
    /// Under which host name Facebook shall send the browser back.
    package var callbackURLDomain: String?
    /// The client's challenge of PKCE (S256), for the code that the login ends with: 43 characters of base64url.
    package var codeChallenge: String?
    /// The `Origin` of the page that asks.
    package var origin: String?
    /// By which base the request came.
    package let base: PublicBase

    package init(base: PublicBase) { self.base = base }
}
