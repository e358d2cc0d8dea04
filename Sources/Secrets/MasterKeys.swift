package import Store
package import Vocabulary

/// The master keys that an instance holds: one that seals, and former ones that still open (decision D15).
package struct MasterKeys: Sendable {
    /// Seals everything new.
    package let current: MasterKey
    /// Open what was sealed before the current key came; none but while keys are rotated.
    package let previous: [MasterKey]

    package init(current: MasterKey, previous: [MasterKey] = []) {
        self.current = current
        self.previous = previous
    }

    /// The names of all keys, the current one in front.
    package var ids: [String] { [current.id] + previous.map(\.id) }

    /// The secret under the current key, bound to the place.
    package func seal(_ secret: Secret, for place: MasterKey.Place) -> SealedSecret {
        SealedSecret(bytes: current.seal(secret, for: place), keyID: current.id)
    }

    /// The secret, or nil when its key is not among these or the bytes do not open at the place.
    package func open(_ sealed: SealedSecret, at place: MasterKey.Place) -> Secret? {
        ([current] + previous).first { $0.id == sealed.keyID }?.open(sealed.bytes, at: place)
    }
}
