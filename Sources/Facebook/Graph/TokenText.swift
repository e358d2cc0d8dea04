import Domain
import Encodings

/// The text of a user's token, checked for sending.
struct TokenText {
    let text: String

    /// The largest size of a token in bytes.
    static let maxBytes = 8192

    /// Checks the form of a token.
    ///
    /// - Throws: `credential_invalid`.
    init(_ secret: Secret) throws(Failure) {
        let text = secret.reveal()
        guard Self.isToken(text) else { throw Self.noToken }
        self.text = text
    }

    /// Returns whether a token can be sent without changing the request that carries it (T-15).
    ///
    /// It must have the characters of a bearer token (RFC 6750 §2.1), not be empty and not be too long.
    static func isToken(_ text: String) -> Bool {
        (1...maxBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0.isASCIIAlphanumeric || $0.isOne(of: "-._~+/=") }
    }

    static let noToken = Failure(
        .credentialInvalid,
        """
        This cannot be an access token: it is too long or has characters that no token has. Send the token unchanged, as the \
        Facebook SDK gives it.
        """
    )

    /// Whether the token has the prefix of every token that Graph has issued for years.
    var isGraphToken: Bool { text.utf8.starts(with: "EAA".utf8) }
}
