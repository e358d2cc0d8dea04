import Encodings
import NIOHTTP1

/// The paths of github.com and api.github.com.
extension OpenIDWorld {
    mutating func github(_ call: OAuth2Call, at endpoint: String) throws(OAuthError) -> GraphReply {
        let parts = endpoint.split(separator: "/").map(String.init)
        switch (call.request.method, endpoint) {
        case ("GET", "login/oauth/authorize"):
            return try dialog(
                call,
                responseType: nil,
                refusal: [
                    ("error", "access_denied"),
                    ("error_description", "The user has denied your application access."),
                ]
            )
        case ("POST", "login/oauth/access_token"): return githubToken(call)
        case ("GET", "user"):
            guard let token = grants.accessToken(call.request.bearerToken, at: call.provider.server, now: call.now)
            else { return Self.githubError(401, "Bad credentials") }
            var reply = GraphReply.answer(token.grant.claims(inDialog: call.provider.user))
            reply.headers = [
                ("X-OAuth-Scopes", token.grant.scopes.joined(separator: ", ")),
                ("X-OAuth-Client-Id", token.grant.client),
            ]
            return reply
        case (let method, _) where parts.count == 3 && parts[0] == "applications":
            return try githubApplication(call, method: method, client: parts[1], endpoint: parts[2])
        default: return Self.githubError(404, "Not Found")
        }
    }

    /// Exchanges a code.
    ///
    /// Errors have status 200, too. Only clients that accept JSON get JSON.
    private mutating func githubToken(_ call: OAuth2Call) -> GraphReply {
        let provider = call.provider
        var answer: [(name: String, value: String)]
        if let client = call.client(byForm: true, byBasic: false) {
            do throws(OAuthError) {
                let grant = try grants.redeem(call.request, by: client, at: provider.server, now: call.now)
                answer = [
                    ("access_token", issueAccess(of: grant, by: provider, now: call.now)),
                    ("scope", grant.scopes.joined(separator: ",")), ("token_type", "bearer"),
                ]
            } catch {
                answer = [
                    ("error", "bad_verification_code"),
                    ("error_description", "The code passed is incorrect or expired."),
                ]
            }
        } else {
            answer = [
                ("error", "incorrect_client_credentials"),
                ("error_description", "The client_id and/or client_secret passed are incorrect."),
            ]
        }
        let accepted = call.request.head.headers[canonicalForm: "accept"]
        guard accepted.contains(where: { $0.hasPrefix("application/json") }) else {
            return GraphReply(
                status: 200,
                headers: [("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")],
                bytes: Array(FormEncoding.encode(answer).utf8),
                origin: .website
            )
        }
        return .answer(.object(answer.map { ($0.name, .string($0.value)) }))
    }

    /// Checks or ends a token of a client, or ends all tokens of its user.
    private mutating func githubApplication(
        _ call: OAuth2Call,
        method: String,
        client: String,
        endpoint: String
    ) throws(OAuthError) -> GraphReply {
        guard call.client(byForm: false, byBasic: true)?.hasSameBytes(as: client) ?? false else {
            return Self.githubError(401, "Bad credentials")
        }
        guard
            let text = (try? JSON(parsing: Array(call.request.body.map { Array($0) } ?? [])))?["access_token"]?.string,
            let token = grants.accessToken(text, at: call.provider.server, now: call.now),
            token.grant.client == client
        else { return Self.githubError(404, "Not Found") }
        switch (method, endpoint) {
        case ("POST", "token"): return .answer(Self.githubDescription(of: token, call))
        case ("DELETE", "token"): grants.revoke(token)
        case ("DELETE", "grant"):
            grants.revoke {
                $0.server == token.grant.server && $0.client == client && $0.subject == token.grant.subject
            }
        default: return Self.githubError(404, "Not Found")
        }
        return GraphReply(status: 204, headers: [], origin: .website)
    }

    private static func githubDescription(of token: GrantedToken, _ call: OAuth2Call) -> JSON {
        [
            "id": .integer(token.position + 1),
            "app": [
                "name": .string(token.grant.client), "url": "https://app.example.com",
                "client_id": .string(token.grant.client),
            ],
            "token": .string(token.text), "token_last_eight": .string(String(token.text.suffix(8))), "note": nil,
            "note_url": nil, "created_at": .string(CalendarText.rfc3339(token.issuedAt)),
            "updated_at": .string(CalendarText.rfc3339(token.issuedAt)), "scopes": .strings(token.grant.scopes),
            "fingerprint": nil, "expires_at": token.expiresAt.map { .string(CalendarText.rfc3339($0)) } ?? nil,
            "user": token.grant.claims(inDialog: call.provider.user),
        ]
    }

    private static func githubError(_ status: Int, _ message: String) -> GraphReply {
        .answer(
            [
                "message": .string(message), "documentation_url": "https://docs.github.com/rest",
                "status": .string(String(status)),
            ],
            status: status
        )
    }
}
