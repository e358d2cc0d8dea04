import Identity
import NIOConcurrencyHelpers
import Store

/// The keys of signed tokens, as an instance knows them: a copy that is at most some seconds old.
final class TokenKeys: Sendable {
    private struct Copy {
        let keys: [StoredTokenKey]
        let signing: TokenKey?
        let read: ContinuousClock.Instant
    }

    private let store: Store
    private let masterKeys: MasterKeys
    private let copy = NIOLockedValueBox<Copy?>(nil)

    /// How old the copy may be: then a rotation counts on every instance.
    private static let freshness: Duration = .seconds(5)

    init(store: Store, masterKeys: MasterKeys) {
        self.store = store
        self.masterKeys = masterKeys
    }

    /// The key that signs; the first one is made when it is needed.
    ///
    /// - Throws: `internal` when no master key at hand opens it; `store_unavailable` and its like.
    func signing() async throws(Failure) -> TokenKey {
        var copy = try await fresh()
        if !copy.keys.contains(where: { $0.retired == nil }) {
            try await store.addFirstTokenKey(TokenKey().stored(under: masterKeys))
            copy = try await read()
        }
        guard let key = copy.signing else {
            throw Failure(
                .internal,
                "The service cannot sign tokens.",
                cause: """
                    the key that signs tokens is under a master key that is not at hand: give that, or make another key by \
                    federation token-key rotate --at-once
                    """
            )
        }
        return key
    }

    /// The keys that are published.
    ///
    /// - Throws: `store_unavailable` and its like, when nothing is known; else what is known is good while the database is away.
    func published() async throws(Failure) -> [StoredTokenKey] {
        do throws(Failure) {
            return TokenKeyRing.published(among: try await fresh().keys)
        } catch {
            guard let known = copy.withLockedValue(\.self) else { throw error }
            return TokenKeyRing.published(among: known.keys)
        }
    }

    private func fresh() async throws(Failure) -> Copy {
        if let known = copy.withLockedValue(\.self), .now - known.read < Self.freshness { return known }
        return try await read()
    }

    private func read() async throws(Failure) -> Copy {
        let asked = ContinuousClock.now
        let keys = try await store.tokenKeys()
        let signing = TokenKeyRing.signing(among: keys).flatMap { TokenKey($0, masterKeys: masterKeys) }
        let read = Copy(keys: keys, signing: signing, read: asked)
        copy.withLockedValue { copy in
            // What was asked later knows more.
            if copy.map({ $0.read < asked }) ?? true { copy = read }
        }
        return read
    }
}
