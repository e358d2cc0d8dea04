package import Applications
import Crypto
package import Domain
import Encodings
import Metrics
import Secrets
package import Store

/// A refresh token, and the session that it continues.
///
/// A class, since a struct would take its place in the frame of each async function that waits for a login's result.
package final class RefreshedSession: Sendable {
    /// The token that the client sends next: 64 characters of base64url.
    package let refreshToken: Secret
    package let facts: SessionFacts

    init(refreshToken: Secret, facts: SessionFacts) {
        self.refreshToken = refreshToken
        self.facts = facts
    }

    /// Creates the session that a login has opened; nil if the login has opened no family of refresh tokens.
    package convenience init?(_ first: RefreshToken?, _ facts: SessionFacts?) {
        guard let first, let facts else { return nil }
        self.init(refreshToken: first.text, facts: facts)
    }
}

/// Lets clients continue a session by refresh tokens: each use replaces the token.
///
/// A refresh token belongs to a session, and ends with it. Each response with tokens, except to a refresh, begins a
/// family of refresh tokens. If a replaced token is used again, more than a minute after its use, the client or a thief
/// has an old copy, and gets no token. If that happens once more, more than ten seconds later, the session ends, so
/// both must log in again (RFC 9700 §4.14.2). The delay is for a frozen page, which uses its old copy once and then
/// finds the newest token.
package struct RefreshTokens: Sendable {
    let store: Store
    let directory: ApplicationDirectory
    let limits: Limits
    let random: RandomSource

    package init(store: Store, directory: ApplicationDirectory, limits: Limits, random: RandomSource) {
        self.store = store
        self.directory = directory
        self.limits = limits
        self.random = random
    }

    /// Makes a refresh token for a valid session.
    ///
    /// - Parameters:
    ///   - session: The session.
    ///   - endsOthers: Whether earlier refresh tokens of the session end.
    ///   - loaded: The application of the session.
    /// - Returns: The token and the session.
    /// - Throws: `session_invalid`, `account_disabled`; `store_unavailable` and similar errors.
    package func open(
        of session: SessionKey,
        endingOthers endsOthers: Bool = false,
        in loaded: LoadedApplication
    ) async throws(Failure) -> RefreshedSession {
        let token = RefreshToken(by: random)
        let facts = try await directory.withCurrent(loaded, until: .now + limits.login) { (loaded) throws(Failure) in
            try await store.openRefreshFamily(
                token.stored,
                of: session,
                endingOthers: endsOthers,
                in: loaded.application
            )
        }
        return RefreshedSession(refreshToken: token.text, facts: try facts.live())
    }

    /// Uses a refresh token.
    ///
    /// - Parameters:
    ///   - text: The token that the client sent.
    ///   - loaded: The application of the session.
    /// - Returns: The token that replaces it, and the session.
    /// - Throws: `credential_invalid` for a text that is no refresh token; `refresh_token_replaced` for the first use
    ///   of a replaced token; `session_invalid` if the session has ended; `account_disabled`; `store_unavailable` and
    ///   similar errors.
    package func refresh(
        _ text: String,
        in loaded: LoadedApplication
    ) async throws(Failure) -> RefreshedSession {
        guard let presented = RefreshToken(text) else {
            throw Failure(.credentialInvalid, "This is no refresh token of this service.")
        }
        let nonce = random.bytes(16)
        let successor = presented.successor(by: nonce)
        let outcome = try await directory.withCurrent(loaded, until: .now + limits.login) { (loaded) throws(Failure) in
            try await store.useRefreshToken(
                presented.stored,
                successor: successor.stored.hash,
                nonce: nonce,
                in: loaded.application
            )
        }
        switch outcome {
        case .rotated(let facts):
            return RefreshedSession(refreshToken: successor.text, facts: try Optional(facts).live())
        case .repeated(let facts, let nonce):
            let successor = presented.successor(by: nonce)
            return RefreshedSession(refreshToken: successor.text, facts: try Optional(facts).live())
        case .unknown:
            throw .sessionInvalid
        case .stale:
            throw Failure(
                .refreshTokenReplaced,
                "This refresh token has been replaced. Use the newest one.",
                cause: "a refresh token was used again, for the first time"
            )
        case .reused(let session):
            _ = try await store.endSession(tokenHash: session.hash, of: loaded.application)
            SessionCounters.reused.increment()
            throw Failure(
                .sessionInvalid,
                "This session has ended, since one of its refresh tokens was used twice. Log in again.",
                cause: "a refresh token was used again"
            )
        }
    }
}

/// A refresh token: the id of its family, and a secret that changes with each use.
package struct RefreshToken: Sendable {
    static let familyBytes = 16

    let family: [UInt8]
    let secret: [UInt8]

    init(family: [UInt8], secret: [UInt8]) { (self.family, self.secret) = (family, secret) }

    /// Makes the first token of a family.
    package init(by random: RandomSource) {
        self.init(random.bytes(Self.familyBytes + 32))
    }

    /// Reads a received token; nil when the form is wrong.
    init?(_ text: String) {
        guard text.utf8.count == 64, let bytes = Base64URL.decode(text.utf8) else { return nil }
        self.init(bytes)
    }

    private init(_ bytes: [UInt8]) {
        self.init(family: Array(bytes.prefix(Self.familyBytes)), secret: Array(bytes.dropFirst(Self.familyBytes)))
    }

    var text: Secret { Secret(Base64URL.encode(family + secret)) }

    package var stored: NewRefreshSecret { NewRefreshSecret(family: family, hash: Array(SHA256.hash(data: secret))) }

    /// Returns the token that replaces this one.
    ///
    /// The new token follows from this token and random bytes. So a repeated request gets the same token, and the
    /// database does not store the token.
    func successor(by nonce: [UInt8]) -> RefreshToken {
        RefreshToken(family: family, secret: Array(SHA256.hash(data: secret + nonce)))
    }
}
