extension OpenIDWorld {
    /// The lifetime of access tokens and ID tokens, in seconds.
    static let lifetime = 600

    /// Answers an issuer's token endpoint: exchanges a code, or refreshes.
    mutating func token(_ call: IssuerCall, key: IssuerKey) throws(OAuthError) -> GraphReply {
        let issuer = call.issuer
        let client = try call.client()
        let grant: Grant
        var isRefreshed = false
        switch call.request.parameter("grant_type") {
        case "authorization_code":
            grant = try grants.redeem(call.request, by: client, at: issuer.server, now: call.now)
        case "refresh_token" where issuer.refreshTokens:
            isRefreshed = true
            grant = try grants.refresh(
                call.request,
                by: client,
                at: issuer.server,
                rotates: issuer.rotates,
                now: call.now
            )
        case nil: throw .invalidRequest("grant_type is missing")
        default: throw .unsupportedGrant
        }
        let access = issueAccess(of: grant, seconds: Self.lifetime, now: call.now)
        var json: JSON = [
            "access_token": .string(access), "token_type": "Bearer", "expires_in": .integer(Self.lifetime),
            "scope": .string(grant.scopes.joined(separator: " ")),
        ]
        if issuer.refreshTokens, !isRefreshed || issuer.rotates {
            json["refresh_token"] = .string(issueRefresh(of: grant, now: call.now))
        }
        let nonce = isRefreshed ? nil : grant.nonce
        var claims = Self.claims(from: call.identifier, to: client, nonce: nonce, now: call.now)
        for member in grant.claims(inDialog: issuer.userClaims).members ?? [] { claims[member.name] = member.value }
        if claims["at_hash"] == nil {
            claims["at_hash"] = issuer.algorithm.hash(ofAccessToken: access).map { .string($0) }
        }
        guard let token = try? key.token(claims, by: issuer.algorithm) else { throw OAuthError("server_error") }
        json["id_token"] = .string(token)
        return .answer(json)
    }

    mutating func issueAccess(of grant: Grant, seconds: Int, now: Int) -> String {
        grants.issue(.access, of: grant, prefix: "at-", seconds: seconds, now: now)
    }

    mutating func issueRefresh(of grant: Grant, now: Int) -> String {
        grants.issue(.refresh, of: grant, prefix: "rt-", seconds: nil, now: now)
    }

    /// Returns the claims of an ID token that do not tell of the user.
    static func claims(from issuer: String, to client: String, nonce: String?, now: Int) -> JSON {
        var claims: JSON = [
            "iss": .string(issuer), "aud": .string(client), "iat": .integer(now), "exp": .integer(now + lifetime),
        ]
        claims["nonce"] = nonce.map { .string($0) }
        return claims
    }
}
