package import Encodings

/// The custom claims of a user.
///
/// Administrators set them, and the user's ID tokens for clients of Firebase contain them.
package struct CustomClaims: Sendable, Equatable {
    /// The claims as the text of a JSON object.
    package let text: String

    /// The maximum length of the text in bytes.
    package static let maxBytes = 1000

    /// The names of claims that only the service sets, or that standards define (docs/protocols/firebase.md §10).
    package static let reserved: Set<String> = [
        "acr", "amr", "at_hash", "aud", "auth_time", "azp", "c_hash", "cnf", "exp", "firebase", "iat", "iss", "jti",
        "nbf", "nonce", "sub",
    ]

    /// Why an object cannot be custom claims.
    package enum Problem: Error, Equatable, CustomStringConvertible {
        case tooLarge
        case reserved(String)

        /// The end of a sentence that begins with the name of the claims.
        package var description: String {
            switch self {
            case .tooLarge: "have more than \(maxBytes) bytes as JSON"
            case .reserved(let name): "have the name \(name), which is reserved"
            }
        }
    }

    /// Creates the claims.
    ///
    /// - Throws: The first problem of the object.
    package init(_ claims: JSONObject) throws(Problem) {
        if let name = claims.members.map(\.key).first(where: Self.reserved.contains) { throw .reserved(name) }
        text = JSONValue.object(claims).text
        guard text.utf8.count <= Self.maxBytes else { throw .tooLarge }
    }

    /// The claims as JSON; nil if the text in the database is no longer a JSON object.
    package static func json(_ text: String) -> JSONObject? {
        try? JSONParser.parse(text, limits: .stored).object
    }
}
