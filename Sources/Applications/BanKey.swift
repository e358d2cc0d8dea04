import Crypto
package import Domain
import Encodings
import NIOConcurrencyHelpers
package import Secrets
package import Store

/// The key of the hashes that keep identities of disabled users banned after the users are erased.
///
/// The key is random, and generated once for the service. It is encrypted under the master key and encrypted again when
/// that is rotated. A key derived from the master key would change with it, and nobody could hash the erased identities
/// again.
package final class BanKey: Sendable {
    private let store: Store
    private let masterKeys: MasterKeys
    private let random: RandomSource
    /// The initialized HMAC without data; initializing one for a key takes longer than hashing an identity.
    private let known = NIOLockedValueBox<HMAC<SHA256>?>(nil)

    package init(store: Store, masterKeys: MasterKeys, random: RandomSource) {
        self.store = store
        self.masterKeys = masterKeys
        self.random = random
    }

    /// Returns the hash function for an application's identities; the key is read from the database once.
    ///
    /// - Throws: `internal` when no held master key decrypts the key; `store_unavailable` and its like.
    package func hasher(of application: ApplicationID) async throws(Failure) -> IdentityHasher {
        let keyed = try await keyed()
        return { identity in
            // None of the parts can contain the separator.
            let app = "\(application.text)\n\(identity.provider.text)\n\(identity.app.text)"
            var code = keyed
            code.update(data: Array("\(app)\n\(identity.subject.text)".utf8))
            return Array(code.finalize())
        }
    }

    /// Returns the stored key, and generates the key when there is none.
    package func stored() async throws(Failure) -> SealedSecret {
        if let stored = try await store.banKey() { return stored }
        let secret = Secret(Base64URL.encode(random.bytes(32)))
        try await store.addBanKey(masterKeys.seal(secret, for: .banKey))
        // Another instance may have stored its key first, and that key counts.
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
