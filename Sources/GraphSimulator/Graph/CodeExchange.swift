/// `grant_type=authorization_code`: a code of the login dialog for a user token.
extension World {
    mutating func exchangeCode(_ request: GraphRequest, app: App, now: Int) throws(GraphError) -> JSON {
        guard let text = request.parameter("code"), !text.isEmpty else {
            throw GraphError(code: 100, message: "Missing authorization code")
        }
        guard let redirectURI = request.parameter("redirect_uri") else {
            throw GraphError(code: 191, message: "Missing redirect_uri parameter.")
        }
        guard var code = code(text), code.app.utf8.elementsEqual(app.id.utf8) else {
            throw GraphError(code: 100, message: "Invalid verification code format.")
        }
        if code.isUsed {
            throw GraphError(code: 100, subcode: 36009, message: "This authorization code has been used.")
        }
        guard now < code.issuedAt + AuthorizationCode.lifetime else {
            throw GraphError(code: 100, subcode: 36007, message: "This authorization code has expired.")
        }
        guard redirectURI.utf8.elementsEqual(code.redirectURI.utf8) else {
            throw GraphError(
                code: 100,
                subcode: 36008,
                message: "Error validating verification code. Please make sure your redirect_uri is identical to the "
                    + "one you used in the OAuth dialog request"
            )
        }
        // Without a secret nothing but the verifier speaks for the caller.
        guard code.challenge != nil || code.isForClient || request.client.secret != nil else { throw .badClientSecret }
        guard code.challenge != nil || request.parameter("code_verifier") == nil else {
            throw GraphError(
                code: 1,
                message: "code_verifier param is provided without a code_challenge in authorization request.",
                status: 400
            )
        }
        guard code.accepts(verifier: request.parameter("code_verifier")) else {
            throw GraphError(code: 100, message: "Invalid code_verifier parameter")
        }
        code.isUsed = true
        codes[text] = code
        return try tokens(for: code, now: now)
    }

    private mutating func tokens(for code: AuthorizationCode, now: Int) throws(GraphError) -> JSON {
        var wish = TokenRequest(.long, person: code.person, app: code.app, scopes: code.scopes)
        wish.metadata = code.metadata
        do {
            let token = try mint(wish, now: now)
            var reply = token.grant(now: now)
            if code.scopes?.contains("openid") ?? false {
                let idToken = IDTokenRequest(
                    person: code.person,
                    app: code.app,
                    nonce: code.nonce,
                    scopes: code.scopes
                )
                reply["id_token"] = .string(try self.idToken(idToken, now: now).signed())
            }
            return reply
        } catch {
            // The person or the app was removed after the dialog.
            throw GraphError(code: 190, message: "Error validating access token: \(error)")
        }
    }
}

extension Token {
    /// What `/oauth/access_token` says about a token that it gives; one without an end has no `expires_in`.
    func grant(now: Int) -> JSON {
        var grant: JSON = ["access_token": .string(text), "token_type": "bearer"]
        if expiresAt != 0 { grant["expires_in"] = .integer(expiresAt - now) }
        return grant
    }
}
