internal import Crypto
internal import FoundationEssentials
internal import Vocabulary

/// The signature of a request (RFC 5849 §3.4), by HMAC-SHA1, the one method that Twitter knows.
enum OAuthSignature {
    static let method = "HMAC-SHA1"

    /// The text that is signed (§3.4.1).
    ///
    /// - Parameters:
    ///   - method: In upper case.
    ///   - url: Scheme, authority and path, without a query.
    ///   - parameters: Those of the query, of a form, and of the `Authorization` header, decoded, in any order.
    /// - Returns: The three parts, encoded, with `&` between them.
    static func baseString(method: String, url: String, parameters: [OAuthParameter]) -> String {
        [method, normalized(url), normalized(parameters)].map(PercentEncoding.encode).joined(separator: "&")
    }

    /// The key that signs (§3.4.2); what there is no token for has no token secret.
    static func key(consumerSecret: String, tokenSecret: String?) -> String {
        PercentEncoding.encode(consumerSecret) + "&" + PercentEncoding.encode(tokenSecret ?? "")
    }

    /// The signature in base64.
    static func sign(_ baseString: String, key: String) -> String {
        let code = HMAC<Insecure.SHA1>.authenticationCode(
            for: Array(baseString.utf8),
            using: SymmetricKey(data: Array(key.utf8))
        )
        return Data(code).base64EncodedString()
    }

    /// Scheme and host in lower case, and no port where it is the scheme's own (§3.4.1.2).
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

    /// Encoded, and only then sorted, by name and by value, as bytes (§3.4.1.3.2).
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

/// A parameter of a request, as it is meant.
struct OAuthParameter {
    let name: String
    let value: String

    init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// Both halves as they are written in a query, a form or a header.
    var encoded: OAuthParameter { OAuthParameter(PercentEncoding.encode(name), PercentEncoding.encode(value)) }
}

extension [OAuthParameter] {
    /// As a query or a form.
    var form: String { map(\.encoded).map { $0.name + "=" + $0.value }.joined(separator: "&") }
}
