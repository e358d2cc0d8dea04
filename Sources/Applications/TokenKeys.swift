package import Domain
import NIOConcurrencyHelpers
package import Secrets
package import Store

/// An instance's cache of the keys that sign tokens.
///
/// The cache is at most a second old, and never older than a change by this process.
package final class TokenKeys: Sendable {
    private struct Copy {
        let keys: [StoredTokenKey]
        let signing: TokenKey?
        let read: ContinuousClock.Instant
    }

    private struct State {
        /// The cached keys by application.
        ///
        /// The shared keys have the key nil.
        var copies: [ApplicationID?: Copy] = [:]
        /// The time at which this process last changed a key.
        ///
        /// Copies from before that time do not count.
        var changed: ContinuousClock.Instant?
    }

    private let store: Store
    private let masterKeys: MasterKeys
    private let state = NIOLockedValueBox(State())

    /// The age at which a copy is stale, and so the time until a change counts on every instance.
    private static let freshness: Duration = .seconds(1)

    package init(store: Store, masterKeys: MasterKeys) {
        self.store = store
        self.masterKeys = masterKeys
    }

    /// Returns the key that signs an application's tokens.
    ///
    /// Generates the first key if there is none.
    ///
    /// - Throws: `internal` when this instance lacks the master key of the key; `store_unavailable` or another failure
    ///   of the database.
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

    /// Returns the published keys of an application, or the shared ones.
    ///
    /// While the database is unreachable, the cached keys serve.
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

    /// Drops all copies after a change by this process.
    ///
    /// The next call reads the database.
    ///
    /// A copy cannot bring a removed key back while the database is unreachable.
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
