package import Domain
package import Store

extension Store {
    /// Ensures that the database knows the encrypting master key, before anything is encrypted (decision D26).
    ///
    /// - Parameters:
    ///   - keys: The master keys of this process.
    ///   - registering: Whether to register the encrypting key if the database knows one of the former keys, as at the
    ///     start of a rotation.
    /// - Throws: `provider_misconfigured` when the database does not know the key; `store_unavailable` and similar.
    package func admit(_ keys: MasterKeys, registering: Bool) async throws(Failure) {
        let held = keys.previous.map(\.id)
        let known = try await admit(masterKey: keys.current.id, held: held, registering: registering)
        guard let known else { return }
        throw .unknownMasterKey(keys.current.id, known: known)
    }

    /// Ensures that the database knows the encrypting master key, or knows no key yet.
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
