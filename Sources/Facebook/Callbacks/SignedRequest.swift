import Crypto
package import Domain
import Encodings
import FoundationEssentials

/// A `signed_request` of Facebook about a user, with a verified signature.
///
/// The secret of one of the application's apps made the signature.
///
/// See docs/protocols/facebook.md §5.1.
package struct SignedRequest: Sendable, Equatable {
    /// The app whose secret verified the signature.
    package let appID: ProviderAppID
    package let subject: Subject
    /// The time, in Unix seconds, at which Facebook signed the request.
    package let issuedAt: Int64
    /// Whether the request has members that Facebook sends only to clients.
    ///
    /// Such a request passes through browsers, cookies and logs, so an attacker may have it.
    package let isForClients: Bool
    /// The SHA-256 of the app id and of the signed bytes as received.
    ///
    /// A repeated request has the same hash, even if its signature is encoded differently.
    package let hash: [UInt8]

    /// The maximum size of a request in bytes.
    package static let maxBytes = 16_384
    /// The seconds from the signing of a request to its expiry.
    package static let lifetime: Int64 = 86_400
    /// The number of seconds by which Facebook's clock may be ahead of the service's clock.
    package static let clockTolerance: Int64 = 300

    /// Verifies a request.
    ///
    /// The signature is verified before the payload is parsed. It is verified over the bytes as received, in constant
    /// time.
    ///
    /// - Parameters:
    ///   - text: The parameter as received.
    ///   - apps: The apps that the request may concern.
    ///   - now: The current time in Unix seconds.
    /// - Throws: `malformed_request` unless Facebook signed the request for one of the apps and it has not expired.
    package init(_ text: String, apps: [ProviderApp], now: Int64) throws(Failure) {
        guard text.utf8.count <= Self.maxBytes else { throw Self.refusal("it is too long") }
        let parts = text.utf8.split(separator: UInt8(ascii: "."), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 2, let signature = Base64Text.decode(parts[0]) else {
            throw Self.refusal("it is not a signature and a payload in base64, separated by a dot")
        }
        let signed = Array(parts[1])
        guard let app = apps.first(where: { $0.signed(signed, as: signature) }) else {
            throw Self.refusal("its signature is not by the secret of one of this application's Facebook apps")
        }
        let payload = try Self.payload(signed)
        guard payload["algorithm"]?.string?.hasSameBytes(as: "HMAC-SHA256") ?? false else {
            throw Self.refusal("its algorithm is not HMAC-SHA256")
        }
        guard let subject = payload["user_id"]?.decimalText.flatMap({ Subject(decimal: $0) }) else {
            throw Self.refusal("it has no user_id")
        }
        guard let issuedAt = payload["issued_at"]?.unixSeconds else { throw Self.refusal("it has no issued_at") }
        // The payload may have any 64-bit integer here. It is only compared, since arithmetic with it could overflow.
        guard issuedAt >= now - Self.lifetime else { throw Self.refusal("it is older than a day") }
        guard issuedAt <= now + Self.clockTolerance else {
            throw Self.refusal(
                "its time is in the future; check the clock"
            )
        }
        appID = app.id
        isForClients = Self.clientMembers.contains { payload.present($0) != nil }
        self.subject = subject
        self.issuedAt = issuedAt
        hash = Array(SHA256.hash(data: Array((app.id.text + ".").utf8) + signed))
    }

    /// Verifies the `signed_request` in the form of a callback, and refuses one that Facebook made for a client.
    ///
    /// Facebook signs a `signed_request` for a callback and one for a client with the same app secret. An attacker who
    /// obtains a client's `signed_request` could otherwise send it as a callback and have the user erased. Fields other
    /// than `signed_request` are ignored, so that the callback still works if Facebook adds some.
    ///
    /// - Throws: `malformed_request`.
    package init(callback form: FormFields, apps: [ProviderApp], now: Int64) throws(Failure) {
        guard let text = try form.value("signed_request") else {
            throw Failure(.malformedRequest, "The form has no signed_request.")
        }
        self = try SignedRequest(text, apps: apps, now: now)
        guard !isForClients else { throw Self.refusal("it is for a client of the app and not for this callback") }
    }

    /// The members that show that a `signed_request` is for a client (docs/protocols/facebook.md §5.2, §5.3).
    private static let clientMembers = ["code", "oauth_token", "page", "profile_id"]

    private static func payload(_ signed: [UInt8]) throws(Failure) -> JSONObject {
        guard let bytes = Base64Text.decode(signed), let value = try? JSONParser.parse(bytes, limits: .request),
            let object = value.object
        else { throw refusal("its payload is not a JSON object in base64") }
        return object
    }

    private static func refusal(_ problem: StaticString) -> Failure {
        Failure(
            .malformedRequest,
            "This signed_request is refused: \(problem).",
            cause: "signed_request refused: \(problem)"
        )
    }
}

extension ProviderApp {
    /// Returns whether the signature is the HMAC-SHA256 of the bytes under the app secret.
    ///
    /// The comparison takes constant time.
    func signed(_ bytes: [UInt8], as signature: [UInt8]) -> Bool {
        let key = SymmetricKey(data: Array(secret.reveal().utf8))
        return HMAC<SHA256>.isValidAuthenticationCode(signature, authenticating: bytes, using: key)
    }
}

extension JSONValue {
    /// The Unix seconds that a text or a number contains; nil if they do not fit into 64 bits.
    var unixSeconds: Int64? {
        guard let text = decimalText, (1...19).contains(text.utf8.count), text.utf8.allSatisfy(\.isASCIIDigit) else {
            return nil
        }
        return Int64(text)
    }
}

/// Decodes base64 in each form that Facebook and its samples use: either alphabet, with or without padding.
///
/// See docs/protocols/facebook.md §5.1.
private enum Base64Text {
    static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        var standard = text.map { byte in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: byte
            }
        }
        for _ in 0..<2 where standard.last == UInt8(ascii: "=") { standard.removeLast() }
        guard !standard.isEmpty else { return nil }
        while standard.count % 4 != 0 { standard.append(UInt8(ascii: "=")) }
        return Data(base64Encoded: Data(standard)).map { Array($0) }
    }
}
