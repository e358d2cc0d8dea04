package import Domain
import Encodings
import NIOConcurrencyHelpers
package import Secrets
package import SignedTokens
package import Store

/// An instance's cache of the keys that sign tokens.
///
/// A cached key signs tokens for at most a second; then the keys are read again. A change of a key by this process
/// clears the cache at once. While the database is unreachable, the service still publishes the cached public keys.
package final class TokenKeys: Sendable {
    private struct Copy {
        let keys: [StoredTokenKey]
        let signing: [TokenAlgorithm: TokenKey]
        /// The published keys of an application, parsed.
        let verifying: [SigningKey]
        let read: ContinuousClock.Instant

        /// Parses the keys of an application; without an application, only keeps the keys.
        ///
        /// Takes over what `former` has parsed already. It takes as long to parse an RSA key as to sign several tokens.
        init(
            _ keys: [StoredTokenKey],
            of application: ApplicationID?,
            read: ContinuousClock.Instant,
            former: Copy?,
            masterKeys: MasterKeys
        ) {
            self.keys = keys
            self.read = read
            var signing: [TokenAlgorithm: TokenKey] = [:]
            for algorithm in TokenAlgorithm.allCases where application != nil {
                guard let stored = TokenKeyRing.signing(among: keys, by: algorithm) else { continue }
                signing[algorithm] = former?.signingKey(like: stored) ?? TokenKey(stored, masterKeys: masterKeys)
            }
            self.signing = signing
            verifying =
                application == nil
                ? []
                : TokenKeyRing.published(among: keys).compactMap { key in
                    former?.verifying.first { $0.id.hasSameBytes(as: key.id) } ?? SigningKey(jwk: key.jwk)
                }
        }

        /// Returns the parsed key of a stored one, unless the stored one was encrypted anew.
        private func signingKey(like stored: StoredTokenKey) -> TokenKey? {
            guard let known = signing[stored.algorithm], known.id.hasSameBytes(as: stored.id),
                keys.contains(where: { $0.id.hasSameBytes(as: stored.id) && $0.secret == stored.secret })
            else { return nil }
            return known
        }
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

    /// Returns the key that signs an application's tokens by an algorithm.
    ///
    /// If the application has none, generates its first key.
    ///
    /// - Throws: `internal` when this instance lacks the master key that encrypts the signing key; `store_unavailable`
    ///   or another failure of the database.
    package func signing(
        for application: ApplicationID,
        by algorithm: TokenAlgorithm
    ) async throws(Failure) -> TokenKey {
        var copy = try await fresh(application)
        let hasKey = copy.keys.contains {
            $0.application == application && $0.algorithm == algorithm && $0.retired == nil
        }
        if !hasKey {
            try await store.addFirstTokenKey(TokenKey(algorithm).stored(for: application, under: masterKeys))
            copy = try await read(application)
        }
        guard let key = copy.signing[algorithm] else {
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
    /// - Parameters:
    ///   - application: The application; nil for the keys of all applications.
    ///   - algorithm: The algorithm of the keys; nil for the keys of all algorithms.
    ///   - seconds: The seconds for which a retired key is published.
    /// - Returns: The keys, the oldest first. While the database is unreachable, these are the cached keys.
    /// - Throws: `store_unavailable` or another failure of the database, when nothing is cached.
    package func published(
        of application: ApplicationID?,
        by algorithm: TokenAlgorithm? = nil,
        for seconds: Int = TokenKeyRing.keptSeconds
    ) async throws(Failure) -> [StoredTokenKey] {
        TokenKeyRing.published(among: try await copy(of: application).keys, for: seconds)
            .filter { algorithm == nil || $0.algorithm == algorithm }
    }

    /// Returns the fresh keys; the cached ones while the database is unreachable.
    private func copy(of application: ApplicationID?) async throws(Failure) -> Copy {
        do throws(Failure) { return try await fresh(application) } catch {
            guard let known = state.withLockedValue({ $0.copies[application] }) else { throw error }
            return known
        }
    }

    /// Returns the key that verifies a token of an application; nil if no published key has the id.
    ///
    /// - Throws: As `published(of:by:for:)`.
    package func verifying(
        _ id: String,
        for application: ApplicationID
    ) async throws(Failure) -> SigningKey? {
        try await copy(of: application).verifying.first { $0.id.hasSameBytes(as: id) }
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
        let read = Copy(
            keys,
            of: application,
            read: asked,
            former: state.withLockedValue { $0.copies[application] },
            masterKeys: masterKeys
        )
        state.withLockedValue { state in
            // An older result replaces no newer one. A result from before a change may lack the change.
            let latest = [state.copies[application]?.read, state.changed].compactMap(\.self).max()
            if latest.map({ $0 < asked }) ?? true { state.copies[application] = read }
        }
        return read
    }
}
