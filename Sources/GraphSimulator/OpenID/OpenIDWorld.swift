/// The simulated issuers of OpenID Connect, and the OAuth 2.0 providers without ID tokens.
struct OpenIDWorld: Sendable {
    var issuers: [OpenIDIssuer] = []
    var providers: [OAuth2Provider] = []
    /// The codes and tokens of issuers and providers.
    var grants = Grants()
    var keys = IssuerKeys()

    /// Returns the response to a request; `nil` if the path is not one of an issuer or a provider.
    mutating func answer(_ request: GraphRequest, rsa: KeyRing, now: Int) -> GraphReply? {
        let parts = request.components
        guard parts.count >= 3, request.version == nil else { return nil }
        let endpoint = parts.dropFirst(2).joined(separator: "/")
        do throws(OAuthError) {
            switch parts[0] {
            case "oidc":
                guard let issuer = issuers[parts[1]] else { throw OAuthError("no such issuer", status: 404) }
                return try answer(IssuerCall(request: request, issuer: issuer, now: now), at: endpoint, rsa: rsa)
            case "oauth2":
                guard let provider = providers[parts[1]] else { throw OAuthError("no such provider", status: 404) }
                return try answer(OAuth2Call(request: request, provider: provider, now: now), at: endpoint)
            default: return nil
            }
        } catch {
            return error.reply
        }
    }

    private mutating func answer(
        _ call: IssuerCall,
        at endpoint: String,
        rsa: KeyRing
    ) throws(OAuthError) -> GraphReply {
        switch (call.request.method, endpoint) {
        case ("GET", ".well-known/openid-configuration"): return .answer(call.discovery)
        case ("GET", "keys"): return .answer(keys.published(by: call.issuer, rsa: rsa))
        case ("GET", "authorize"), ("POST", "authorize"): return try authorize(call)
        case ("POST", "token"): return try token(call, key: keys.signing(for: call.issuer, rsa: rsa))
        case ("GET", "userinfo"), ("POST", "userinfo"): return try userinfo(call)
        case ("POST", "introspect"): return try introspect(call)
        case ("POST", "revoke"): return try revoke(call)
        case ("GET", "tokeninfo"): return tokeninfo(call)
        case ("GET", "logout"), ("POST", "logout"): return logout(call)
        default: throw .noEndpoint
        }
    }

    /// Returns the client that a request to an issuer or a provider names, itself or by a token; `nil` if it names
    /// none.
    func client(concerning request: GraphRequest) -> String? {
        guard ["oidc", "oauth2"].contains(request.components.first), request.components.count > 1 else { return nil }
        let server = request.components.prefix(2).joined(separator: "/")
        return request.client.id ?? grants.token(request.accessToken, at: server)?.grant.client
    }
}
