import Encodings

/// What a user allows a client at an authorization server: the origin of codes and tokens.
struct Grant: Sendable {
    /// The number of the grant, counted from 1.
    let number: Int
    /// The authorization server, by the beginning of its paths: `oidc/NAME` or `oauth2/NAME`.
    let server: String
    let client: String
    /// The claims of the user, an object.
    let user: JSON
    let scopes: [String]
    /// The nonce of the ID token to be issued, if there is one.
    let nonce: String?
    /// Whether the user made the grant by the server's dialog, and the control port did not.
    let isOfDialog: Bool

    /// The user's id, as text: the claim `sub` or, if there is none, `id`.
    var subject: String { user.subject }

    /// Returns the present claims of the user.
    ///
    /// If the user made the grant by the dialog, and still is the one who would log in there, the dialog's claims are
    /// newer.
    func claims(inDialog present: JSON) -> JSON {
        isOfDialog && present.subject.hasSameBytes(as: subject) ? present : user
    }
}

extension JSON {
    /// The id of a user with these claims, as text: `sub` or, if there is none, `id`.
    var subject: String {
        guard let id = self["sub"] ?? self["id"] else { return "" }
        return id.string ?? id.plainText
    }
}

/// An authorization code, which can be exchanged once.
struct GrantedCode: Sendable {
    /// The lifetime of a code, in seconds.
    static let lifetime = 600

    let grant: Grant
    /// The redirect URI that the exchange must repeat; `nil` for a code that a native SDK received without one.
    let redirectURI: String?
    /// The PKCE challenge by `S256`; `nil` if the exchange must have no verifier.
    let challenge: String?
    let expiresAt: Int
    var isUsed = false
}

/// An access token or a refresh token.
struct GrantedToken: Sendable {
    enum Kind: String, Sendable {
        case access
        case refresh
    }

    enum State: String, Sendable {
        case active
        case revoked
        case expired
        /// The token is a refresh token, in place of which another one was issued.
        case replaced
    }

    let text: String
    let kind: Kind
    /// The position of the token in the order of issue.
    let position: Int
    let grant: Grant
    let issuedAt: Int
    /// The end of the token's life in Unix seconds; `nil` for a token without end.
    let expiresAt: Int?
    /// Why the token ended early; `nil` if it did not.
    var ending: State?

    func state(at now: Int) -> State {
        if let ending { return ending }
        return expiresAt.map { $0 <= now } ?? false ? .expired : .active
    }
}
