import Crypto
import FoundationEssentials
package import Vocabulary

/// A `signed_request` that one of our apps' secrets has signed: how Facebook calls an app about a person
/// (docs/protocols/facebook.md §5.1).
package struct SignedRequest: Sendable, Equatable {
    /// The app whose secret fits.
    package let appID: ProviderAppID
    package let subject: Subject
    /// Unix seconds at which Facebook signed it.
    package let issuedAt: Int64
    /// Whether it carries what Facebook gives to a client: those signed requests pass through browsers, cookies and
    /// logs.
    package let isForClients: Bool
    /// SHA-256 of the app and of what was signed, as received: the same for the same request however its signature is
    /// written.
    package let hash: [UInt8]

    /// Bytes of the longest text that is looked at.
    package static let maxBytes = 16_384
    /// Seconds after its signing at which a request is no longer taken.
    package static let lifetime: Int64 = 86_400
    /// Seconds that Facebook's clock may be ahead of ours.
    package static let clockTolerance: Int64 = 300

    /// Verifies a text: its signature before anything of it is read, in constant time, over the bytes as received.
    ///
    /// - Parameters:
    ///   - text: The parameter as received.
    ///   - apps: The apps that may have been called.
    ///   - now: Unix seconds.
    /// - Throws: `malformed_request` for everything that is not a fresh request of Facebook's to one of the apps.
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
            throw Self.refusal("it has no user_id of a person")
        }
        guard let issuedAt = payload["issued_at"]?.unixSeconds else { throw Self.refusal("it has no issued_at") }
        // A number of the payload is any of 64 bits, so it is compared and never calculated with.
        guard issuedAt >= now - Self.lifetime else { throw Self.refusal("it is older than a day") }
        guard issuedAt <= now + Self.clockTolerance else { throw Self.refusal("it is of the future; check the clock") }
        appID = app.id
        isForClients = Self.clientMembers.contains { payload.present($0) != nil }
        self.subject = subject
        self.issuedAt = issuedAt
        hash = Array(SHA256.hash(data: Array((app.id.text + ".").utf8) + signed))
    }

    /// Verifies what came to a callback, which only Facebook itself may call.
    ///
    /// The same secret signs what a page gets from the JavaScript SDK; whoever comes by one of those must not be able
    /// to have the person erased. Of the form one field counts; whatever Facebook may send beside it must not lose a
    /// call.
    ///
    /// - Throws: `malformed_request`.
    package init(callback form: FormFields, apps: [ProviderApp], now: Int64) throws(Failure) {
        guard let text = try form.value("signed_request") else {
            throw Failure(.malformedRequest, "The form has no signed_request.")
        }
        self = try SignedRequest(text, apps: apps, now: now)
        guard !isForClients else { throw Self.refusal("it was made for a client of the app and not for this callback") }
    }

    /// Members that a callback of Facebook's never has (docs/protocols/facebook.md §5.2, §5.3).
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
            "This signed_request is not taken: \(problem).",
            cause: "signed_request refused: \(problem)"
        )
    }
}

extension ProviderApp {
    /// Whether the bytes carry the app's HMAC-SHA256; takes as long for a wrong one as for the right one.
    func signed(_ bytes: [UInt8], as signature: [UInt8]) -> Bool {
        let key = SymmetricKey(data: Array(secret.reveal().utf8))
        return HMAC<SHA256>.isValidAuthenticationCode(signature, authenticating: bytes, using: key)
    }
}

extension JSONValue {
    /// Seconds since 1970 that fit 64 bits, as text or as number.
    var unixSeconds: Int64? {
        guard let text = decimalText, (1...19).contains(text.utf8.count), text.utf8.allSatisfy(\.isASCIIDigit) else {
            return nil
        }
        return Int64(text)
    }
}

/// Base64 as Facebook and its samples write it: either alphabet, with or without padding
/// (docs/protocols/facebook.md §5.1).
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
