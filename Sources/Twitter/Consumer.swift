internal import Domain

/// The credentials of a consumer: the consumer key and its secret.
///
/// Consumer is Twitter's word for an app.
struct Consumer {
    let key: String
    private let secret: Secret

    /// Checks that the consumer key and its secret can be sent in a header.
    ///
    /// Both must be printable ASCII without spaces, and not empty.
    ///
    /// - Throws: `provider_misconfigured`.
    init(key: String, secret: Secret) throws(Failure) {
        guard OAuthText.isSendable(key), OAuthText.isSendable(secret.reveal()) else {
            throw Failure(
                .providerMisconfigured,
                """
                The consumer key or the consumer secret of the Twitter app is missing or has invalid characters. The \
                operator must set both.
                """,
                retryAfter: 60
            )
        }
        self.key = key
        self.secret = secret
    }

    /// Returns the value of the `Authorization` header for a request (RFC 5849 §3.5.1).
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - url: The URL without a query.
    ///   - token: The user's access token, if there is one.
    ///   - nonce: A value that is never used twice.
    ///   - timestamp: The current time in Unix seconds.
    /// - Returns: The header's value. It contains no secret, but it authorizes this one request.
    func authorization(
        of request: TwitterRequest,
        at url: String,
        token: AccessToken?,
        nonce: String,
        timestamp: Int64
    ) -> String {
        var header = [
            OAuthParameter("oauth_consumer_key", key),
            OAuthParameter("oauth_nonce", nonce),
            OAuthParameter("oauth_signature_method", OAuthSignature.method),
            OAuthParameter("oauth_timestamp", String(timestamp)),
        ]
        if let token { header.append(OAuthParameter("oauth_token", token.text)) }
        header.append(OAuthParameter("oauth_version", "1.0"))
        let base = OAuthSignature.baseString(
            method: request.method.word,
            url: url,
            parameters: request.parameters + header
        )
        let signingKey = OAuthSignature.key(consumerSecret: secret.reveal(), tokenSecret: token?.secret.reveal())
        header.append(OAuthParameter("oauth_signature", OAuthSignature.sign(base, key: signingKey)))
        return "OAuth " + header.map(\.encoded).map { "\($0.name)=\"\($0.value)\"" }.joined(separator: ", ")
    }
}

/// A user's access token and its secret.
///
/// Both are printable ASCII without spaces, so that they can be sent.
struct AccessToken {
    let text: String
    let secret: Secret

    /// Checks the form of the token and its secret.
    ///
    /// - Throws: `credential_invalid`.
    init(_ token: Secret, secret: Secret) throws(Failure) {
        guard OAuthText.isSendable(token.reveal()), OAuthText.isSendable(secret.reveal()) else {
            throw Failure(
                .credentialInvalid,
                """
                The access token or its secret is not valid: empty, too long, or with invalid characters. Send both \
                unchanged, as Twitter returns them.
                """
            )
        }
        text = token.reveal()
        self.secret = secret
    }
}

/// The rule for keys, tokens and secrets of OAuth 1.0a.
enum OAuthText {
    /// The maximum size in bytes.
    ///
    /// Twitter's keys, tokens and secrets have some 50 characters.
    static let maxBytes = 512

    /// Returns whether a text is printable ASCII without spaces, is not empty and is not too long.
    static func isSendable(_ text: String) -> Bool {
        (1...maxBytes).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
