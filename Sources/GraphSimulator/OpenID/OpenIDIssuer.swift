extension GraphSimulator {
    /// A simulated issuer of OpenID Connect, at `/oidc/NAME`.
    public struct OpenIDIssuer: Sendable, Equatable {
        /// The name, which is a segment of the issuer's URL.
        public var name: String
        /// The clients, with their secrets.
        public var clients: [String: String]
        /// The claims of the user who logs in next by the dialog, as JSON; `sub` identifies the user.
        public var user: String = #"{"sub": "1"}"#
        /// Whether the user refuses the dialog.
        public var refuses = false
        /// The issuer that the discovery document names; `nil` for its own.
        public var claimedIssuer: String?
        /// The algorithm by which the issuer signs.
        public var algorithm = OpenIDAlgorithm.rs256
        /// How clients authenticate.
        public var authentication = OpenIDAuthentication.basic
        /// The key that signs the secrets of clients, with ``OpenIDAuthentication/apple``.
        public var clientKey: OpenIDClientKey?
        /// Whether the dialog has Apple's quirks.
        ///
        /// A dialog that asks for `name` or `email` must have `response_mode=form_post`, and need not ask for `openid`.
        /// The answer has no `iss`. It has ``firstUser`` when a user authorizes a client for the first time. A refusal
        /// is `user_cancelled_authorize`.
        public var answersByForm = false
        /// The value of `user` in the dialog's first answer about a user, an object; `nil` for none.
        public var firstUser: JSON?
        /// Whether the token endpoint also issues refresh tokens.
        public var refreshTokens = false
        /// Whether each refresh replaces the refresh token.
        public var rotates = false
        /// What the userinfo endpoint returns for every user, an object; `nil` for the claims of the token's user.
        public var userinfo: JSON?
        /// The members that the discovery document lacks.
        public var lacks: [String] = []
        /// JWKs that are published after the issuer's keys, without a check.
        public var extraKeys: [JSON] = []

        /// Makes an issuer.
        public init(name: String, clients: [String: String] = [:]) {
            self.name = name
            self.clients = clients
        }
    }

    /// An algorithm by which a simulated issuer signs ID tokens.
    public enum OpenIDAlgorithm: String, Sendable, CaseIterable {
        case rs256 = "RS256"
        case ps256 = "PS256"
        case es256 = "ES256"
        case es384 = "ES384"
        case edDSA = "EdDSA"
    }

    /// How the clients of a simulated issuer authenticate.
    public enum OpenIDAuthentication: String, Sendable, CaseIterable {
        /// By HTTP Basic alone.
        case basic = "client_secret_basic"
        /// By the parameters `client_id` and `client_secret` alone.
        case post = "client_secret_post"
        /// By the same parameters; the secret is a JWT that the client's developer signs, as at Apple.
        case apple
    }

    /// The key by which a client's developer signs secrets for an issuer like Apple.
    public struct OpenIDClientKey: Sendable, Equatable {
        /// The id of the developer's team, which is the secret's `iss`.
        public var team: String
        /// The id of the key.
        public var kid: String
        /// The public key on P-256, in PEM.
        public var publicKey: String

        /// Makes a key.
        public init(team: String, kid: String, publicKey: String) {
            self.team = team
            self.kid = kid
            self.publicKey = publicKey
        }
    }
}

typealias OpenIDIssuer = GraphSimulator.OpenIDIssuer
typealias OpenIDAlgorithm = GraphSimulator.OpenIDAlgorithm

extension OpenIDIssuer {
    /// The beginning of the issuer's paths, which also names the issuer among the authorization servers.
    var server: String { "oidc/\(name)" }

    /// The claims of the user who logs in next by the dialog.
    var userClaims: JSON { (try? JSON(parsing: Array(user.utf8))) ?? [:] }
}
