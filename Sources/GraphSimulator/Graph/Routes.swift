/// The routes of the simulated Graph API.
extension World {
    /// Handles a request as Graph would.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - now: The current time, in Unix seconds.
    ///   - trace: The `fbtrace_id` for an error.
    /// - Returns: The response, which may be an error.
    mutating func answer(_ request: GraphRequest, now: Int, trace: String) -> GraphReply {
        let version = GraphVersion.answering(request.version, now: now)
        var reply: GraphReply
        do throws(GraphError) {
            guard version != nil else {
                throw GraphError.unknownPath((request.version.map { [$0.description] } ?? []) + request.components)
            }
            reply = try route(request, now: now)
        } catch {
            reply = GraphReply(error, trace: trace)
        }
        reply.version = version
        reply.usage = app(concerning: request)?.usage
        return reply
    }

    /// Returns the app to which a request belongs, for the header `X-App-Usage` and for faults.
    ///
    /// The text of the access token decides, even if the token is invalid. Without an access token, the parameter
    /// `client_id` decides.
    func app(concerning request: GraphRequest) -> App? {
        guard let text = request.accessToken else { return request.parameter("client_id").flatMap { apps[$0] } }
        if let bar = text.utf8.firstIndex(of: UInt8(ascii: "|")) { return apps[String(text[..<bar])] }
        return token(text).flatMap { apps[$0.app] }
    }

    private mutating func route(_ request: GraphRequest, now: Int) throws(GraphError) -> GraphReply {
        let components = request.components
        guard let first = components.first else { return try root(request, now: now) }
        // No path of the simulator has a longer segment.
        guard components.allSatisfy({ $0.utf8.count <= 64 }) else { throw .unknownPath(components) }
        switch (first, components.count) {
        case ("oauth", 2) where components[1] == "access_token":
            return GraphReply(try issueToken(request, now: now))
        case ("oauth", 2) where components[1] == "access_token_info" && request.method == "GET":
            return GraphReply(try accessTokenInfo(request, now: now))
        case ("oauth", 2) where components[1] == "client_code":
            return GraphReply(try clientCode(request, now: now))
        case ("dialog", 2) where components[1] == "oauth": return loginDialog(request, now: now)
        case (".well-known", _) where request.method == "GET" && request.version == nil:
            guard let document = openIDDocument(request) else { throw .unknownPath(components) }
            return document
        case ("debug_token", 1) where request.method == "GET": return GraphReply(try debugToken(request, now: now))
        case ("platform", 2) where components[1] == "uninstall" && request.method == "POST":
            return GraphReply(try uninstall(request, now: now))
        case (_, 2...3) where components[1] == "permissions" && request.method == "DELETE":
            return GraphReply(try removePermissions(request, now: now))
        case _ where Self.isNodeID(first): break
        default: throw .unknownPath(components)
        }
        guard request.method == "GET" else { throw .unsupported(request.method.lowercased(), object: first) }
        return try node(first, edge: Array(components.dropFirst()), request: request, now: now)
    }

    /// Handles a request with an empty path: a batch of requests, or a request for several nodes by their ids.
    private mutating func root(_ request: GraphRequest, now: Int) throws(GraphError) -> GraphReply {
        if request.method == "GET", let ids = request.parameter("ids") {
            return try nodes(ids, request: request, now: now)
        }
        guard request.method == "POST" else { throw .unsupported(request.method.lowercased(), object: nil) }
        if let batch = request.parameter("batch") { return try self.batch(batch, of: request, now: now) }
        guard !request.hasUnreadBody else { throw .unreadBody }
        throw .unsupported("post", object: nil)
    }

    /// Verifies the access token of a request, and returns the decoded token.
    ///
    /// - Throws: `missing` if the request has no token or has the app token of a desktop app; another error for an
    ///   invalid token and for a wrong `appsecret_proof`.
    func authorize(_ request: GraphRequest, now: Int, missing: GraphError) throws(GraphError) -> Credential {
        guard let text = request.accessToken, !text.isEmpty else { throw missing }
        let credential = try credential(text)
        switch credential {
        case .app(let app):
            if app.desktop { throw missing }
            try AppSecretProof.check(request, token: text, app: app, now: now)
        case .issued(let token, let app):
            if let end = end(of: token, now: now) { throw end }
            try AppSecretProof.check(request, token: text, app: app, now: now)
        }
        return credential
    }
}

/// `/.well-known/…`: the key set for ID tokens, and the discovery document with the URL of the key set.
extension World {
    /// Returns the document at a path below `.well-known`, if there is one.
    private func openIDDocument(_ request: GraphRequest) -> GraphReply? {
        let document: JSON
        switch request.components.dropFirst().joined(separator: "/") {
        case "oauth/openid/jwks": document = keys.jwks
        case "openid-configuration": document = Self.discovery(origin: request.origin)
        default: return nil
        }
        // Facebook's addresses end with a slash. Facebook redirects requests that lack it.
        guard request.writtenPath.utf8.last == UInt8(ascii: "/") else {
            return GraphReply(status: 301, headers: [("Location", "/\(request.path)/")], origin: .website)
        }
        return GraphReply(document, origin: .website)
    }

    /// Returns the discovery document of OpenID Connect.
    ///
    /// Its URLs lead to the simulator. Its issuer is Facebook, as in the ID tokens.
    private static func discovery(origin: String) -> JSON {
        [
            "issuer": "https://www.facebook.com",
            "authorization_endpoint": "\(origin)/dialog/oauth/",
            "jwks_uri": "\(origin)/.well-known/oauth/openid/jwks/",
            "response_types_supported": ["id_token", "token id_token"],
            "subject_types_supported": ["pairwise"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "claims_supported": [
                "iss", "aud", "sub", "iat", "exp", "jti", "nonce", "email", "given_name", "middle_name", "family_name",
                "name", "picture", "user_friends", "user_birthday", "user_age_range", "user_gender", "user_hometown",
                "user_location", "user_link",
            ],
        ]
    }
}
