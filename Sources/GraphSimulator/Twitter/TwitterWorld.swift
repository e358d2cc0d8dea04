import Crypto
import Encodings

/// The simulated Twitter: its apps, users and tokens, and the endpoints of `api.twitter.com`.
struct TwitterWorld: Sendable {
    var consumers: [TwitterConsumer]
    var people: [TwitterPerson]
    var tokens: [TwitterToken] = []
    /// The nonces of all requests whose OAuth 1.0a signature was valid.
    ///
    /// A further request with the same app, token, timestamp and nonce is refused.
    var seen: Set<UsedNonce> = []

    /// The values that must be unique for each signed request (RFC 5849 §3.3).
    struct UsedNonce: Hashable, Sendable {
        let consumer: String
        let token: String
        let timestamp: Int
        let nonce: String
    }

    init(_ dataset: TwitterDataset) throws(DataError) {
        consumers = try Array(dataset.consumers, path: "twitter.consumers")
        people = try Array(dataset.people, path: "twitter.people")
        for (index, request) in dataset.tokens.enumerated() {
            do {
                _ = try mint(request)
            } catch {
                throw DataError(path: "twitter.tokens[\(index)].\(error.path)", reason: error.reason)
            }
        }
    }

    func token(_ text: String) -> TwitterToken? {
        tokens.first { $0.text.hasSameBytes(as: text) }
    }

    /// Returns the token with the given name or, if no token has this name, the token with this text.
    func token(namedOrTexted key: String) -> TwitterToken? {
        tokens.first { $0.name?.hasSameBytes(as: key) ?? false } ?? token(key)
    }

    mutating func put(_ token: TwitterToken) {
        tokens.removeAll { $0.text == token.text }
        tokens.append(token)
    }

    mutating func mint(_ request: TwitterTokenRequest) throws(DataError) -> TwitterToken {
        guard let consumer = request.consumer.map({ consumers[$0] }) ?? consumers.first else {
            throw DataError(path: "consumer", reason: request.consumer.map { "no consumer \($0)" } ?? "there is none")
        }
        guard let person = request.person.map({ people[$0] }) ?? people.first else {
            throw DataError(path: "person", reason: request.person.map { "no person \"\($0)\"" } ?? "there is none")
        }
        if let name = request.name, tokens.contains(where: { $0.name == name }) {
            throw DataError(path: "name", reason: "\"\(name)\" is taken")
        }
        let seed = request.name.map { "\($0)\n\(consumer.key)" }
        let token = TwitterToken(
            name: request.name,
            text: person.id + "-" + Self.text(seed, "token"),
            secret: Self.text(seed, "secret"),
            consumer: consumer.key,
            person: person.key,
            revoked: request.revoked
        )
        put(token)
        return token
    }

    /// Returns 40 hexadecimal digits, for use as a token, a secret, a nonce or a signature.
    ///
    /// The digits depend only on the seed and the purpose. If the seed is `nil`, they are random.
    private static func text(_ seed: String?, _ purpose: String) -> String {
        guard let seed else {
            return Hexadecimal.encode((0..<20).map { _ in UInt8.random(in: .min ... .max) })
        }
        return Hexadecimal.encode(SHA256.hash(data: Array("twitter \(purpose)\n\(seed)".utf8)).prefix(20))
    }

    // MARK: Requests

    /// Returns Twitter's response to a request; `nil` if the path is not one of Twitter's.
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
        path.utf8.starts(with: "1.1/".utf8) || path.hasSameBytes(as: "oauth/request_token")
    }

    private mutating func verifyCredentials(_ request: GraphRequest, now: Int) throws(TwitterError) -> GraphReply {
        let (consumer, token, _) = try check(request, now: now)
        guard consumer.access else { throw .accessLevel }
        guard let token else { throw .badAuthentication }
        guard let person = people[token.person] else { throw .invalidToken }
        switch person.state {
        case .active: break
        case .suspended: throw .accountSuspended
        case .locked: throw .accountLocked
        }
        let user = person.user(
            email: consumer.email && request.parameter("include_email") == "true",
            status: request.parameter("skip_status") != "true",
            entities: request.parameter("include_entities") != "false"
        )
        return GraphReply(user, origin: .twitter)
    }

    /// Handles `oauth/request_token`: the first step of OAuth 1.0a or, with `x_auth_mode`, of reverse auth.
    private mutating func requestToken(_ request: GraphRequest, now: Int) throws(TwitterError) -> GraphReply {
        let (consumer, _, header) = try check(request, now: now)
        let token = Self.text(nil, "request token")
        let text: String
        if request.parameter("x_auth_mode") == "reverse_auth" {
            let members = [
                ("oauth_nonce", Self.text(nil, "nonce")), ("oauth_signature_method", "HMAC-SHA1"),
                ("oauth_timestamp", String(now)), ("oauth_consumer_key", consumer.key), ("oauth_token", token),
                ("oauth_signature", Self.text(nil, "signature")), ("oauth_version", "1.0"),
            ]
            text = "OAuth " + members.map { "\($0)=\"\(PercentEncoding.encode($1))\"" }.joined(separator: ", ")
        } else {
            guard let callback = header["oauth_callback"] ?? request.parameter("oauth_callback") else {
                throw .badAuthentication
            }
            guard consumer.callbacks.isEmpty || consumer.callbacks.contains(callback) else {
                throw .callbackNotApproved
            }
            let secret = Self.text(nil, "request secret")
            text = "oauth_token=\(token)&oauth_token_secret=\(secret)&oauth_callback_confirmed=true"
        }
        return GraphReply(
            status: 200,
            headers: [("Content-Type", "text/html;charset=utf-8")],
            bytes: Array(text.utf8),
            origin: .twitter
        )
    }
}
