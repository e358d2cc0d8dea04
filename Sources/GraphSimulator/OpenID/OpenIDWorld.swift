import Crypto
import CryptoExtras
import Encodings
import FoundationEssentials

extension GraphSimulator {
    /// A simulated issuer of OpenID Connect, at `/oidc/NAME`.
    public struct OpenIDIssuer: Sendable, Equatable {
        /// The name, which is a segment of the issuer's URL.
        public var name: String
        /// The clients, with their secrets.
        public var clients: [String: String]
        /// The claims of the user who logs in next by the dialog, as JSON; `sub` identifies the user.
        public var user: String = #"{"sub": "1"}"#
        /// Whether the user refuses the dialog.
        public var refuses = false
        /// The issuer that the discovery document names; `nil` for its own.
        public var claimedIssuer: String?
        /// The algorithm by which the issuer signs.
        public var algorithm = OpenIDAlgorithm.rs256

        /// Makes an issuer.
        public init(name: String, clients: [String: String] = [:]) {
            self.name = name
            self.clients = clients
        }
    }

    /// An algorithm by which a simulated issuer signs ID tokens.
    public enum OpenIDAlgorithm: String, Sendable, CaseIterable {
        case rs256 = "RS256"
        case es256 = "ES256"
        case edDSA = "EdDSA"
    }
}

typealias OpenIDIssuer = GraphSimulator.OpenIDIssuer

extension OpenIDIssuer: Keyed {
    static var keyName: String { "name" }

    var key: String {
        get { name }
        set { name = newValue }
    }

    init(json: JSON, path: String, key: String?) throws(DataError) {
        var reader = try JSONReader(json, path: path)
        self.init(name: try reader.key("name", address: key))
        for member in try reader.members("clients") ?? [] {
            guard let secret = member.value.string else { throw reader.failure("clients", "expected secrets") }
            clients[member.name] = secret
        }
        if let claims = reader.value("user") { user = claims.plainText }
        refuses = try reader.bool("refuses") ?? false
        claimedIssuer = try reader.string("claimedIssuer")
        algorithm = try reader.word("algorithm") ?? .rs256
        try reader.finish()
    }

    var json: JSON {
        var json: JSON = [
            "name": .string(name), "algorithm": .string(algorithm.rawValue),
            "clients": .object(clients.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) }),
            "user": (try? JSON(parsing: Array(user.utf8))) ?? .null, "refuses": .bool(refuses),
        ]
        json["claimedIssuer"] = claimedIssuer.map { .string($0) }
        return json
    }
}

/// The simulated issuers of OpenID Connect.
struct OpenIDWorld: Sendable {
    var issuers: [OpenIDIssuer] = []
    private var codes: [String: Code] = [:]
    private let keys = OpenIDKeys()

    /// An authorization code, and the dialog that it ended.
    private struct Code: Sendable {
        let issuer: String
        let client: String
        let redirectURI: String
        let challenge: String?
        let nonce: String?
        let user: String
        var isUsed = false
    }

    /// Returns the issuer's response to a request; `nil` if the path is not one of an issuer.
    mutating func answer(_ request: GraphRequest, rsa: KeyRing, now: Int) -> GraphReply? {
        let parts = request.components
        guard parts.count >= 3, parts[0] == "oidc", request.version == nil else { return nil }
        guard let issuer = issuers[parts[1]] else { return Self.reply(404, ["error": "no such issuer"]) }
        let url = "\(request.origin)/oidc/\(issuer.name)"
        switch (request.method, parts.dropFirst(2).joined(separator: "/")) {
        case ("GET", ".well-known/openid-configuration"):
            return Self.reply(
                200,
                [
                    "issuer": .string(issuer.claimedIssuer ?? url),
                    "authorization_endpoint": .string("\(url)/authorize"),
                    "token_endpoint": .string("\(url)/token"), "jwks_uri": .string("\(url)/keys"),
                    "response_types_supported": ["code"], "subject_types_supported": ["public"],
                    "id_token_signing_alg_values_supported": [.string(issuer.algorithm.rawValue)],
                    "authorization_response_iss_parameter_supported": true,
                ]
            )
        case ("GET", "keys"): return Self.reply(200, keys.set(of: issuer, rsa: rsa))
        case ("GET", "authorize"): return authorize(request, at: issuer, url: url)
        case ("POST", "token"): return token(request, at: issuer, url: url, rsa: rsa, now: now)
        default: return Self.reply(404, ["error": "no such endpoint"])
        }
    }

    /// Makes an ID token of an issuer.
    ///
    /// The request is `{"issuer", "origin", "client", "claims", "nonce"?, "kid"?, "header"?}`. The claims replace those of
    /// the token; a claim that is `null` is left out.
    func token(_ json: JSON, rsa: KeyRing, now: Int) throws(DataError) -> String {
        var reader = try JSONReader(json)
        let name = try reader.requiredString("issuer")
        guard let issuer = issuers[name] else { throw reader.failure("issuer", "there is no issuer \(name)") }
        let url = "\(try reader.requiredString("origin"))/oidc/\(name)"
        let client = try reader.string("client") ?? issuer.clients.keys.sorted().first ?? ""
        var claims = Self.claims(of: url, client: client, nonce: try reader.string("nonce"), now: now)
        for member in try reader.members("claims") ?? [] {
            claims[member.name] = member.value == .null ? nil : member.value
        }
        let header = reader.value("header") ?? [:]
        try reader.finish()
        return try keys.sign(claims, header: header, of: issuer, rsa: rsa)
    }

    private static func claims(of url: String, client: String, nonce: String?, now: Int) -> JSON {
        var claims: JSON = [
            "iss": .string(url), "aud": .string(client), "iat": .integer(now), "exp": .integer(now + 600),
        ]
        claims["nonce"] = nonce.map { .string($0) }
        return claims
    }

