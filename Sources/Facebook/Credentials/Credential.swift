package import Domain

/// The one credential of a request.
package enum Credential: Sendable {
    /// An access token, verified by asking Graph.
    case accessToken(Secret)
    /// An ID token of Limited Login, with the nonce if the client sent one.
    case idToken(Secret, nonce: Secret?)
    /// A single-use authorization code, to be exchanged.
    case code(Secret, redirectURI: String, codeVerifier: Secret?)
    /// The one-time code of a login through the server, with the verifier of the challenge that began the login.
    case loginCode(Secret, codeVerifier: Secret?)
}

extension Credential {
    /// Selects the one credential of a request.
    ///
    /// A JWT in `accessToken` is treated as an ID token, since iOS apps send it there.
    ///
    /// - Throws: `credential_missing` without a credential, `credential_ambiguous` with several,
    ///   `credential_wrong_kind` when a field holds a token of another kind.
    package init(_ fields: CredentialFields) throws(Failure) {
        let given = (
            Self.present(fields.accessToken), Self.present(fields.idToken), Self.present(fields.code),
            Self.present(fields.loginCode)
        )
        let codeVerifier = Self.present(fields.codeVerifier).map(Secret.init)
        switch given {
        case (nil, nil, nil, nil):
            throw Failure(
                .credentialMissing,
                "The request holds no credential. Send one of accessToken, idToken, code and loginCode, with a value."
            )
        case (let token?, nil, nil, nil):
            self = try Self.reading(accessToken: token, nonce: fields.nonce)
        case (nil, let token?, nil, nil):
            self = try Self.reading(idToken: token, nonce: fields.nonce)
        case (nil, nil, let code?, nil):
            guard let redirectURI = Self.present(fields.redirectURI) else {
                throw Failure(
                    .credentialMissing,
                    "A code counts only together with redirectUri, the one that the login dialog was opened with."
                )
            }
            self = .code(Secret(code), redirectURI: redirectURI, codeVerifier: codeVerifier)
        case (nil, nil, nil, let code?):
            self = .loginCode(Secret(code), codeVerifier: codeVerifier)
        default:
            throw Failure(
                .credentialAmbiguous,
                """
                The request holds more than one credential. Send exactly one of accessToken, idToken, code and loginCode.
                """
            )
        }
    }

    private static func reading(accessToken token: String, nonce: String?) throws(Failure) -> Credential {
        switch CredentialShape(of: token) {
        case .graphToken, .unknown: return .accessToken(Secret(token))
        case .idToken: return .idToken(Secret(token), nonce: present(nonce).map(Secret.init))
        case .appOrClientToken: throw appToken
        }
    }

    private static func reading(idToken token: String, nonce: String?) throws(Failure) -> Credential {
        switch CredentialShape(of: token) {
        case .idToken:
            return .idToken(Secret(token), nonce: present(nonce).map(Secret.init))
        case .appOrClientToken:
            throw appToken
        case .graphToken, .unknown:
            throw Failure(
                .credentialWrongKind,
                """
                idToken does not hold an ID token, which has three parts separated by dots. Send the SDK's \
                AuthenticationToken as idToken, or its AccessToken as accessToken.
                """
            )
        }
    }

    private static let appToken = Failure(
        .credentialWrongKind,
        """
        This is an app token or a client token: it stands for an app, not for a person. Send the access token that the \
        Facebook SDK gives after a person has logged in. If it held the app secret, reset the secret in the app's settings \
        at Facebook.
        """
    )

    private static func present(_ text: String?) -> String? {
        guard let text, !text.utf8.isEmpty else { return nil }
        return text
    }
}

/// The kind of a token by its form, before Facebook is asked about it (docs/protocols/facebook.md §4.6).
///
/// Apps send the wrong one of several tokens so often that each kind deserves an error of its own. The form alone
/// decides how a token is verified; a token is never tried as another kind.
package enum CredentialShape: Sendable, Equatable, CaseIterable {
    /// `EAA…`: an access token for Graph.
    case graphToken
    /// Segments with dots between them, the first beginning with `{` in base64url: an ID token, or an imitation of one.
    case idToken
    /// Holds a `|`: an app token (`id|secret`), a client token, or a user token of an abandoned format.
    case appOrClientToken
    /// Any other form; Graph is asked and decides.
    ///
    /// The iOS SDK's placeholder for denied tracking has such a form, and so would a future format of Facebook.
    case unknown

    /// Determines the kind from the bytes, in linear time.
    package init(of token: String) {
        let bytes = Array(token.utf8)
        if bytes.contains(UInt8(ascii: "|")) {
            self = .appOrClientToken
        } else if Self.beginsLikeSignedToken(bytes) {
            self = .idToken
        } else if bytes.starts(with: "EAA".utf8) {
            self = .graphToken
        } else {
            self = .unknown
        }
    }

    /// Returns whether a token has a dot and begins like a JSON object in base64url.
    ///
    /// The six high bits of `{` encode as the letter `e`; the two low bits limit the second letter to the last quarter
    /// of the alphabet. A text that begins like this and is no ID token is refused as an invalid ID token, and never
    /// sent to Graph.
    private static func beginsLikeSignedToken(_ bytes: [UInt8]) -> Bool {
        guard bytes.first == UInt8(ascii: "e"), let second = bytes.dropFirst().first else { return false }
        return "wxyz0123456789-_".utf8.contains(second) && bytes.contains(UInt8(ascii: "."))
    }
}
