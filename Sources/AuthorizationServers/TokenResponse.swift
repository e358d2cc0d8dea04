package import Domain
import Encodings

/// The tokens that an authorization server has issued (RFC 6749 §5.1).
package struct TokenResponse: Sendable {
    package let accessToken: Secret?
    package let refreshToken: Secret?
    package let idToken: Secret?
    /// The lifetime of the access token in seconds; nil if the server does not say.
    package let seconds: Int64?
    /// The granted scopes; nil if the server does not list them, which means that all were granted.
    package let scopes: [String]?

    /// Reads a response; nil if its tokens are of a type that the service cannot use.
    init?(_ object: JSONObject) {
        guard object["token_type"]?.string.map({ $0.isSameWord(as: "bearer") }) ?? true else { return nil }
        func secret(_ name: String) -> Secret? {
            object[name]?.string.flatMap { $0.utf8.isEmpty || $0.utf8.count > Self.longest ? nil : Secret($0) }
        }
        accessToken = secret("access_token")
        refreshToken = secret("refresh_token")
        idToken = secret("id_token")
        let given = object["expires_in"].flatMap { $0.integer ?? $0.string.flatMap { Int64($0) } }
        seconds = given.map { min(max($0, 0), Self.longestLife) }
        scopes = object["scope"]?.string.map(Scopes.list)
    }

    /// The maximum lifetime in seconds, ten years, so that sums with a time cannot overflow.
    private static let longestLife: Int64 = 10 * 366 * 86_400
    /// The maximum size of a token in bytes.
    private static let longest = 16_384
}

/// An error of a token endpoint (RFC 6749 §5.2).
enum TokenError: String, CaseIterable, Sendable {
    case invalidRequest = "invalid_request"
    case invalidClient = "invalid_client"
    case invalidGrant = "invalid_grant"
    case unauthorizedClient = "unauthorized_client"
    case unsupportedGrantType = "unsupported_grant_type"
    case invalidScope = "invalid_scope"

    /// Reads the member `error` of a response; nil without a known error.
    ///
    /// - Parameters:
    ///   - object: The response.
    ///   - synonyms: The names of RFC 6749 for the server's own names.
    init?(_ object: JSONObject, synonyms: [String: String]) {
        guard let name = object["error"]?.string, name.utf8.count <= 64 else { return nil }
        let known = synonyms[name] ?? name
        guard let error = Self.allCases.first(where: { $0.rawValue.hasSameBytes(as: known) }) else { return nil }
        self = error
    }
}

extension String {
    /// Returns whether the text is a word of ASCII, in any case of letters.
    ///
    /// The bytes are compared, since a server may send any text (decision D5).
    func isSameWord(as word: StaticString) -> Bool {
        word.withUTF8Buffer { word in
            utf8.count == word.count && zip(utf8, word).allSatisfy { $0.asciiLowercased == $1 }
        }
    }
}
