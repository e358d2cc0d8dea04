import Identity
import Testing

@testable import Verification

@Suite("When Facebook's keys are fetched")
struct SigningKeyCacheTests {
    private let start = ContinuousClock.now
    private let (a, b, c): (SigningKey, SigningKey, SigningKey)

    init() throws {
        let jwk = try Signer.known.get().jwk
        func key(_ id: String) throws -> SigningKey { try #require(SigningKey(jwk: jwk.with(["kid": .string(id)]))) }
        (a, b, c) = (try key("a"), try key("b"), try key("c"))
    }

    private enum Event {
        /// A token names a key; what to do about it.
        case token(String, String)
        case fetched([SigningKey])
        case failed
    }

    private static let down = Failure(.providerUnavailable, "down", retryAfter: 2, cause: "why")

    /// Runs through events, each with its second.
    private func run(_ events: [(Double, Event)], sourceLocation: SourceLocation = #_sourceLocation) {
        var cache = SigningKeyCache()
        for (second, event) in events {
            let now = start + .seconds(second)
            switch event {
            case .token(let id, let expected):
                let decision = Self.word(cache.key(id, at: now))
                #expect(decision == expected, "\(id) at \(second) s", sourceLocation: sourceLocation)
            case .fetched(let keys): cache.fetched(keys, at: now)
            case .failed: cache.failed(Self.down, at: now)
            }
        }
    }

    private static func word(_ decision: SigningKeyCache.Decision) -> String {
        switch decision {
        case .key(let key): "key \(key.id)"
        case .keyAndFetch(let key): "key \(key.id) and fetch"
        case .fetch: "fetch"
        case .wait: "wait"
        case .unknown: "unknown"
        case .unavailable(let failure): "\(failure.reason.rawValue) \(failure.retryAfter ?? 0)"
        }
    }

    @Test("the first token fetches, those beside it wait, and after that nobody asks")
    func first() {
        run([
            (0, .token("a", "fetch")), (0.1, .token("a", "wait")), (0.2, .token("b", "wait")), (1, .fetched([a, b])),
            (1, .token("a", "key a")), (1, .token("b", "key b")), (43_199, .token("a", "key a")),
        ])
    }

    @Test("T-26: unknown names fetch once a minute, whatever they are and however many")
    func unknown() {
        run([
            (0, .token("x", "fetch")), (0.5, .token("a", "wait")), (1, .fetched([a, b])), (1, .token("x", "unknown")),
            (60.9, .token("y", "unknown")), (61, .token("y", "fetch")), (61, .token("z", "wait")),
            (61, .token("a", "key a")), (62, .fetched([a, b])), (62, .token("z", "unknown")),
            (121.9, .token("x", "unknown")), (122, .token("x", "fetch")),
        ])
    }

    @Test("a fetch that brought what it was for keeps nobody from the next one")
    func success() {
        run([
            (0, .token("a", "fetch")), (1, .fetched([a])), (1, .token("b", "fetch")), (2, .fetched([a, b])),
            (2, .token("x", "fetch")), (3, .fetched([a, b])), (3, .token("x", "unknown")), (3, .token("y", "unknown")),
        ])
    }

    @Test("F-12: a rotation is seen at the first token of the new key, and both keys count meanwhile")
    func rotation() {
        run([
            (0, .token("a", "fetch")), (1, .fetched([a, b])), (1000, .token("c", "fetch")),
            (1000, .token("b", "key b")),
            (1000, .token("a", "key a")), (1001, .fetched([b, c])), (1001, .token("c", "key c")),
            (1001, .token("b", "key b")), (1001, .token("a", "fetch")), (1002, .fetched([b, c])),
            (1002, .token("a", "unknown")),
        ])
    }

    @Test("F-12: a fetch that fails takes no key away, and who needs another key is told when to come back")
    func failure() {
        run([
            (0, .token("a", "fetch")), (1, .fetched([a])), (100, .token("x", "fetch")), (102, .failed),
            (102, .token("a", "key a")), (102, .token("x", "provider_unavailable 60")),
            (150.5, .token("y", "provider_unavailable 12")), (162, .token("x", "fetch")), (163, .fetched([a])),
            (163, .token("x", "unknown")),
        ])
    }

    @Test("without any key a failed fetch is repeated after five seconds")
    func noKeys() {
        run([
            (0, .token("a", "fetch")), (2.5, .failed), (2.5, .token("a", "provider_unavailable 5")),
            (7.4, .token("a", "provider_unavailable 1")), (7.5, .token("a", "fetch")), (7.6, .token("a", "wait")),
            (8, .fetched([a])), (8, .token("a", "key a")),
        ])
    }

    @Test("after half a day the keys are fetched beside a login, by one of them, at most once a minute")
    func refresh() {
        run([
            (0, .token("a", "fetch")), (0, .fetched([a])), (43_199, .token("a", "key a")),
            (43_200, .token("a", "key a and fetch")), (43_201, .token("a", "key a")), (43_202, .failed),
            (43_203, .token("a", "key a")), (43_262, .token("a", "key a and fetch")), (43_263, .fetched([b])),
            (43_263, .token("a", "unknown")),
        ])
    }

    @Test("F-12: after a day a login waits for new keys; while none can be had the old ones count for another day")
    func stale() {
        run([
            (0, .token("a", "fetch")), (0, .fetched([a])), (86_400, .token("a", "fetch")),
            (86_401, .token("a", "wait")),
            (86_402, .failed), (86_402, .token("a", "key a")), (86_461, .token("a", "key a")),
            (86_462, .token("a", "fetch")), (86_463, .failed), (172_799, .token("a", "fetch")), (172_799, .failed),
            (172_799.5, .token("a", "key a")), (172_800, .token("a", "provider_unavailable 4")),
            (172_804, .token("a", "fetch")), (172_805, .fetched([a])), (172_805, .token("a", "key a")),
        ])
    }
}
