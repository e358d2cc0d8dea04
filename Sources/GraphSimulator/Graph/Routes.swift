/// The public port's table of paths.
extension World {
    /// Answers one request as Graph would.
    /// - Parameters:
    ///   - request: The request.
    ///   - now: The second at which to answer it.
    ///   - trace: The `fbtrace_id`, should it be an error.
    /// - Returns: The reply, error or not.
    mutating func answer(_ request: GraphRequest, now: Int, trace: String) -> GraphReply {
        twitter.answer(request, now: now) ?? graphReply(to: request, now: now, trace: trace)
    }

    /// As ``answer(_:now:trace:)``, by Facebook.
    mutating func graphReply(to request: GraphRequest, now: Int, trace: String) -> GraphReply {
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

    /// The app on whose account a request goes, judged by its token's text alone.
    func app(concerning request: GraphRequest) -> App? {
        guard let text = request.accessToken else { return request.parameter("client_id").flatMap(app) }
        if let bar = text.utf8.firstIndex(of: UInt8(ascii: "|")) { return app(String(text[..<bar])) }
        return token(text).flatMap { app($0.app) }
    }

    private mutating func route(_ request: GraphRequest, now: Int) throws(GraphError) -> GraphReply {
        let components = request.components
        guard let first = components.first else { return try root(request, now: now) }
        // Longer than any name below: not worth comparing.
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

    /// No path at all: a batch, or nodes by their ids.
    private mutating func root(_ request: GraphRequest, now: Int) throws(GraphError) -> GraphReply {
        if request.method == "GET", let ids = request.parameter("ids") {
            return try nodes(ids, request: request, now: now)
        }
        guard request.method == "POST" else { throw .unsupported(request.method.lowercased(), object: nil) }
        if let batch = request.parameter("batch") { return try self.batch(batch, of: request, now: now) }
        guard !request.hasUnreadBody else { throw .unreadBody }
        throw .unsupported("post", object: nil)
    }

    /// Decodes the request's token, checks that its session lives and that the proof is right.
    ///
    /// The token of a desktop app is as good as none.
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
