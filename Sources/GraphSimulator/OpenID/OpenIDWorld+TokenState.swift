/// The endpoints of an issuer that tell of tokens, or end them.
extension OpenIDWorld {
    /// Returns the claims of an access token's user.
    func userinfo(_ call: IssuerCall) throws(OAuthError) -> GraphReply {
        guard let text = call.request.bearerToken else {
            throw OAuthError("invalid_request", status: 401, headers: [("WWW-Authenticate", "Bearer")])
        }
        guard let token = grants.accessToken(text, at: call.issuer.server, now: call.now) else {
            throw OAuthError(
                "invalid_token",
                status: 401,
                headers: [("WWW-Authenticate", #"Bearer error="invalid_token""#)]
            )
        }
        return .answer(call.issuer.userinfo ?? token.grant.claims(inDialog: call.issuer.userClaims))
    }

    /// Returns the state of a token of any client of the issuer (RFC 7662).
    func introspect(_ call: IssuerCall) throws(OAuthError) -> GraphReply {
        _ = try call.client()
        guard let token = grants.token(call.request.parameter("token"), at: call.issuer.server),
            token.state(at: call.now) == .active
        else { return .answer(["active": false]) }
        var json: JSON = [
            "active": true, "iss": .string(call.identifier), "client_id": .string(token.grant.client),
            "sub": .string(token.grant.subject), "scope": .string(token.grant.scopes.joined(separator: " ")),
            "iat": .integer(token.issuedAt),
        ]
        json["exp"] = token.expiresAt.map { .integer($0) }
        json["token_type"] = token.kind == .access ? "Bearer" : "refresh_token"
        return .answer(json)
    }

    /// Revokes a token of the client (RFC 7009).
    mutating func revoke(_ call: IssuerCall) throws(OAuthError) -> GraphReply {
        let client = try call.client()
        guard let text = call.request.parameter("token") else { throw .invalidRequest("token is missing") }
        if let token = grants.token(text, at: call.issuer.server) {
            guard token.grant.client == client else { throw OAuthError("unauthorized_client") }
            grants.revoke(token)
        }
        return .answer([:])
    }

    /// Tells of an access token as Google does: anybody may ask, and numbers and booleans are texts.
    func tokeninfo(_ call: IssuerCall) -> GraphReply {
        let text = call.request.parameter("access_token")
        guard let token = grants.accessToken(text, at: call.issuer.server, now: call.now) else {
            return OAuthError("invalid_token", "Invalid Value").reply
        }
        var json: JSON = [
            "azp": .string(token.grant.client), "aud": .string(token.grant.client),
            "sub": .string(token.grant.subject), "scope": .string(token.grant.scopes.joined(separator: " ")),
        ]
        if let end = token.expiresAt {
            json["exp"] = .string(String(end))
            json["expires_in"] = .string(String(end - call.now))
        }
        let claims = token.grant.claims(inDialog: call.issuer.userClaims)
        json["email"] = claims["email"]
        json["email_verified"] = claims["email_verified"].map { .string($0.string ?? $0.plainText) }
        return .answer(json)
    }
}
