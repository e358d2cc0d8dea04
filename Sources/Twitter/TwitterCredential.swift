import Domain

/// An access token of OAuth 1.0a and its secret.
///
/// A client sends them as two texts, or as one text with a colon between them.
struct TwitterCredential: Sendable {
    let token: Secret
    let secret: Secret

    /// Reads the access token and its secret from the fields of a login request.
    ///
    /// - Throws: `credential_missing`; `credential_ambiguous` if the request has a credential of another kind, too;
    ///   `credential_wrong_kind`.
    init(_ fields: CredentialFields) throws(Failure) {
        let others = [fields.idToken, fields.code, fields.loginCode].compactMap(\.self).filter { !$0.isEmpty }
        let token = fields.accessToken.flatMap { $0.isEmpty ? nil : $0 }
        let secret = fields.accessTokenSecret.flatMap { $0.isEmpty ? nil : $0 }
        guard let token else {
            guard others.isEmpty else {
                throw Failure(
                    .credentialWrongKind,
                    "Twitter does not support this credential. Send accessToken and accessTokenSecret."
                )
            }
            throw Self.missing
        }
        guard others.isEmpty else {
            throw Failure(
                .credentialAmbiguous,
                "Send one credential only: accessToken with accessTokenSecret, and no ID token or code."
            )
        }
        if let secret {
            (self.token, self.secret) = (Secret(token), Secret(secret))
        } else {
            let parts = token.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
            guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }) else { throw Self.missing }
            (self.token, self.secret) = (Secret(String(Substring(parts[0]))), Secret(String(Substring(parts[1]))))
        }
    }

    private static let missing = Failure(
        .credentialMissing,
        """
        Send accessToken and accessTokenSecret as Twitter returned them, or both as one accessToken, separated by a \
        colon.
        """
    )
}
