/// The members of a request that may hold a credential, as they were found; an empty text counts as absent.
package struct CredentialFields: Sendable {
    package var accessToken: String?
    /// The secret that belongs to an access token of OAuth 1.0a.
    package var accessTokenSecret: String?
    package var idToken: String?
    package var nonce: String?
    package var code: String?
    package var redirectURI: String?
    package var codeVerifier: String?
    /// The one-time code with which a login through the server ends.
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
