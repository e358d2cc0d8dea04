package import Domain
package import Store

extension Store {
    /// Checks that the master key that encrypts new values is registered in the database (decision D26).
    ///
    /// Must be called before anything is encrypted. If no key is registered or in use yet, registers this one.
    ///
    /// - Parameters:
    ///   - keys: The master keys of this process.
    ///   - registering: Whether to register the key also if a former key of the process is registered, as at the start
    ///     of a rotation.
    /// - Throws: `provider_misconfigured` when the key is not registered; `store_unavailable` and similar.
    package func admit(_ keys: MasterKeys, registering: Bool) async throws(Failure) {
        let held = keys.previous.map(\.id)
        let known = try await admit(masterKey: keys.current.id, held: held, registering: registering)
        guard let known else { return }
        throw .unknownMasterKey(keys.current.id, known: known)
    }

    /// Checks that the master key that encrypts new values is registered in the database.
    ///
    /// Registers no key. Does not throw if the database has no registered key yet.
    ///
    /// - Throws: As ``admit(_:registering:)``.
    package func requireKnown(_ keys: MasterKeys) async throws(Failure) {
        let known = try await knownMasterKeys()
        guard !known.isEmpty, !known.contains(keys.current.id) else { return }
        throw .unknownMasterKey(keys.current.id, known: known)
    }
}
