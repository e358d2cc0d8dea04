import Domain
import Encodings

// The errors of claims that an administrator gives to a user or to a session (docs/protocols/firebase.md §10).
extension CustomClaims {
    /// Returns claims as they are stored; nil for an empty object.
    ///
    /// - Throws: `CLAIMS_TOO_LARGE`, `FORBIDDEN_CLAIM`.
    static func checked(_ claims: JSONObject) throws(Failure) -> String? {
        do throws(Problem) { return claims.members.isEmpty ? nil : try CustomClaims(claims).text } catch {
            switch error {
            case .tooLarge: throw .google("CLAIMS_TOO_LARGE", "The custom claims \(error).")
            case .reserved: throw .google("FORBIDDEN_CLAIM", "The custom claims \(error).")
            }
        }
    }

    /// Reads claims from JSON text, as `accounts:update` sends them.
    ///
    /// - Throws: `INVALID_CLAIMS`, and the errors of `checked`.
    static func read(_ text: String) throws(Failure) -> String? {
        guard let claims = try? JSONParser.parse(text, limits: .request).object else {
            throw .google("INVALID_CLAIMS", "customAttributes must be a JSON object as a text.")
        }
        return try checked(claims)
    }
}
