/// The paths of www.linkedin.com and api.linkedin.com.
extension OpenIDWorld {
    mutating func linkedIn(_ call: OAuth2Call, at endpoint: String) throws(OAuthError) -> GraphReply {
        switch (call.request.method, endpoint) {
        case ("GET", "oauth/v2/authorization"):
            return try dialog(
                call,
                refusal: [
                    ("error", "user_cancelled_authorize"),
                    ("error_description", "The user cancelled the authorization"),
                ]
            )
        case ("POST", "oauth/v2/accessToken"): return try linkedInToken(call)
        case ("POST", "oauth/v2/introspectToken"): return try linkedInIntrospection(call)
        case ("POST", "oauth/v2/revoke"):
            let client = try call.authenticatedClient(byBasic: false)
            if let token = linkedInNamedToken(call), token.grant.client == client { grants.revoke(token) }
            return .answer([:])
        case ("GET", "v2/userinfo"):
            let token = grants.accessToken(call.request.bearerToken, at: call.provider.server, now: call.now)
            guard let token else {
                return .answer(
                    [
                        "status": 401, "serviceErrorCode": 65600, "code": "INVALID_ACCESS_TOKEN",
                        "message": "Invalid access token",
                    ],
                    status: 401
                )
            }
            return .answer(token.grant.claims(inDialog: call.provider.user))
        default: throw .noEndpoint
        }
    }

    private func linkedInNamedToken(_ call: OAuth2Call) -> GrantedToken? {
        grants.token(call.request.parameter("token"), at: call.provider.server)
    }

    private mutating func linkedInToken(_ call: OAuth2Call) throws(OAuthError) -> GraphReply {
        let provider = call.provider
        let client = try call.authenticatedClient(byBasic: false)
        guard call.request.parameter("grant_type") == "authorization_code" else { throw .unsupportedGrant }
        let grant = try grants.redeem(call.request, by: client, at: provider.server, now: call.now)
        var json: JSON = ["access_token": .string(issueAccess(of: grant, by: provider, now: call.now))]
        json["expires_in"] = provider.style.lifetime.map { .integer($0) }
        json["scope"] = .string(grant.scopes.joined(separator: ","))
        json["token_type"] = "Bearer"
        return .answer(json)
    }

    /// Returns the state of a token of any client of the provider.
    private func linkedInIntrospection(_ call: OAuth2Call) throws(OAuthError) -> GraphReply {
        _ = try call.authenticatedClient(byBasic: false)
        guard let token = linkedInNamedToken(call) else { return .answer(["active": false]) }
        let state = token.state(at: call.now)
        var json: JSON = [
            "active": .bool(state == .active), "client_id": .string(token.grant.client),
            "authorized_at": .integer(token.issuedAt), "created_at": .integer(token.issuedAt),
            "status": .string(state.rawValue),
        ]
        json["expires_at"] = token.expiresAt.map { .integer($0) }
        json["scope"] = .string(token.grant.scopes.joined(separator: ","))
        json["auth_type"] = "3L"
        return .answer(json)
    }
}
