package import Domain
import NIOConcurrencyHelpers
package import Secrets
package import Store

/// An instance's cache of the keys that sign tokens.
///
/// A cached key signs tokens for at most a second; then the keys are read again. A change of a key by this process
/// clears the cache at once. While the database is unreachable, the service still publishes the cached public keys.
package final class TokenKeys: Sendable {
    private struct Copy {
        let keys: [StoredTokenKey]
        let signing: TokenKey?
        let read: ContinuousClock.Instant
    }

    private struct State {
        /// The cached keys of each application.
        ///
        /// The entry for nil has the keys of all applications together, for requests that name no application.
        var copies: [ApplicationID?: Copy] = [:]
        /// The time at which this process last changed a key.
        ///
        /// Keys that were read before that time are not used.
        var changed: ContinuousClock.Instant?
    }

    private let store: Store
    private let masterKeys: MasterKeys
    private let state = NIOLockedValueBox(State())

    /// The age at which cached keys are read again.
    ///
    /// So a change of a key takes effect on every instance within this time.
    private static let freshness: Duration = .seconds(1)

    package init(store: Store, masterKeys: MasterKeys) {
        self.store = store
        self.masterKeys = masterKeys
    }

    /// Returns the key that signs an application's tokens.
    ///
    /// If the application has none, generates its first key.
    ///
    /// - Throws: `internal` when this instance lacks the master key that encrypts the signing key; `store_unavailable`
    ///   or another failure of the database.
    package func signing(for application: ApplicationID) async throws(Failure) -> TokenKey {
        var copy = try await fresh(application)
        if !copy.keys.contains(where: { $0.application == application && $0.retired == nil }) {
            try await store.addFirstTokenKey(TokenKey().stored(for: application, under: masterKeys))
            copy = try await read(application)
        }
        guard let key = copy.signing else {
            throw Failure(
                .internal,
                "The service cannot sign tokens.",
                cause: """
                    the key that signs tokens is under a master key that is not at hand: give that, or make another key by \
                    federation token-key rotate \(application) --at-once
                    """
            )
        }
        return key
    }

    /// Returns the published keys of an application, and those that all applications share.
    ///
    /// Without an application, returns the published keys of all applications.
    ///
    /// While the database is unreachable, returns the cached keys.
    ///
    /// - Throws: `store_unavailable` or another failure of the database, when nothing is cached.
    package func published(of application: ApplicationID?) async throws(Failure) -> [StoredTokenKey] {
        do throws(Failure) {
            return TokenKeyRing.published(among: try await fresh(application).keys)
        } catch {
            guard let known = state.withLockedValue({ $0.copies[application] }) else { throw error }
            return TokenKeyRing.published(among: known.keys)
        }
    }

    /// Clears the cache, after this process has changed a key.
    ///
    /// The next call reads the database. So a removed key is not used again, even if the database is then unreachable.
    package func forget() {
        state.withLockedValue { $0 = State(changed: .now) }
    }

    private func fresh(_ application: ApplicationID?) async throws(Failure) -> Copy {
        if let known = state.withLockedValue({ $0.copies[application] }), .now - known.read < Self.freshness {
            return known
        }
        return try await read(application)
    }

    private func read(_ application: ApplicationID?) async throws(Failure) -> Copy {
        let asked = ContinuousClock.now
        let keys = try await store.tokenKeys(of: application)
        var signing: TokenKey?
        if application != nil {
            signing = TokenKeyRing.signing(among: keys).flatMap { TokenKey($0, masterKeys: masterKeys) }
        }
        let read = Copy(keys: keys, signing: signing, read: asked)
        state.withLockedValue { state in
            // An older result replaces no newer one. A result from before a change may lack the change.
            let latest = [state.copies[application]?.read, state.changed].compactMap(\.self).max()
            if latest.map({ $0 < asked }) ?? true { state.copies[application] = read }
        }
        return read
    }
}
