/// The paths of discord.com.
extension OpenIDWorld {
    mutating func discord(_ call: OAuth2Call, at endpoint: String) throws(OAuthError) -> GraphReply {
        switch (call.request.method, endpoint) {
        case ("GET", "oauth2/authorize"):
            return try dialog(
                call,
                refusal: [
                    ("error", "access_denied"),
                    ("error_description", "The resource owner or authorization server denied the request"),
                ]
            )
        case ("POST", "api/oauth2/token"): return try discordToken(call)
        case ("POST", "api/oauth2/token/revoke"): return try discordRevocation(call)
        case ("GET", "api/oauth2/@me"):
            guard let token = discordAccess(call) else { return Self.discordError(401) }
            var json: JSON = [
                "application": ["id": .string(token.grant.client), "name": .string(token.grant.client)],
                "scopes": .strings(token.grant.scopes),
            ]
            json["expires"] = token.expiresAt.map { .string(CalendarText.rfc3339($0)) }
            if token.grant.scopes.contains("identify") {
                json["user"] = token.grant.claims(inDialog: call.provider.user)
            }
            return .answer(json)
        case ("GET", "api/users/@me"):
            guard let token = discordAccess(call), token.grant.scopes.contains("identify") else {
                return Self.discordError(401)
            }
            return .answer(token.grant.claims(inDialog: call.provider.user))
        default: return Self.discordError(404)
        }
    }

    private func discordAccess(_ call: OAuth2Call) -> GrantedToken? {
        grants.accessToken(call.request.bearerToken, at: call.provider.server, now: call.now)
    }

    /// Exchanges a code, or refreshes; each refresh replaces the refresh token.
    private mutating func discordToken(_ call: OAuth2Call) throws(OAuthError) -> GraphReply {
        let (provider, request, now) = (call.provider, call.request, call.now)
        let client = try call.authenticatedClient(byBasic: true)
        let grant: Grant
        switch request.parameter("grant_type") {
        case "authorization_code": grant = try grants.redeem(request, by: client, at: provider.server, now: now)
        case "refresh_token":
            grant = try grants.refresh(request, by: client, at: provider.server, rotates: true, now: now)
        default: throw .unsupportedGrant
        }
        var json: JSON = [
            "token_type": "Bearer", "access_token": .string(issueAccess(of: grant, by: provider, now: now)),
            "refresh_token": .string(grants.issue(.refresh, of: grant, prefix: "", seconds: nil, now: now)),
            "scope": .string(grant.scopes.joined(separator: " ")),
        ]
        json["expires_in"] = provider.style.lifetime.map { .integer($0) }
        return .answer(json)
    }

    /// Revokes all tokens of a token's grant, whichever of them the client names.
    private mutating func discordRevocation(_ call: OAuth2Call) throws(OAuthError) -> GraphReply {
        let client = try call.authenticatedClient(byBasic: true)
        guard let text = call.request.parameter("token") else { throw .invalidRequest("token is missing") }
        if let token = grants.token(text, at: call.provider.server), token.grant.client == client {
            grants.revoke { $0.number == token.grant.number }
        }
        return .answer([:])
    }

    private static func discordError(_ status: Int) -> GraphReply {
        .answer(["message": status == 401 ? "401: Unauthorized" : "404: Not Found", "code": 0], status: status)
    }
}
