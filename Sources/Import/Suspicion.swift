import Encodings

/// Detects members of a record that look like a credential, the hash of one, or an identity.
///
/// The converter for each exporting system lists the members that it reads and those that it does not need. This type
/// judges all others. Otherwise an export in an unknown form would add users who cannot log in.
enum Suspicion {
    /// If a word in the name of a member contains one of these parts, the member counts as a credential or an identity.
    private static let parts = [
        "passw", "passphrase", "passcode", "credential", "secret", "totp", "webauthn", "passkey", "authenticator",
        "multifactor", "federated", "identit",
    ]
    /// If the name of a member contains one of these words, the member counts as a credential or an identity.
    private static let words: Set<String> = [
        "pwd", "pw", "hash", "hashes", "hashed", "salt", "salts", "pepper", "otp", "hotp", "mfa", "2fa", "tfa", "u2f",
        "fido", "fido2", "factor", "factors", "provider", "providers", "oauth", "oauth2", "openid", "oidc", "saml",
        "sso",
    ]
    /// If the name of a member contains one of these pairs of words, the member counts as a credential or an identity.
    private static let pairs = [
        "recovery_code", "backup_code", "auth_data", "linked_account", "social_account", "social_login",
    ]
    private static let providers: Set<String> = [
        "facebook", "fb", "google", "apple", "twitter", "github", "microsoft", "linkedin", "amazon",
    ]
    private static let ids: Set<String> = ["id", "ids", "uid", "sub", "subject", "user"]
    /// If the name of a member ends with one of these words, the name does not make it a credential or an identity.
    ///
    /// An example is `passwordUpdatedAt`: the member describes a credential, and contains none.
    private static let ends: Set<String> = ["at", "on", "date", "time", "count", "attempts", "failures"]

    /// Returns whether a member of a record looks like a credential or an identity.
    ///
    /// The result is true if its name says so, or if its value looks like a hash. It is false for an empty member.
    static func falls(on member: JSONObject.Member) -> Bool {
        guard !isEmpty(member.value) else { return false }
        return looksLikeHash(member.value) || isOfCredentials(member.key)
    }

    private static func isOfCredentials(_ name: String) -> Bool {
        let folded = FieldNames.folded(name)
        let words = folded.split(separator: "_").map { String($0) }
        guard let last = words.last, !ends.contains(last) else { return false }
        return words.contains { word in
            Self.words.contains(word) || word.hasPrefix("mfa") || parts.contains { word.contains($0) }
        } || pairs.contains { folded.contains($0) }
            || words.contains(where: providers.contains) && words.contains(where: ids.contains)
    }

    /// Returns whether a value is empty: null, false, an empty text, or a list or an object of such values.
    private static func isEmpty(_ value: JSONValue) -> Bool {
        switch value {
        case .null: true
        case .bool(let value): !value
        case .number: false
        case .string(let text):
            text.isEmpty || SourceValue.bool(text) == false || ["[]", "{}"].contains(text) || text == "null"
        case .array(let elements): elements.allSatisfy(isEmpty)
        case .object(let object): object.members.allSatisfy { isEmpty($0.value) }
        }
    }

    /// Returns whether a text looks like a hash that begins with its algorithm: `$2b$10$…`, `{SSHA}…`,
    /// `pbkdf2_sha256$…`.
    private static func looksLikeHash(_ value: JSONValue) -> Bool {
        guard case .string(let text) = value, (20...1024).contains(text.utf8.count) else { return false }
        var rest = Array(text.utf8.prefix(24))[...]
        let end: UInt8
        switch rest.first {
        case UInt8(ascii: "$"): (end, rest) = (UInt8(ascii: "$"), rest.dropFirst())
        case UInt8(ascii: "{"): (end, rest) = (UInt8(ascii: "}"), rest.dropFirst())
        case _ where ["pbkdf2", "bcrypt", "scrypt", "argon2"].contains { text.hasPrefix($0) }: end = UInt8(ascii: "$")
        default: return false
        }
        let name = rest.prefix { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
        return !name.isEmpty && rest.dropFirst(name.count).first == end
    }
}
