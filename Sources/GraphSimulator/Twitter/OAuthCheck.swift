import Crypto
import FoundationEssentials

/// Who has signed a request: Twitter's side of OAuth 1.0a (RFC 5849 §3.2).
struct OAuthCheck {
    let consumer: TwitterConsumer
    let token: TwitterToken?
    let header: OAuthHeader

    /// Seconds by which a timestamp may be wrong.
    static let window = 300
}

extension TwitterWorld {
    /// Holds a request to the rules: all of them, and each nonce once.
    mutating func check(_ request: GraphRequest, now: Int) throws(TwitterError) -> OAuthCheck {
        guard let header = request.authorization.flatMap(OAuthHeader.init),
            let key = header["oauth_consumer_key"], let nonce = header["oauth_nonce"], !nonce.isEmpty,
            let signature = header["oauth_signature"], header["oauth_signature_method"] == "HMAC-SHA1",
            let timestamp = header["oauth_timestamp"].flatMap({ Int($0) }), header["oauth_version"] ?? "1.0" == "1.0"
        else { throw .badAuthentication }
        guard let consumer = consumer(key) else { throw .notAuthenticated }
        guard (now - OAuthCheck.window...now + OAuthCheck.window).contains(timestamp) else {
            throw .timestampOutOfBounds
        }
        var token: TwitterToken?
        if let text = header["oauth_token"] {
            token = self.token(text)
            guard let token, !token.revoked, token.consumer.utf8.elementsEqual(key.utf8) else { throw .invalidToken }
        }
        let expected = OAuthCheck.signature(of: request, header: header, consumer: consumer, token: token)
        guard signature.utf8.elementsEqual(expected.utf8) else { throw .notAuthenticated }
        let use = UsedNonce(consumer: key, token: token?.text ?? "", timestamp: timestamp, nonce: nonce)
        guard isFirst(use) else { throw .notAuthenticated }
        if consumer.suspended { throw .applicationSuspended }
        return OAuthCheck(consumer: consumer, token: token, header: header)
    }
}

extension OAuthCheck {
    fileprivate static func signature(
        of request: GraphRequest,
        header: OAuthHeader,
        consumer: TwitterConsumer,
        token: TwitterToken?
    ) -> String {
        var pairs: [[String]] = request.parameters.map { [$0.name, $0.value] }
        for parameter in header.parameters where parameter.name != "oauth_signature" && parameter.name != "realm" {
            pairs.append([parameter.name, parameter.value])
        }
        let parameters = pairs.map { $0.map(OAuthEncoding.encode) }
            .sorted { $0.lexicographicallyPrecedes($1) { $0.utf8.lexicographicallyPrecedes($1.utf8) } }
            .map { $0.joined(separator: "=") }
            .joined(separator: "&")
        let origin = request.origin.lowercased()
        let url = (origin.hasSuffix(":80") ? String(origin.dropLast(3)) : origin) + request.writtenPath
        let base = [request.method, url, parameters].map(OAuthEncoding.encode).joined(separator: "&")
        let key = [consumer.secret, token?.secret ?? ""].map(OAuthEncoding.encode).joined(separator: "&")
        let code = HMAC<Insecure.SHA1>.authenticationCode(
            for: Array(base.utf8),
            using: SymmetricKey(data: Array(key.utf8))
        )
        return Data(code).base64EncodedString()
    }
}
