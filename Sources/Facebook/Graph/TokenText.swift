import Vocabulary

/// The text of a person's token, fit for being sent.
struct TokenText {
    let text: String

    /// Longest token that is sent on.
    static let maxBytes = 8192

    /// Holds a text to the rule.
    ///
    /// - Throws: `credential_invalid`.
    init(_ secret: Secret) throws(Failure) {
        let text = secret.reveal()
        guard Self.isToken(text) else { throw Self.noToken }
        self.text = text
    }

    /// Whether a text can be sent as a token without changing the request that carries it (T-15): the characters of
    /// a bearer token (RFC 6750 §2.1), not empty and not too long.
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

    /// Begins like every token that Graph has issued for years.
    var isGraphToken: Bool { text.utf8.starts(with: "EAA".utf8) }
}
