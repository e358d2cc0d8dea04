import Crypto
import Encodings
import FoundationEssentials

/// The parameters of an `Authorization: OAuth …` header (RFC 5849 §3.5.1), decoded.
struct OAuthHeader: Sendable {
    let parameters: [(name: String, value: String)]

    /// Parses an `Authorization: OAuth …` header; `nil` if the header is malformed or has duplicate names.
    init?(_ header: String) {
        guard header.utf8.count <= 8192, header.prefix(6).lowercased() == "oauth " else { return nil }
        var parameters: [(name: String, value: String)] = []
        for pair in header.dropFirst(6).split(separator: ",") {
            let pair = pair.drop { $0 == " " }
            guard let equals = pair.firstIndex(of: "=") else { return nil }
            let value = pair[pair.index(after: equals)...].drop { $0 == " " }
            guard value.count >= 2, value.first == "\"", value.last == "\"",
                let name = Self.decoded(pair[..<equals]), let decoded = Self.decoded(value.dropFirst().dropLast()),
                !parameters.contains(where: { $0.name.hasSameBytes(as: name) })
            else { return nil }
            parameters.append((name, decoded))
        }
        self.parameters = parameters
    }

    subscript(name: String) -> String? {
        parameters.first { $0.name.hasSameBytes(as: name) }?.value
    }

    /// Percent-decodes a text; `nil` unless the text is encoded exactly as RFC 5849 §3.6 requires.
    private static func decoded(_ text: Substring) -> String? {
        PercentEncoding.decode(text).flatMap { PercentEncoding.encode($0).utf8.elementsEqual(text.utf8) ? $0 : nil }
    }
}

extension TwitterWorld {
    /// The number of seconds by which the timestamp of a signed request may differ from the current time.
    private static let window = 300

    /// Verifies the signature of a request by the rules of OAuth 1.0a for servers (RFC 5849 §3.2).
    ///
    /// Each nonce is single-use.
    ///
    /// - Returns: The app (consumer) and the token of the request, and the parsed `Authorization` header. The token is
    ///   `nil` if the request has none.
    /// - Throws: ``TwitterError`` for a request whose signature, timestamp, nonce, token or consumer is not acceptable.
    mutating func check(
        _ request: GraphRequest,
        now: Int
    ) throws(TwitterError) -> (consumer: TwitterConsumer, token: TwitterToken?, header: OAuthHeader) {
        guard let header = request.authorization.flatMap(OAuthHeader.init),
            let key = header["oauth_consumer_key"], let nonce = header["oauth_nonce"], !nonce.isEmpty,
            let signature = header["oauth_signature"], header["oauth_signature_method"] == "HMAC-SHA1",
            let timestamp = header["oauth_timestamp"].flatMap({ Int($0) }), header["oauth_version"] ?? "1.0" == "1.0"
        else { throw .badAuthentication }
        guard let consumer = consumers[key] else { throw .notAuthenticated }
        guard (now - Self.window...now + Self.window).contains(timestamp) else { throw .timestampOutOfBounds }
        var token: TwitterToken?
        if let text = header["oauth_token"] {
            token = self.token(text)
            guard let token, !token.revoked, token.consumer.hasSameBytes(as: key) else { throw .invalidToken }
        }
        let expected = Self.signature(of: request, header: header, secrets: [consumer.secret, token?.secret ?? ""])
        guard signature.hasSameBytes(as: expected) else { throw .notAuthenticated }
        let use = UsedNonce(consumer: key, token: token?.text ?? "", timestamp: timestamp, nonce: nonce)
        guard seen.insert(use).inserted else { throw .notAuthenticated }
        if consumer.suspended { throw .applicationSuspended }
        return (consumer, token, header)
    }

    private static func signature(of request: GraphRequest, header: OAuthHeader, secrets: [String]) -> String {
        let signed = header.parameters.filter { $0.name != "oauth_signature" && $0.name != "realm" }
        let parameters = (request.parameters + signed)
            .map { [PercentEncoding.encode($0.name), PercentEncoding.encode($0.value)] }
            .sorted { $0.lexicographicallyPrecedes($1) { $0.utf8.lexicographicallyPrecedes($1.utf8) } }
            .map { $0.joined(separator: "=") }
            .joined(separator: "&")
        let origin = request.origin.lowercased()
        let url = (origin.hasSuffix(":80") ? String(origin.dropLast(3)) : origin) + request.writtenPath
        let base = [request.method, url, parameters].map(PercentEncoding.encode).joined(separator: "&")
        let key = secrets.map(PercentEncoding.encode).joined(separator: "&")
        let code = HMAC<Insecure.SHA1>.authenticationCode(
            for: Array(base.utf8),
            using: SymmetricKey(data: Array(key.utf8))
        )
        return Data(code).base64EncodedString()
    }
}
