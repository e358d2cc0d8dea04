package import Domain
import Providers
import SignedTokens

/// The credential that a client sends to log in.
///
/// Each request has exactly one credential.
package enum Credential: Sendable {
    /// An access token. Graph verifies it.
    case accessToken(Secret)
    /// An ID token of Limited Login, and the nonce if the client sent one.
    case idToken(Secret, nonce: Secret?)
    /// A single-use authorization code. It is exchanged for an access token.
    case code(Secret, redirectURI: String, codeVerifier: Secret?)
    /// The single-use code that the service issued after a login in Facebook's dialog, and the client's PKCE verifier.
    ///
    /// The verifier must fit the challenge that the client sent when it requested the dialog.
    case loginCode(Secret, codeVerifier: Secret?)
}

extension Credential {
    /// Selects the only credential of a request.
    ///
    /// A JWT in `accessToken` is treated as an ID token, since iOS apps send ID tokens in this field.
    ///
    /// - Throws: `credential_missing` without a credential, `credential_ambiguous` with several,
    ///   `credential_wrong_kind` when a field holds a token of another kind.
    package init(_ fields: CredentialFields) throws(Failure) {
        switch try GivenCredential(fields) {
        case .accessToken(let token): self = try Self.reading(accessToken: token, nonce: fields.secret(\.nonce))
        case .idToken(let token): self = try Self.reading(idToken: token, nonce: fields.secret(\.nonce))
        case .code(let code, let redirectURI):
            guard let redirectURI else { throw .codeWithoutRedirectURI }
            self = .code(code, redirectURI: redirectURI, codeVerifier: fields.secret(\.codeVerifier))
        case .loginCode(let code): self = .loginCode(code, codeVerifier: fields.secret(\.codeVerifier))
        }
    }

    private static func reading(accessToken token: String, nonce: Secret?) throws(Failure) -> Credential {
        switch CredentialShape(of: token) {
        case .graphToken, .unknown: return .accessToken(Secret(token))
        case .idToken: return .idToken(Secret(token), nonce: nonce)
        case .appOrClientToken: throw appToken
        }
    }

    private static func reading(idToken token: String, nonce: Secret?) throws(Failure) -> Credential {
        switch CredentialShape(of: token) {
        case .idToken:
            return .idToken(Secret(token), nonce: nonce)
        case .appOrClientToken:
            throw appToken
        case .graphToken, .unknown:
            throw Failure(
                .credentialWrongKind,
                """
                idToken is not an ID token, which has three parts separated by dots. Send the SDK's \
                AuthenticationToken as idToken, or its AccessToken as accessToken.
                """
            )
        }
    }

    private static let appToken = Failure(
        .credentialWrongKind,
        """
        This is an app token or a client token, which belongs to an app and not to a user. Send the access token that \
        the Facebook SDK returns after a user has logged in. If the token contained the app secret, reset the secret \
        in the app's settings at Facebook.
        """
    )
}

/// The kind of a token, which its form shows before any request to Facebook (docs/protocols/facebook.md §4.6).
///
/// Apps often have several tokens and send the wrong one, so each kind has an error of its own. Only the form decides
/// how a token is verified. A token is never tried as another kind.
package enum CredentialShape: Sendable, Equatable, CaseIterable {
    /// `EAA…`: an access token for Graph.
    case graphToken
    /// A text with a dot that begins with `{` in base64url: an ID token (JWT), or a text that only looks like a JWT.
    case idToken
    /// A text with a `|`: an app token (`id|secret`), a client token, or a user token of a former format.
    case appOrClientToken
    /// Any other form; only Graph can say what the token is.
    ///
    /// If the user denies tracking, the token of Facebook's iOS SDK is a placeholder of this kind. A future token
    /// format of Facebook would also count as this kind.
    case unknown

    /// Determines the kind from the bytes in linear time.
    package init(of token: String) {
        let bytes = Array(token.utf8)
        if bytes.contains(UInt8(ascii: "|")) {
            self = .appOrClientToken
        } else if SignedToken.hasForm(of: token) {
            self = .idToken
        } else if bytes.starts(with: "EAA".utf8) {
            self = .graphToken
        } else {
            self = .unknown
        }
    }
}
