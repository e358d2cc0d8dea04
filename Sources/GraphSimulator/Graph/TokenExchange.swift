/// `grant_type=fb_exchange_token`: a user token that still lives for one of 60 days.
extension World {
    mutating func exchangeToken(_ request: GraphRequest, app: App, now: Int) throws(GraphError) -> JSON {
        guard let text = request.parameter("fb_exchange_token"), !text.isEmpty else {
            throw GraphError(code: 100, message: "(#100) The parameter fb_exchange_token is required")
        }
        guard case .issued(let token, let issuer) = try credential(text), token.kind != .page,
            let person = token.person
        else {
            throw GraphError(code: 190, message: "Invalid OAuth access token.")
        }
        guard issuer.id == app.id else { throw .notIssued(for: app) }
        if let end = end(of: token, now: now) { throw end }
        var wish = TokenRequest(.long, person: person, app: app.id, scopes: token.scopes)
        wish.metadata = token.metadata
        wish.granularScopes = token.granularScopes
        wish.dataAccessExpiresAt = token.dataAccessExpiresAt
        do {
            return try mint(wish, now: now).grant(now: now)
        } catch {
            throw GraphError(code: 190, message: "Error validating access token: \(error)")
        }
    }
}
