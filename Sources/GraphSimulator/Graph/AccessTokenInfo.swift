/// `GET /oauth/access_token_info`: what the app may know of a token of its own, with the nonce of a re-authentication.
extension World {
    func accessTokenInfo(_ request: GraphRequest, now: Int) throws(GraphError) -> JSON {
        let app = try requestingApp(request)
        guard case .issued(let token, let issuer) = try authorize(request, now: now, missing: .tokenRequired) else {
            throw GraphError(code: 190)
        }
        guard issuer.id == app.id else { throw .notIssued(for: app) }
        var info = token.grant(now: now)
        info["auth_nonce"] = token.metadata?["auth_nonce"]
        return info
    }
}
