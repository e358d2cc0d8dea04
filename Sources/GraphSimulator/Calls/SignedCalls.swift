import Crypto

extension GraphSimulator {
    /// With what a call to the app is signed.
    public enum CallSignature: Sendable, Equatable {
        /// The app's secret, as Facebook does it.
        case appSecret
        /// Another secret, as a forger would.
        case secret(String)
        /// Nothing: the place of the signature is empty.
        case none
    }

    /// A webhook's body with its signatures.
    public struct Webhook: Sendable, Equatable {
        /// The bytes that are signed.
        public var body: String
        /// The value of `X-Hub-Signature-256`; `nil` for an unsigned one.
        public var signature: String?
        /// The value of the older `X-Hub-Signature`; `nil` for an unsigned one.
        public var legacySignature: String?
    }
}

typealias CallSignature = GraphSimulator.CallSignature
typealias Webhook = GraphSimulator.Webhook

extension GraphSimulator {
    /// Signs any payload: `base64url(HMAC-SHA256)`, a dot, `base64url(payload)`.
    public static func signedRequest(payload: String, secret: String) -> String {
        SignedRequest.make(payload: payload, secret: secret)
    }

    /// Makes the `signed_request` with which Facebook tells an app that a person removed it.
    /// - Parameters:
    ///   - person: The person's key; the first person when `nil`.
    ///   - app: The app's id; the first app when `nil`.
    ///   - issuedAt: Unix seconds; now when `nil`.
    ///   - expiresAt: Unix seconds; only a request for deletion has it.
    ///   - algorithm: What the payload names, which changes nothing about the signature.
    ///   - signature: With what it is signed.
    /// - Returns: The parameter's value.
    /// - Throws: ``DataError`` when the person or app does not exist.
    public func signedRequest(
        person: String? = nil,
        app: String? = nil,
        issuedAt: Int? = nil,
        expiresAt: Int? = nil,
        algorithm: String = "HMAC-SHA256",
        signature: CallSignature = .appSecret
    ) throws(DataError) -> String {
        try simulation.update { state, now throws(DataError) in
            let app = try state.world.requireApp(app)
            let payload = SignedRequest.payload(
                userID: try state.world.requirePerson(person).id(for: app.id),
                issuedAt: issuedAt ?? now,
                expiresAt: expiresAt,
                algorithm: algorithm
            )
            return SignedRequest.make(payload: payload.graphText, secret: signature.secret(of: app))
        }
    }

    /// Makes a webhook about a person's permissions.
    /// - Parameters:
    ///   - person: The person's key; the first person when `nil`.
    ///   - app: The app's id; the first app when `nil`.
    ///   - field: The permission; `connected` stands for the app as a whole.
    ///   - verb: `revoked` or `granted`.
    ///   - time: Unix seconds; now when `nil`.
    ///   - signature: With what it is signed.
    /// - Returns: Body and signatures.
    /// - Throws: ``DataError`` when the person or app does not exist.
    public func webhook(
        person: String? = nil,
        app: String? = nil,
        field: String = "connected",
        verb: String = "revoked",
        time: Int? = nil,
        signature: CallSignature = .appSecret
    ) throws(DataError) -> Webhook {
        try simulation.update { state, now throws(DataError) in
            let app = try state.world.requireApp(app)
            let event = Webhook.permissions(
                userID: try state.world.requirePerson(person).id(for: app.id),
                field: field,
                verb: verb,
                time: time ?? now
            )
            return Webhook(body: event.graphText, secret: signature.secret(of: app))
        }
    }
}

extension CallSignature {
    func secret(of app: App) -> String? {
        switch self {
        case .appSecret: app.secret
        case .secret(let secret): secret
        case .none: nil
        }
    }
}

/// The parameter of the deauthorize and data-deletion callbacks.
enum SignedRequest {
    static func make(payload: String, secret: String?) -> String {
        let text = Base64URL.encode(payload.utf8)
        guard let secret else { return "." + text }
        let key = SymmetricKey(data: Array(secret.utf8))
        return Base64URL.encode(HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key)) + "." + text
    }

    static func payload(userID: String, issuedAt: Int, expiresAt: Int?, algorithm: String) -> JSON {
        var payload: JSON = [
            "user_id": .string(userID), "algorithm": .string(algorithm), "issued_at": .integer(issuedAt),
        ]
        payload["expires"] = expiresAt.map { .integer($0) }
        return payload
    }
}

extension Webhook {
    /// Signs a body; without a secret it goes unsigned.
    init(body: String, secret: String?) {
        self.body = body
        guard let secret else { return }
        let key = SymmetricKey(data: Array(secret.utf8))
        let bytes = Array(body.utf8)
        signature = "sha256=" + Hexadecimal.encode(HMAC<SHA256>.authenticationCode(for: bytes, using: key))
        legacySignature = "sha1=" + Hexadecimal.encode(HMAC<Insecure.SHA1>.authenticationCode(for: bytes, using: key))
    }

    /// The event of the object `permissions`: the app as a whole has its verb beside the field, a permission inside
    /// `value`.
    static func permissions(userID: String, field: String, verb: String, time: Int) -> JSON {
        let change: JSON =
            field == "connected"
            ? ["field": .string(field), "verb": .string(verb)]
            : ["field": .string(field), "value": ["verb": .string(verb)]]
        return [
            "object": "permissions",
            "entry": [
                ["id": .string(userID), "uid": .string(userID), "time": .integer(time), "changes": [change]]
            ],
        ]
    }
}
