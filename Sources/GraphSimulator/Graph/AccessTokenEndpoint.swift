import Encodings

/// The endpoints `/oauth/access_token` and `/oauth/client_code`.
///
/// A request must contain the app id. It must also contain the app secret, unless a public client exchanges a code.
extension World {
    /// Returns the app that the request's `client_id` names.
    private func requestingApp(_ request: GraphRequest) throws(GraphError) -> App {
        guard let id = request.client.id, !id.isEmpty else {
            throw GraphError(code: 101, message: "Missing client_id parameter.")
        }
        guard let app = apps[id] else {
            let isNumber = id.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains)
            let reason = isNumber ? "Cannot get application info due to a system error." : "Invalid application ID."
            throw GraphError(code: 101, message: "Error validating application. \(reason)")
        }
        return app
    }

    mutating func issueToken(_ request: GraphRequest, now: Int) throws(GraphError) -> JSON {
        let app = try requestingApp(request)
        let code = request.parameter("code")
        // Public clients need no secret. Facebook's own SDKs have the code verifier, and some codes are made for
        // clients.
        let isForClient = code.flatMap { self.code($0) }?.request.isForClient ?? false
        let isPublicClient = code != nil && (isForClient || request.parameter("code_verifier") != nil)
        if request.client.secret != nil || !isPublicClient { try Self.authenticate(app, request) }

        let grant = request.parameter("grant_type") ?? (code == nil ? "" : "authorization_code")
        func isGrant(_ name: String) -> Bool { grant.hasSameBytes(as: name) }
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

    /// Handles `/oauth/client_code`.
    ///
    /// An app's server sends the token of a user and gets an authorization code. The app's client can exchange this
    /// code for a token without the app secret.
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
        var wish = CodeRequest(person: person, app: app.id, redirectURI: redirectURI, scopes: token.scopes)
        wish.isForClient = true
        do {
            return ["code": .string(try self.code(wish, now: now))]
        } catch {
            throw GraphError(code: 190, message: "Error validating access token: \(error)")
        }
    }

    private static func authenticate(_ app: App, _ request: GraphRequest) throws(GraphError) {
        guard let secret = request.client.secret, secret.hasSameBytes(as: app.secret) else { throw .badClientSecret }
        if app.desktop {
            throw GraphError(
                code: 1,
                message: "The request is invalid because the app is configured as a desktop app",
                status: 400
            )
        }
    }
}

/// Exchanges a valid user token for a new one that expires after 60 days (`grant_type=fb_exchange_token`).
extension World {
    private mutating func exchangeToken(_ request: GraphRequest, app: App, now: Int) throws(GraphError) -> JSON {
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

/// Handles `GET /oauth/access_token_info`: returns the type and the expiry of a token.
///
/// Only the app to which the token was issued gets them. If the app sent an `auth_nonce` to the login dialog, the
/// response contains it, too.
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

/// Exchanges a code of the login dialog for a user token (`grant_type=authorization_code`).
extension World {
    private mutating func exchangeCode(_ request: GraphRequest, app: App, now: Int) throws(GraphError) -> JSON {
        guard let text = request.parameter("code"), !text.isEmpty else {
            throw GraphError(code: 100, message: "Missing authorization code")
        }
        guard let redirectURI = request.parameter("redirect_uri") else {
            throw GraphError(code: 191, message: "Missing redirect_uri parameter.")
        }
        guard var code = code(text), code.request.app?.hasSameBytes(as: app.id) ?? false else {
            throw GraphError(code: 100, message: "Invalid verification code format.")
        }
        if code.isUsed {
            throw GraphError(code: 100, subcode: 36009, message: "This authorization code has been used.")
        }
        guard now < code.issuedAt + AuthorizationCode.lifetime else {
            throw GraphError(code: 100, subcode: 36007, message: "This authorization code has expired.")
        }
        guard redirectURI.hasSameBytes(as: code.request.redirectURI) else {
            throw GraphError(
                code: 100,
                subcode: 36008,
                message: "Error validating verification code. Please make sure your redirect_uri is identical to the "
                    + "one you used in the OAuth dialog request"
            )
        }
        // Without a secret, only the code verifier authenticates the client.
        let isBound = code.request.challenge != nil
        guard isBound || code.request.isForClient || request.client.secret != nil else { throw .badClientSecret }
        guard isBound || request.parameter("code_verifier") == nil else {
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
        return try tokens(for: code.request, now: now)
    }

    private mutating func tokens(for code: CodeRequest, now: Int) throws(GraphError) -> JSON {
        var wish = TokenRequest(.long, person: code.person, app: code.app, scopes: code.scopes)
        wish.metadata = code.metadata
        do {
            let token = try mint(wish, now: now)
            var reply = token.grant(now: now)
            if code.scopes?.contains("openid") ?? false {
                let idToken = IDTokenRequest(person: code.person, app: code.app, nonce: code.nonce, scopes: code.scopes)
                reply["id_token"] = .string(try self.idToken(idToken, now: now).signed())
            }
            return reply
        } catch {
            // The user or the app was removed between the dialog and the exchange.
            throw GraphError(code: 190, message: "Error validating access token: \(error)")
        }
    }
}

extension Token {
    /// Returns this token as the response of `/oauth/access_token`.
    ///
    /// For a token that never expires, the response has no `expires_in`.
    fileprivate func grant(now: Int) -> JSON {
        var grant: JSON = ["access_token": .string(text), "token_type": "bearer"]
        if expiresAt != 0 { grant["expires_in"] = .integer(expiresAt - now) }
        return grant
    }
}
