package import Vocabulary

/// The one credential of a request.
package enum Credential: Sendable {
    /// A token for Graph, to be verified by asking Graph.
    case accessToken(Secret)
    /// A signed token of Limited Login, with the nonce that the app used if it sent one.
    case idToken(Secret, nonce: Secret?)
    /// An authorization code, to be exchanged once.
    case code(Secret, redirectURI: String, codeVerifier: Secret?)
    /// The one-time code with which a login through the server ends, with the verifier of the challenge that it began
    /// with.
    case loginCode(Secret, codeVerifier: Secret?)
}

extension Credential {
    /// Picks the one credential of a request.
    ///
    /// A JWT that comes as `accessToken` is taken for the ID token that it is, since iOS apps send it there.
    ///
    /// - Throws: `credential_missing` without any, `credential_ambiguous` with more than one, `credential_wrong_kind`
    ///   when a field holds a token of another kind.
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

/// What a token looks like, before anybody is asked about it (docs/protocols/facebook.md §4.6).
///
/// Apps send the wrong one of several tokens often enough that each kind deserves its own answer. The shape decides
/// which way a token goes; one kind is never tried as another.
package enum CredentialShape: Sendable, Equatable, CaseIterable {
    /// `EAA…`: an access token for Graph.
    case graphToken
    /// Segments with dots between them, the first beginning with `{` in base64url: a signed ID token, or what was to
    /// look like one.
    case idToken
    /// Holds a `|`: an app token (`id|secret`), a client token, or a user token of a format given up long ago.
    case appOrClientToken
    /// Anything else. The placeholder that the iOS SDK hands out when tracking is denied looks like this, and so would
    /// a format that Facebook brings up tomorrow; hence Graph is asked, and its word decides.
    case unknown

    /// Looks at the bytes; linear in their number.
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

    /// Whether it has a dot and begins as JSON does.
    ///
    /// A header that is a JSON object begins with `{`, whose six high bits are the letter `e`, and whose two low bits
    /// leave the second letter to the last quarter of the alphabet. What begins like that and is no ID token is refused
    /// as one, and never sent to Graph.
    private static func beginsLikeSignedToken(_ bytes: [UInt8]) -> Bool {
        guard bytes.first == UInt8(ascii: "e"), let second = bytes.dropFirst().first else { return false }
        return "wxyz0123456789-_".utf8.contains(second) && bytes.contains(UInt8(ascii: "."))
    }
}
