package import Domain
package import Store

extension Store {
    /// Ensures that the encrypting master key is registered in the database, before anything is encrypted (decision
    /// D26).
    ///
    /// - Parameters:
    ///   - keys: The master keys of this process.
    ///   - registering: Whether to register the encrypting key if one of the former keys is registered, as at the start
    ///     of a rotation.
    /// - Throws: `provider_misconfigured` when the key is not registered; `store_unavailable` and similar.
    package func admit(_ keys: MasterKeys, registering: Bool) async throws(Failure) {
        let held = keys.previous.map(\.id)
        let known = try await admit(masterKey: keys.current.id, held: held, registering: registering)
        guard let known else { return }
        throw .unknownMasterKey(keys.current.id, known: known)
    }

    /// Ensures that the encrypting master key is registered in the database, or that the database has no registered key
    /// yet.
    ///
    /// Writes nothing.
    ///
    /// - Throws: As ``admit(_:registering:)``.
    package func requireKnown(_ keys: MasterKeys) async throws(Failure) {
        let known = try await knownMasterKeys()
        guard !known.isEmpty, !known.contains(keys.current.id) else { return }
        throw .unknownMasterKey(keys.current.id, known: known)
    }
}
