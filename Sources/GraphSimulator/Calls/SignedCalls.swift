import Crypto
import Encodings

extension GraphSimulator {
    /// The key that signs a callback or a webhook to the app.
    public enum CallSignature: Sendable, Equatable {
        /// The app's secret, with which Facebook signs.
        case appSecret
        /// A secret other than the app's, as a forger would use.
        case secret(String)
        /// No key: the signature is empty.
        case none

        fileprivate func key(of app: App) -> SymmetricKey? {
            switch self {
            case .appSecret: SymmetricKey(data: Array(app.secret.utf8))
            case .secret(let secret): SymmetricKey(data: Array(secret.utf8))
            case .none: nil
            }
        }
    }

    /// The body of a webhook request, with the signatures of the body.
    public struct Webhook: Sendable, Equatable {
        /// The body of the request, to which the signatures belong.
        public var body: String
        /// The value of `X-Hub-Signature-256`; `nil` for an unsigned webhook.
        public var signature: String?
        /// The value of the older `X-Hub-Signature`; `nil` for an unsigned webhook.
        public var legacySignature: String?
    }

    /// Signs any payload in the form of Facebook's `signed_request`.
    ///
    /// The result is `base64url(HMAC-SHA256)`, a dot, and `base64url(payload)`.
    public static func signedRequest(payload: String, secret: String) -> String {
        SignedCall.signedRequest(payload, key: SymmetricKey(data: Array(secret.utf8)))
    }

    /// Makes the `signed_request` of a deauthorization callback or of a data-deletion callback.
    ///
    /// With `expiresAt`, it is that of a data-deletion callback. The defaults are the first user, the first app, and
    /// the current time. `algorithm` is only the name in the payload: the signature is always HMAC-SHA256.
    ///
    /// - Throws: ``DataError`` if the user or the app does not exist.
    public func signedRequest(
        person: String? = nil,
        app: String? = nil,
        issuedAt: Int? = nil,
        expiresAt: Int? = nil,
        algorithm: String = "HMAC-SHA256",
        signature: CallSignature = .appSecret
    ) throws(DataError) -> String {
        let call = SignedCall(person: person, app: app, time: issuedAt, signature: signature)
        return try simulation.update { state, now throws(DataError) in
            try state.world.signedRequest(call, algorithm: algorithm, expiresAt: expiresAt, now: now)
        }
    }

    /// Makes the webhook with which Facebook reports a change of a user's permissions to an app.
    ///
    /// `field` is the name of a permission, or `connected` if the user has added or removed the whole app. `verb` is
    /// `granted` or `revoked`. The defaults are the first user, the first app, and the current time.
    ///
    /// - Throws: ``DataError`` if the user or the app does not exist.
    public func webhook(
        person: String? = nil,
        app: String? = nil,
        field: String = "connected",
        verb: String = "revoked",
        time: Int? = nil,
        signature: CallSignature = .appSecret
    ) throws(DataError) -> Webhook {
        let call = SignedCall(person: person, app: app, time: time, signature: signature)
        return try simulation.update { state, now throws(DataError) in
            try state.world.webhook(call, field: field, verb: verb, now: now)
        }
    }
}

/// The parameters of a callback or a webhook to an app.
struct SignedCall {
    /// The user, by the key in the simulator's data, such as `ann`; the first user when `nil`.
    var person: String?
    /// The app's id; the first app when `nil`.
    var app: String?
    /// The time of the event that the call reports, in Unix seconds; the current time when `nil`.
    var time: Int?
    var signature = GraphSimulator.CallSignature.appSecret
    /// The payload to sign; `nil` for a payload that is made from the other parameters.
    var payload: String?

    fileprivate static func signedRequest(_ payload: String, key: SymmetricKey?) -> String {
        let text = Base64URL.encode(Array(payload.utf8))
        let code = key.map { HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: $0) }
        return (code.map { Base64URL.encode(Array($0)) } ?? "") + "." + text
    }
}

extension World {
    /// Makes the parameter `signed_request` of the deauthorization callback and of the data-deletion callback.
    func signedRequest(
        _ call: SignedCall,
        algorithm: String,
        expiresAt: Int?,
        now: Int
    ) throws(DataError) -> String {
        let app = try requireApp(call.app)
        var payload: JSON = [
            "user_id": .string(try requireUser(call.person).id(for: app.id)), "algorithm": .string(algorithm),
            "issued_at": .integer(call.time ?? now),
        ]
        payload["expires"] = expiresAt.map { .integer($0) }
        return SignedCall.signedRequest(call.payload ?? payload.graphText, key: call.signature.key(of: app))
    }

    /// Makes a webhook about Facebook's object `permissions`, with its signatures.
    ///
    /// If `field` is `connected`, the change concerns the whole app, and its JSON is `{"field":"connected","verb":…}`.
    /// Otherwise the change concerns one permission, and its JSON is `{"field":…,"value":{"verb":…}}`.
    func webhook(
        _ call: SignedCall,
        field: String,
        verb: String,
        now: Int
    ) throws(DataError) -> GraphSimulator.Webhook {
        let app = try requireApp(call.app)
        let id = JSON.string(try requireUser(call.person).id(for: app.id))
        let change: JSON =
            field == "connected"
            ? ["field": .string(field), "verb": .string(verb)]
            : ["field": .string(field), "value": ["verb": .string(verb)]]
        let event: JSON = [
            "object": "permissions",
            "entry": [["id": id, "uid": id, "time": .integer(call.time ?? now), "changes": [change]]],
        ]
        let body = call.payload ?? event.graphText
        guard let key = call.signature.key(of: app) else { return GraphSimulator.Webhook(body: body) }
        let bytes = Array(body.utf8)
        return GraphSimulator.Webhook(
            body: body,
            signature: "sha256=" + Hexadecimal.encode(HMAC<SHA256>.authenticationCode(for: bytes, using: key)),
            legacySignature: "sha1="
                + Hexadecimal.encode(HMAC<Insecure.SHA1>.authenticationCode(for: bytes, using: key))
        )
    }
}
