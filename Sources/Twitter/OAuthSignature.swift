internal import Crypto
internal import Encodings
internal import FoundationEssentials

/// Computes the OAuth 1.0a signature of a request (RFC 5849 §3.4).
///
/// The method is HMAC-SHA1, the only one that Twitter supports.
enum OAuthSignature {
    static let method = "HMAC-SHA1"

    /// Returns the signature base string (§3.4.1).
    ///
    /// - Parameters:
    ///   - method: The HTTP method in upper case.
    ///   - url: The scheme, authority and path, without a query.
    ///   - parameters: The decoded parameters of the query, of a form, and of the `Authorization` header, in any order.
    /// - Returns: The method, the URL and the parameters, each percent-encoded, joined by `&`.
    static func baseString(method: String, url: String, parameters: [OAuthParameter]) -> String {
        [method, normalized(url), normalized(parameters)].map(PercentEncoding.encode).joined(separator: "&")
    }

    /// Returns the signing key (§3.4.2).
    ///
    /// `tokenSecret` is nil for a request without an access token.
    static func key(consumerSecret: String, tokenSecret: String?) -> String {
        PercentEncoding.encode(consumerSecret) + "&" + PercentEncoding.encode(tokenSecret ?? "")
    }

    /// Returns the signature of a base string, in base64.
    static func sign(_ baseString: String, key: String) -> String {
        let code = HMAC<Insecure.SHA1>.authenticationCode(
            for: Array(baseString.utf8),
            using: SymmetricKey(data: Array(key.utf8))
        )
        return Data(code).base64EncodedString()
    }

    /// Returns the URL with scheme and host in lower case, and without the scheme's default port (§3.4.1.2).
    private static func normalized(_ url: String) -> String {
        guard let colon = url.firstRange(of: "://") else { return url }
        let scheme = url[..<colon.lowerBound].lowercased()
        let rest = url[colon.upperBound...]
        let authority = rest.prefix { $0 != "/" }.lowercased()
        let path = rest.drop { $0 != "/" }
        let ownPort = scheme == "https" ? ":443" : ":80"
        let host = authority.hasSuffix(ownPort) ? String(authority.dropLast(ownPort.count)) : authority
        return scheme + "://" + host + (path.isEmpty ? "/" : String(path))
    }

    /// Returns the parameters percent-encoded.
    ///
    /// They are sorted after encoding, by name and value, as bytes (§3.4.1.3.2).
    private static func normalized(_ parameters: [OAuthParameter]) -> String {
        parameters.map(\.encoded)
            .sorted {
                $0.name.utf8.elementsEqual($1.name.utf8)
                    ? $0.value.utf8.lexicographicallyPrecedes($1.value.utf8)
                    : $0.name.utf8.lexicographicallyPrecedes($1.name.utf8)
            }
            .map { $0.name + "=" + $0.value }
            .joined(separator: "&")
    }
}

/// A decoded parameter of a request.
struct OAuthParameter {
    let name: String
    let value: String

    init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// The parameter with percent-encoded name and value, as in a query, a form or a header.
    var encoded: OAuthParameter { OAuthParameter(PercentEncoding.encode(name), PercentEncoding.encode(value)) }
}

extension [OAuthParameter] {
    /// The parameters as the text of a query or a form.
    var form: String { map(\.encoded).map { $0.name + "=" + $0.value }.joined(separator: "&") }
}