    private mutating func authorize(_ request: GraphRequest, at issuer: OpenIDIssuer, url: String) -> GraphReply {
        guard let client = request.parameter("client_id"), issuer.clients[client] != nil,
            let redirectURI = request.parameter("redirect_uri"), request.parameter("response_type") == "code",
            request.parameter("scope")?.split(separator: " ").contains("openid") == true
        else { return Self.reply(400, ["error": "invalid_request"]) }
        var answer = [("state", request.parameter("state") ?? ""), ("iss", issuer.claimedIssuer ?? url)]
        if issuer.refuses {
            answer.append(("error", "access_denied"))
        } else {
            let code = Hexadecimal.encode((0..<20).map { _ in UInt8.random(in: .min ... .max) })
            codes[code] = Code(
                issuer: issuer.name,
                client: client,
                redirectURI: redirectURI,
                challenge: request.parameter("code_challenge"),
                nonce: request.parameter("nonce"),
                user: issuer.user
            )
            answer.append(("code", code))
        }
        let query = FormEncoding.encode(answer.map { (name: $0.0, value: $0.1) })
        let join = redirectURI.contains("?") ? "&" : "?"
        return GraphReply(status: 302, headers: [("Location", redirectURI + join + query)], origin: .website)
    }

    private mutating func token(
        _ request: GraphRequest,
        at issuer: OpenIDIssuer,
        url: String,
        rsa: KeyRing,
        now: Int
    ) -> GraphReply {
        guard let id = request.client.id, let secret = issuer.clients[id],
            request.client.secret?.hasSameBytes(as: secret) == true
        else { return Self.reply(401, ["error": "invalid_client"]) }
        guard request.parameter("grant_type") == "authorization_code", let text = request.parameter("code") else {
            return Self.reply(400, ["error": "invalid_request"])
        }
        let refused = Self.reply(400, ["error": "invalid_grant"])
        guard let code = codes[text], !code.isUsed else { return refused }
        codes[text]?.isUsed = true
        guard code.issuer == issuer.name, code.client == id, code.redirectURI == request.parameter("redirect_uri")
        else {
            return refused
        }
        if let challenge = code.challenge {
            let verifier = request.parameter("code_verifier") ?? ""
            guard Base64URL.encode(Array(SHA256.hash(data: Array(verifier.utf8)))) == challenge else { return refused }
        }
        let access = "at-\(text)"
        var claims = Self.claims(of: issuer.claimedIssuer ?? url, client: id, nonce: code.nonce, now: now)
        for member in (try? JSON(parsing: Array(code.user.utf8)))?.members ?? [] { claims[member.name] = member.value }
        if issuer.algorithm != .edDSA, claims["at_hash"] == nil {
            let hash = Array(SHA256.hash(data: Array(access.utf8)).prefix(16))
            claims["at_hash"] = .string(Base64URL.encode(hash))
        }
        guard let token = try? keys.sign(claims, header: [:], of: issuer, rsa: rsa) else { return refused }
        return Self.reply(
            200,
            [
                "access_token": .string(access), "token_type": "Bearer", "expires_in": 600, "id_token": .string(token),
            ]
        )
    }

    private static func reply(_ status: Int, _ json: JSON) -> GraphReply {
        var reply = GraphReply(json, origin: .website)
        reply.status = status
        return reply
    }
}

/// The keys of all simulated issuers: those of the simulated Facebook for RS256, and one of each other kind.
private struct OpenIDKeys: Sendable {
    private let p256 = P256.Signing.PrivateKey()
    private let ed25519 = Curve25519.Signing.PrivateKey()

    func set(of issuer: OpenIDIssuer, rsa: KeyRing) -> JSON {
        switch issuer.algorithm {
        case .rs256: return rsa.jwks
        case .es256:
            let point = Array(p256.publicKey.x963Representation.dropFirst())
            return [
                "keys": [
                    [
                        "kid": "p256", "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256",
                        "x": .string(Base64URL.encode(Array(point.prefix(32)))),
                        "y": .string(Base64URL.encode(Array(point.suffix(32)))),
                    ]
                ]
            ]
        case .edDSA:
            let x = Base64URL.encode(Array(ed25519.publicKey.rawRepresentation))
            return ["keys": [["kty": "OKP", "crv": "Ed25519", "x": .string(x)]]]
        }
    }

    func sign(_ claims: JSON, header more: JSON, of issuer: OpenIDIssuer, rsa: KeyRing) throws(DataError) -> String {
        var header: JSON = ["alg": .string(issuer.algorithm.rawValue), "typ": "JWT"]
        switch issuer.algorithm {
        case .rs256: header["kid"] = .string(rsa.newer.kid)
        case .es256: header["kid"] = "p256"
        case .edDSA: break
        }
        let text = [header.merging(more).plainText, claims.plainText].map { Base64URL.encode(Array($0.utf8)) }
            .joined(separator: ".")
        let bytes = Array(text.utf8)
        do {
            let signature: [UInt8] =
                switch issuer.algorithm {
                case .rs256:
                    Array(
                        try rsa.newer.key.signature(for: SHA256.hash(data: bytes), padding: .insecurePKCS1v1_5)
                            .rawRepresentation
                    )
                case .es256: Array(try p256.signature(for: SHA256.hash(data: bytes)).rawRepresentation)
                case .edDSA: Array(try ed25519.signature(for: bytes))
                }
            return "\(text).\(Base64URL.encode(signature))"
        } catch {
            throw DataError(path: "", reason: "the token cannot be signed")
        }
    }
}
