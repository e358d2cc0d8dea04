/// The members of a request that may hold a credential, as received; an empty text counts as absent.
package struct CredentialFields: Sendable {
    package var accessToken: String?
    /// The secret of an OAuth 1.0a access token.
    package var accessTokenSecret: String?
    package var idToken: String?
    package var nonce: String?
    package var code: String?
    package var redirectURI: String?
    package var codeVerifier: String?
    /// The single-use code that a client gets at the end of the provider's dialog and exchanges for a session.
    package var loginCode: String?

    package init(
        accessToken: String? = nil,
        accessTokenSecret: String? = nil,
        idToken: String? = nil,
        nonce: String? = nil,
        code: String? = nil,
        redirectURI: String? = nil,
        codeVerifier: String? = nil,
        loginCode: String? = nil
    ) {
        self.accessToken = accessToken
        self.accessTokenSecret = accessTokenSecret
        self.idToken = idToken
        self.nonce = nonce
        self.code = code
        self.redirectURI = redirectURI
        self.codeVerifier = codeVerifier
        self.loginCode = loginCode
    }
}
