import Domain
import Encodings

/// The text of a user's token, whose form has been checked so that a request can safely contain it.
struct TokenText {
    let text: String

    /// The maximum size of a token in bytes.
    static let maxBytes = 8192

    /// Checks the form of a token.
    ///
    /// - Throws: `credential_invalid`.
    init(_ secret: Secret) throws(Failure) {
        let text = secret.reveal()
        guard Self.isToken(text) else { throw Self.noToken }
        self.text = text
    }

    /// Returns whether a request can contain the token without harm to the request's syntax (T-15).
    ///
    /// The token must have only the characters of a bearer token (RFC 6750 §2.1). It must not be empty or too long.
    static func isToken(_ text: String) -> Bool {
        (1...maxBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0.isASCIIAlphanumeric || $0.isOne(of: "-._~+/=") }
    }

    static let noToken = Failure(
        .credentialInvalid,
        """
        This is not an access token: it is too long or has invalid characters. Send the token unchanged, as the \
        Facebook SDK returns it.
        """
    )

    /// Whether the token begins with `EAA`, like every access token that Graph has issued for years.
    var isGraphToken: Bool { text.utf8.starts(with: "EAA".utf8) }
}
