import Crypto
import NIOConcurrencyHelpers
package import Secrets
package import Store
package import Vocabulary

/// The key under which identities of disabled users are hashed, so that they stay banned when nothing names them any
/// more.
///
/// It is random and made once for the service. It is stored under the master key and sealed anew with it: one that was
/// derived from the master key would end with that, and nobody could hash anew whom nothing names.
package final class BanKey: Sendable {
    private let store: Store
    private let masterKeys: MasterKeys
    private let random: RandomSource
    /// The code with nothing in it yet: making it ready for a key takes longer than hashing a name.
    private let known = NIOLockedValueBox<HMAC<SHA256>?>(nil)

    package init(store: Store, masterKeys: MasterKeys, random: RandomSource) {
        self.store = store
        self.masterKeys = masterKeys
        self.random = random
    }

    /// Says by what the identities of an application are known: the database is asked for the key once.
    ///
    /// - Throws: `internal` when no master key at hand opens the key; `store_unavailable` and its like.
    package func hasher(of application: ApplicationID) async throws(Failure) -> IdentityHasher {
        let keyed = try await keyed()
        return { identity in
            // None of the parts can hold the separator.
            let app = "\(application.text)\n\(identity.provider.text)\n\(identity.app.text)"
            var code = keyed
            code.update(data: Array("\(app)\n\(identity.subject.text)".utf8))
            return Array(code.finalize())
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

    private func keyed() async throws(Failure) -> HMAC<SHA256> {
        if let keyed = known.withLockedValue(\.self) { return keyed }
        guard let secret = masterKeys.open(try await stored(), at: .banKey),
            let bytes = Base64URL.decode(secret.reveal().utf8)
        else {
            throw Failure(
                .internal,
                "The service cannot tell who is banned.",
                cause: """
                    the key in federation.ban_key is under a master key that is not at hand: give that; \
                    docs/operations/rotate.md says what to do when it is lost
                    """
            )
        }
        let keyed = HMAC<SHA256>(key: SymmetricKey(data: bytes))
        known.withLockedValue { $0 = keyed }
        return keyed
    }
}
