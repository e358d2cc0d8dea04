package import Applications
package import Domain
package import Encodings
import Secrets
import SignedTokens
package import Store

/// A signed token that a client presents to other services.
///
/// They recognize the user by the token, without a request to this service.
package struct IssuedToken: Sendable {
    /// A JWT in its compact form.
    package let text: Secret
    /// The expiry of the token, in milliseconds since 1970.
    package let expires: Int64
}

/// Issues signed tokens, by which other services recognize a user.
package struct TokenIssuer: Sendable {
    let store: Store
    let sessions: Sessions
    let tokenKeys: TokenKeys
    let address: PublicAddress
    let clock: WallClock
    let random: RandomSource

    package init(
        store: Store,
        sessions: Sessions,
        tokenKeys: TokenKeys,
        address: PublicAddress,
        clock: WallClock,
        random: RandomSource
    ) {
        self.store = store
        self.sessions = sessions
        self.tokenKeys = tokenKeys
        self.address = address
        self.clock = clock
        self.random = random
    }

    /// Issues a signed token for the user of a session.
    ///
    /// The lifetime of the token is short, since nobody can revoke it: it stays valid until its expiry, even if the
    /// session ends or the user is disabled.
    ///
    /// - Throws: `tokens_off` if the application issues no tokens; `session_invalid`, `account_disabled`.
    package func signedToken(
        ofSession token: SessionKey?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> IssuedToken {
        let application = loaded.application
        let settings = application.settings.tokens
        guard settings.enabled else {
            throw Failure(
                .tokensOff,
                "This application does not issue signed tokens. The operator can turn them on with the setting tokens."
            )
        }
        guard let url = address.url else {
            throw Failure(
                .tokensOff,
                """
                Signed tokens need an issuer, and this service has no public URL. The operator must set \
                FEDERATION_PUBLIC_URL.
                """
            )
        }
        let (user, session) = try await sessions.session(of: token, in: loaded)
        guard let proofs = try await store.sessionProofs(tokenHash: session.hash, in: application) else {
            throw .sessionInvalid
        }
        let roles = application.roles(of: user, given: try await store.roles(of: user.objectID, in: application))
        let key = try await tokenKeys.signing(for: application.id, by: .es256)
        let now = clock.seconds
        let claims = TokenClaims(
            issuer: "\(url)/\(application.id)",
            audience: settings.audience ?? application.id.text,
            user: user.objectID,
            session: session.publicID,
            proofs: proofs,
            roles: roles,
            seconds: settings.seconds,
            id: Base64URL.encode(random.bytes(16)),
            now: now
        )
        return IssuedToken(text: try key.sign(claims.json), expires: (now + settings.seconds) * 1000)
    }

    /// Signs claims for an application's users.
    ///
    /// - Throws: `internal` if this instance lacks the master key of the signing key; `store_unavailable` and similar
    ///   errors.
    package func sign(
        _ claims: JSONObject,
        by algorithm: TokenAlgorithm,
        for loaded: LoadedApplication
    ) async throws(Failure) -> Secret {
        try await tokenKeys.signing(for: loaded.application.id, by: algorithm).sign(claims)
    }

    /// Returns the key set that verifies signed tokens.
    ///
    /// - Parameters:
    ///   - loaded: The application; nil for the keys of all applications.
    ///   - algorithm: The algorithm of the keys; nil for the keys of all algorithms.
    /// - Returns: The key set `{"keys": [JWK]}` (RFC 7517 §5), and for how many seconds clients may cache it. It is not
    ///   cached without a key of the algorithm, since the first key signs at once; a set of all algorithms is not
    ///   cached without a key for ES256.
    /// - Throws: `store_unavailable` or another failure of the database.
    package func tokenKeySet(
        of loaded: LoadedApplication?,
        by algorithm: TokenAlgorithm? = nil
    ) async throws(Failure) -> (set: JSONValue, seconds: Int) {
        let published = try await tokenKeys.published(of: loaded?.application.id, by: algorithm)
        let isComplete = published.contains { $0.algorithm == algorithm ?? .es256 }
        let seconds = isComplete ? TokenKeyRing.cacheSeconds(of: published) : 0
        return (.object(["keys": .array(published.map { .object($0.jwk) })]), seconds)
    }

    /// Returns the certificates of the keys that verify tokens by RS256, and for how many seconds clients may cache
    /// them.
    ///
    /// The certificates are the object `{kid: PEM}`. If no application is given, the object has the certificates of all
    /// applications. Certificates that verify session cookies are published longer.
    package func tokenCertificates(
        of loaded: LoadedApplication?,
        forCookies: Bool = false
    ) async throws(Failure) -> (certificates: JSONValue, seconds: Int) {
        let published = try await tokenKeys.published(
            of: loaded?.application.id,
            by: .rs256,
            for: forCookies ? TokenKeyRing.cookieKeptSeconds : TokenKeyRing.keptSeconds
        )
        let members = published.compactMap { key in
            key.certificate.map { JSONObject.Member(key.id, .string($0)) }
        }
        return (.object(JSONObject(members)), TokenKeyRing.cacheSeconds(of: published))
    }

    /// Verifies a token by the published keys of an application, and returns its claims.
    ///
    /// Nothing but the signature is verified: the caller checks the claims.
    ///
    /// - Parameters:
    ///   - text: The text that may be a token.
    ///   - algorithm: The only algorithm by which the token may be signed.
    ///   - loaded: The application.
    /// - Returns: The claims; nil for a text that is no token, or that no such key of the application has signed.
    /// - Throws: `store_unavailable` or another failure of the database.
    package func claims(
        of text: Secret,
        by algorithm: TokenAlgorithm,
        in loaded: LoadedApplication
    ) async throws(Failure) -> JSONObject? {
        let accepted = [SignatureAlgorithm(rawValue: algorithm.rawValue)].compactMap(\.self)
        guard let token = try? SignedToken(text, by: accepted) else { return nil }
        let key = try await tokenKeys.verifying(token.keyID, for: loaded.application.id)
        return key.flatMap { try? token.claims(signedBy: $0) }
    }
}

/// The claims of a signed token (RFC 7519 §4).
struct TokenClaims {
    let issuer: String
    let audience: String
    let user: ObjectID
    let session: String
    let proofs: SessionProofs
    let roles: [String]
    let seconds: Int64
    let id: String
    /// The current time in Unix seconds.
    let now: Int64

    var json: JSONObject {
        var claims: JSONObject = [
            "iss": .string(issuer), "sub": .string("\(user)"), "aud": .string(audience), "iat": .integer(now),
            "exp": .integer(now + seconds), "jti": .string(id), "sid": .string(session),
            "amr": .array(proofs.methods.map(JSONValue.string)), "acr": .string(proofs.isTwofold ? "aal2" : "aal1"),
        ]
        // A server that logs a user in by its API key does not authenticate the user.
        if proofs.authenticated > 0 { claims.append("auth_time", .integer(proofs.authenticated)) }
        if !roles.isEmpty { claims.append("roles", .array(roles.map(JSONValue.string))) }
        return claims
    }
}

extension SessionProofs {
    /// Whether the user of the session was authenticated with two factors.
    ///
    /// A login by a passkey counts as two factors, if the authenticator has verified its user. A login by a server's
    /// API key counts as no factor.
    fileprivate var isTwofold: Bool { factor != nil && authenticated > 0 }

    /// The methods by which the user was authenticated, for the claim `amr` (RFC 8176).
    ///
    /// RFC 8176 has no name for a login by a provider; `fed` stands for such a login.
    fileprivate var methods: [String] {
        var methods: [String] = []
        switch method {
        case nil: break
        case ProviderName.password.text?: if authenticated > 0 { methods.append("pwd") }
        case FactorKind.passkey.rawValue?: break
        case _?: methods.append("fed")
        }
        switch factor {
        case nil: break
        case .totp?, .recoveryCode?, .email?: methods.append("otp")
        case .sms?: methods.append("sms")
        case .passkey?: methods.append("pop")
        }
        return isTwofold ? methods + ["mfa"] : methods
    }
}
