package import Applications
import Crypto
package import Domain
import Providers
package import Secrets
import SignedTokens

/// A nonce for one login with an ID token.
package struct IssuedNonce: Sendable {
    package let nonce: Secret
    /// The expiry of the nonce, in milliseconds since 1970.
    package let expires: Int64
}

/// Issues and verifies the nonces that clients put into ID tokens.
package struct Nonces: Sendable {
    let masterKeys: MasterKeys
    let clock: WallClock
    let random: RandomSource

    package init(
        masterKeys: MasterKeys,
        clock: WallClock,
        random: RandomSource
    ) {
        self.masterKeys = masterKeys
        self.clock = clock
        self.random = random
    }

    /// Issues a nonce that a client puts into one ID token of a provider.
    ///
    /// - Throws: `provider_not_configured`, `provider_misconfigured`, `not_found`.
    package func makeNonce(by provider: ProviderName, for loaded: LoadedApplication) throws(Failure) -> IssuedNonce {
        _ = try loaded.provider(provider, as: (any NonceBinding).self)
        let now = clock.seconds
        let nonce = ServerNonce.make(
            random: random.bytes(ServerNonce.randomBytes),
            by: provider,
            for: loaded.application.id,
            now: now,
            key: masterKeys.current.nonceKey
        )
        return IssuedNonce(nonce: nonce, expires: (now + ServerNonce.seconds) * 1000)
    }

    /// Checks that this service issued the nonce for this application and this provider, at most ten minutes ago.
    ///
    /// - Throws: `credential_invalid`.
    func checkIsOurs(_ nonce: Secret, by provider: ProviderName, of loaded: LoadedApplication) throws(Failure) {
        let keys = ([masterKeys.current] + masterKeys.previous).map(\.nonceKey)
        let now = clock.seconds
        guard ServerNonce.isOurs(nonce, by: provider, of: loaded.application.id, now: now, keys: keys) else {
            throw Failure(
                .credentialInvalid,
                """
                The nonce of this ID token was not issued by this service, or it has expired. Get a new one from \
                users/oauth/\(provider)/nonce, and log in with \(loaded.title(of: provider)) again with that nonce.
                """,
                cause: "ID token, check 11: not a nonce of ours, or too old"
            )
        }
    }
}

extension MasterKey {
    fileprivate var nonceKey: SymmetricKey { derivedKey(for: "federation: nonces of ID tokens") }
}
