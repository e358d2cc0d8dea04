/// `GET /debug_token`: says whether a token is valid, and what it allows.
extension World {
    func debugToken(_ request: GraphRequest, now: Int) throws(GraphError) -> JSON {
        let viewer: App
        switch try authorize(request, now: now, missing: .appTokenRequired) {
        case .app(let app): viewer = app
        case .issued(let token, let app):
            guard token.kind != .page, let person = token.person, app.developers.contains(person) else {
                throw .appTokenRequired
            }
            viewer = app
        }
        guard let input = request.parameter("input_token"), !input.isEmpty else { throw .inputTokenRequired }

        let examined: Credential
        do {
            examined = try credential(input)
        } catch {
            if error == .debugOnlyToken { throw error }
            return ["data": ["error": Self.debugError(error), "is_valid": false, "scopes": []]]
        }
        switch examined {
        case .app(let app):
            guard app.id == viewer.id else { throw .otherAppsToken }
            return [
                "data": [
                    "app_id": .string(app.id), "type": "APP", "application": .string(app.name), "is_valid": true,
                    "scopes": [],
                ]
            ]
        case .issued(let token, let app):
            guard app.id == viewer.id else { throw .otherAppsToken }
            return ["data": report(on: token, of: app, now: now)]
        }
    }

    /// Returns what `debug_token` reports about a token: the object `data` of the response.
    ///
    /// The members have the order of responses that were captured from Facebook.
    private func report(on token: Token, of app: App, now: Int) -> JSON {
        let end = end(of: token, now: now)
        let user = token.person.flatMap { people[$0] }.map { UserNode(world: self, person: $0, token: token, now: now) }
        var report: JSON = [
            "app_id": .string(app.id), "type": .string(token.kind.graphType), "application": .string(app.name),
        ]
        report["data_access_expires_at"] = .integer(token.dataAccessExpiresAt)
        report["error"] = end.map(Self.debugError)
        // After a change of the password, Facebook no longer says when the session expires and when the token was
        // issued.
        let isForgotten = token.kind == .passwordChanged
        report["expires_at"] = .integer(isForgotten ? 0 : token.expiresAt)
        report["is_valid"] = .bool(end == nil)
        report["issued_at"] = token.isLongLived && !isForgotten ? .integer(token.issuedAt) : nil
        report["metadata"] = token.metadata
        report["profile_id"] = token.profileID.map { .string($0) }
        let scopes = token.kind.losesScopes ? [] : user?.scopes ?? []
        report["scopes"] = .array(scopes.map { .string($0) })
        report["granular_scopes"] = token.granularScopes
        report["user_id"] = user.map { .string($0.id) }
        return report
    }

    /// Returns an error in the form that `debug_token` uses inside `data`.
    ///
    /// In this form, the subcode is called `subcode`, not `error_subcode`, and the code is the first member.
    private static func debugError(_ error: GraphError) -> JSON {
        var json: JSON = ["code": .integer(error.code), "message": .string(error.message)]
        json["subcode"] = error.subcode.map { .integer($0) }
        return json
    }
}

extension TokenKind {
    /// The value of the member `type` with which `debug_token` reports a token of this kind.
    fileprivate var graphType: String {
        switch self {
        case .page: "PAGE"
        case .app: "APP"
        case .systemUser: "SYSTEM_USER"
        default: "USER"
        }
    }

    /// Whether `debug_token` reports an empty list of permissions for tokens of this kind.
    ///
    /// Facebook does so for a token of a user who removed the app, and for a token that an API call invalidated.
    fileprivate var losesScopes: Bool {
        self == .appRemoved || self == .invalidated
    }
}

extension Token {
    /// Whether `debug_token` treats the token as a long-lived one.
    ///
    /// For other tokens, the response does not contain the time when they were issued.
    fileprivate var isLongLived: Bool {
        kind != .short && kind != .page
    }
}
