package import Applications
package import Domain
package import Encodings
import Secrets
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
        ofSession token: SessionToken?,
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
        let key = try await tokenKeys.signing(for: application.id)
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

    /// Returns the key set that verifies signed tokens, and for how many seconds clients may cache it.
    ///
    /// The key set is `{"keys": [JWK]}` (RFC 7517 §5). If no application is given, the key set has the keys of all
    /// applications.
    package func tokenKeySet(of loaded: LoadedApplication?) async throws(Failure) -> (set: JSONValue, seconds: Int) {
        let published = try await tokenKeys.published(of: loaded?.application.id)
        let keys = published.map { key in
            JSONValue.object(
                JSONObject(
                    key.publicKey.members + [
                        .init("use", .string("sig")), .init("alg", .string("ES256")), .init("kid", .string(key.id)),
                    ]
                )
            )
        }
        return (.object(["keys": .array(keys)]), TokenKeyRing.cacheSeconds(of: published))
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
