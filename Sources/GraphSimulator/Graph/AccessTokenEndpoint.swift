/// `/oauth/access_token` and `/oauth/client_code`: which app asks, whether it may, and for what.
extension World {
    /// The app that a request names as the one that asks.
    func requestingApp(_ request: GraphRequest) throws(GraphError) -> App {
        guard let id = request.client.id, !id.isEmpty else {
            throw GraphError(code: 101, message: "Missing client_id parameter.")
        }
        guard let app = app(id) else {
            let isNumber = id.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains)
            let reason = isNumber ? "Cannot get application info due to a system error." : "Invalid application ID."
            throw GraphError(code: 101, message: "Error validating application. \(reason)")
        }
        return app
    }

    mutating func issueToken(_ request: GraphRequest, now: Int) throws(GraphError) -> JSON {
        let app = try requestingApp(request)
        let code = request.parameter("code")
        // No secret is asked of Facebook's own SDKs, which have the verifier, and of a client that the code was made
        // for.
        let isPublicClient =
            code.map { request.parameter("code_verifier") != nil || self.code($0)?.isForClient ?? false } ?? false
        if request.client.secret != nil || !isPublicClient { try Self.authenticate(app, request) }

        let grant = request.parameter("grant_type") ?? (code == nil ? "" : "authorization_code")
        func isGrant(_ name: String) -> Bool { grant.utf8.elementsEqual(name.utf8) }
        if isGrant("authorization_code") { return try exchangeCode(request, app: app, now: now) }
        if isGrant("fb_exchange_token") { return try exchangeToken(request, app: app, now: now) }
        if isGrant("client_credentials") {
            return ["access_token": .string(TokenText.app(app)), "token_type": "bearer"]
        }
        throw GraphError(
            code: 100,
            message: "Invalid grant_type: '\(grant)'. Supported types: authorization_code, client_credentials"
        )
    }

    /// `/oauth/client_code`: gives a server, for a person's token, a code that a client exchanges without a secret.
    mutating func clientCode(_ request: GraphRequest, now: Int) throws(GraphError) -> JSON {
        let app = try requestingApp(request)
        try Self.authenticate(app, request)
        guard let redirectURI = request.parameter("redirect_uri") else {
            throw GraphError(code: 191, message: "Missing redirect_uri parameter.")
        }
        guard case .issued(let token, let issuer) = try authorize(request, now: now, missing: .tokenRequired),
            token.kind != .page, let person = token.person
        else {
            throw GraphError(code: 190, message: "Invalid OAuth access token.")
        }
        guard issuer.id == app.id else { throw .notIssued(for: app) }
        let wish = CodeRequest(person: person, app: app.id, redirectURI: redirectURI, scopes: token.scopes)
        do {
            return ["code": .string(try self.code(wish, isForClient: true, now: now))]
        } catch {
            throw GraphError(code: 190, message: "Error validating access token: \(error)")
        }
    }

    private static func authenticate(_ app: App, _ request: GraphRequest) throws(GraphError) {
        guard let secret = request.client.secret, secret.utf8.elementsEqual(app.secret.utf8) else {
            throw .badClientSecret
        }
        if app.desktop {
            throw GraphError(
                code: 1,
                message: "The request is invalid because the app is configured as a desktop app",
                status: 400
            )
        }
    }
}

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
