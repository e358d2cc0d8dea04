import Crypto
package import Domain
import Encodings
import NIOConcurrencyHelpers
package import Secrets
package import Store

/// The key for the hashes of banned identities.
///
/// Such a hash keeps the identity of a disabled user banned after the user is erased.
///
/// The key is random, and generated once for the service. The master key encrypts the ban key, and a rotation of the
/// master key encrypts the ban key again. The key is not derived from the master key: it would then change with each
/// rotation, and no identity would match the hashes of erased users any more.
package final class BanKey: Sendable {
    private let store: Store
    private let masterKeys: MasterKeys
    private let random: RandomSource
    /// The HMAC, initialized with the key and without data.
    ///
    /// It is cached, since the initialization takes longer than to hash an identity.
    private let known = NIOLockedValueBox<HMAC<SHA256>?>(nil)

    package init(store: Store, masterKeys: MasterKeys, random: RandomSource) {
        self.store = store
        self.masterKeys = masterKeys
        self.random = random
    }

    /// Returns a function that hashes identities of an application, to compare them with the hashes of banned
    /// identities.
    ///
    /// The ban key is read from the database once, and then kept in memory.
    ///
    /// - Throws: `internal` when this instance lacks the master key that encrypts the ban key; `store_unavailable` or
    ///   another failure of the database.
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

    /// Returns the encrypted ban key from the database.
    ///
    /// If there is none, generates and stores one.
    package func stored() async throws(Failure) -> EncryptedSecret {
        if let stored = try await store.banKey() { return stored }
        let secret = Secret(Base64URL.encode(random.bytes(32)))
        try await store.addBanKey(masterKeys.encrypt(secret, for: .banKey))
        // If another instance has stored a key first, that key counts.
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
                "The service cannot check bans now.",
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
