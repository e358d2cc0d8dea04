package import Store
package import Vocabulary

extension Store {
    /// Makes sure that the database knows the master key that seals, before anything is sealed (decision D26).
    ///
    /// - Parameters:
    ///   - keys: The keys at hand.
    ///   - registering: Whether the key that seals becomes known if one of the former ones is: so a rotation begins.
    /// - Throws: `provider_misconfigured` when the database does not know the key; `store_unavailable` and its like.
    package func admit(_ keys: MasterKeys, registering: Bool) async throws(Failure) {
        let held = keys.previous.map(\.id)
        let known = try await admit(masterKey: keys.current.id, held: held, registering: registering)
        guard let known else { return }
        throw .unknownMasterKey(keys.current.id, known: known)
    }

    /// Makes sure that the database knows the master key that seals, or none yet; nothing is written.
    ///
    /// - Throws: As ``admit(_:registering:)``.
    package func requireKnown(_ keys: MasterKeys) async throws(Failure) {
        let known = try await knownMasterKeys()
        guard !known.isEmpty, !known.contains(keys.current.id) else { return }
        throw .unknownMasterKey(keys.current.id, known: known)
    }
}
