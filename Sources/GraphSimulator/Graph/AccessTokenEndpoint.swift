/// `/oauth/access_token`: which app asks, whether it may, and for what.
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
        // Facebook's own SDKs exchange a code by its verifier alone.
        let isPublicClient = code != nil && request.parameter("code_verifier") != nil
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
