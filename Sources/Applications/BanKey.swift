package import Secrets
import Crypto
package import Vocabulary
import NIOConcurrencyHelpers
package import Store

/// The key under which identities of disabled users are hashed, so that they stay banned when nothing names them any
/// more.
///
/// It is random and made once for the service. It is stored under the master key and sealed anew with it: one that was
/// derived from the master key would end with that, and nobody could hash anew whom nothing names.
package final class BanKey: Sendable {
    private let store: Store
    private let masterKeys: MasterKeys
    private let random: RandomSource
    private let known = NIOLockedValueBox<SymmetricKey?>(nil)

    package init(store: Store, masterKeys: MasterKeys, random: RandomSource) {
        self.store = store
        self.masterKeys = masterKeys
        self.random = random
    }

    /// Says by what the identities of an application are known: the database is asked for the key once.
    ///
    /// - Throws: `internal` when no master key at hand opens the key; `store_unavailable` and its like.
    package func hasher(of application: ApplicationID) async throws(Failure) -> IdentityHasher {
        let key = try await key()
        return { identity in
            // None of the parts can hold the separator.
            let parts = [application.text, identity.provider.text, identity.app.text, identity.subject.text]
            let message = Array(parts.joined(separator: "\n").utf8)
            return Array(HMAC<SHA256>.authenticationCode(for: message, using: key))
        }
    }

    /// The key as it is stored; it is made when there is none.
    package func stored() async throws(Failure) -> SealedSecret {
        if let stored = try await store.banKey() { return stored }
        let secret = Secret(Base64URL.encode(random.bytes(32)))
        try await store.addBanKey(masterKeys.seal(secret, for: .banKey))
        // Another instance may have been faster, and its key counts.
        guard let stored = try await store.banKey() else {
            throw Failure(.internal, "The key of bans could not be stored.")
        }
        return stored
    }

    private func key() async throws(Failure) -> SymmetricKey {
        if let key = known.withLockedValue(\.self) { return key }
        guard let secret = masterKeys.open(try await stored(), at: .banKey),
            let bytes = Base64URL.decode(secret.reveal().utf8)
        else {
            throw Failure(
                .internal,
                "The service cannot tell who is banned.",
                cause: """
                    the key in federation.ban_key is under a master key that is not at hand: give that; docs/operations.md says \
                    what to do when it is lost
                    """
            )
        }
        let key = SymmetricKey(data: bytes)
        known.withLockedValue { $0 = key }
        return key
    }
}
