package import Domain
package import Store

/// The master keys of an instance: one that encrypts, and former ones that still decrypt (decision D15).
package struct MasterKeys: Sendable {
    /// The key that encrypts all new values.
    package let current: MasterKey
    /// The keys of values encrypted before the current key was introduced; empty except during a rotation.
    package let previous: [MasterKey]

    package init(current: MasterKey, previous: [MasterKey] = []) {
        self.current = current
        self.previous = previous
    }

    /// The ids of all keys, the current one first.
    package var ids: [String] { [current.id] + previous.map(\.id) }

    /// Encrypts a secret with the current key, bound to the place.
    package func seal(_ secret: Secret, for place: MasterKey.Place) -> SealedSecret {
        SealedSecret(bytes: current.seal(secret, for: place), keyID: current.id)
    }

    /// Decrypts a secret; nil when its key is not among these or the bytes cannot be decrypted at the place.
    package func open(_ sealed: SealedSecret, at place: MasterKey.Place) -> Secret? {
        ([current] + previous).first { $0.id == sealed.keyID }?.open(sealed.bytes, at: place)
    }
}
