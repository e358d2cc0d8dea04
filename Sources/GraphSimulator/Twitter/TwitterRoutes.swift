/// The public port's paths of `api.twitter.com`.
extension TwitterWorld {
    /// Answers a request to one of Twitter's paths; nil for all others.
    mutating func answer(_ request: GraphRequest, now: Int) -> GraphReply? {
        let path = request.path
        guard Self.isTwitters(path) else { return nil }
        do throws(TwitterError) {
            switch (request.method, path) {
            case ("GET", "1.1/account/verify_credentials.json"): return try verifyCredentials(request, now: now)
            case ("POST", "oauth/request_token"): return try requestToken(request, now: now)
            default: throw .pageMissing
            }
        } catch {
            return error.reply()
        }
    }

    static func isTwitters(_ path: String) -> Bool {
        path.utf8.starts(with: "1.1/".utf8) || path.utf8.elementsEqual("oauth/request_token".utf8)
    }

    private mutating func verifyCredentials(_ request: GraphRequest, now: Int) throws(TwitterError) -> GraphReply {
        let check = try check(request, now: now)
        guard check.consumer.access else { throw .accessLevel }
        guard let token = check.token else { throw .badAuthentication }
        guard let person = person(token.person) else { throw .invalidToken }
        switch person.state {
        case .active: break
        case .suspended: throw .accountSuspended
        case .locked: throw .accountLocked
        }
        var reply = GraphReply(
            person.user(
                email: check.consumer.email && request.parameter("include_email") == "true",
                status: request.parameter("skip_status") != "true",
                entities: request.parameter("include_entities") != "false"
            )
        )
        reply.isTwitter = true
        return reply
    }

    /// The first leg of OAuth 1.0a or, with `x_auth_mode`, of reverse auth.
    private mutating func requestToken(_ request: GraphRequest, now: Int) throws(TwitterError) -> GraphReply {
        let check = try check(request, now: now)
        let token = Self.text(nil, "request token")
        let text: String
        if request.parameter("x_auth_mode") == "reverse_auth" {
            let members = [
                ("oauth_nonce", Self.text(nil, "nonce")), ("oauth_signature_method", "HMAC-SHA1"),
                ("oauth_timestamp", String(now)), ("oauth_consumer_key", check.consumer.key), ("oauth_token", token),
                ("oauth_signature", Self.text(nil, "signature")), ("oauth_version", "1.0"),
            ]
            text = "OAuth " + members.map { "\($0)=\"\(OAuthEncoding.encode($1))\"" }.joined(separator: ", ")
        } else {
            guard let callback = check.header["oauth_callback"] ?? request.parameter("oauth_callback") else {
                throw .badAuthentication
            }
            guard check.consumer.callbacks.isEmpty || check.consumer.callbacks.contains(callback) else {
                throw .callbackNotApproved
            }
            let secret = Self.text(nil, "request secret")
            text = "oauth_token=\(token)&oauth_token_secret=\(secret)&oauth_callback_confirmed=true"
        }
        var reply = GraphReply(
            status: 200,
            headers: [("Content-Type", "text/html;charset=utf-8")],
            bytes: Array(text.utf8)
        )
        reply.isTwitter = true
        return reply
    }
}
