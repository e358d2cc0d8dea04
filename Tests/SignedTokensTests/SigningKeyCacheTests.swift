import Domain
import Encodings
@testable import SignedTokens
import Testing

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
        /// A token that names a key, and the decision of the cache.
        case token(String, String)
        /// A token whose signature the named key does not verify, and the decision of the cache.
        case misfit(String, String)
        case fetched([SigningKey])
        case failed
    }

    private static let down = Failure(.providerUnavailable, "down", retryAfter: 2, cause: "why")

    /// Runs the cache through events, each with its time in seconds.
    private func run(_ events: [(Double, Event)], sourceLocation: SourceLocation = #_sourceLocation) {
        var cache = SigningKeyCache()
        for (second, event) in events {
            let now = start + .seconds(second)
            switch event {
            case .token(let id, let expected):
                let decision = Self.word(cache.key(id, at: now))
                #expect(decision == expected, "\(id) at \(second) s", sourceLocation: sourceLocation)
            case .misfit(let id, let expected):
                let decision = Self.word(cache.renewedKey(id, at: now))
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
            (1, .token("a", "key a")), (1, .token("b", "key b")), (299, .token("a", "key a")),
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
            (0, .token("a", "fetch")), (1, .fetched([a, b])), (100, .token("c", "fetch")),
            (100, .token("b", "key b")),
            (100, .token("a", "key a")), (101, .fetched([b, c])), (101, .token("c", "key c")),
            (101, .token("b", "key b")), (101, .token("a", "fetch")), (102, .fetched([b, c])),
            (102, .token("a", "unknown")),
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

    @Test("after five minutes the keys are fetched beside a login, by one of them, at most once a minute")
    func refresh() {
        run([
            (0, .token("a", "fetch")), (0, .fetched([a])), (299, .token("a", "key a")),
            (300, .token("a", "key a and fetch")), (301, .token("a", "key a")), (302, .failed),
            (303, .token("a", "key a")), (362, .token("a", "key a and fetch")), (363, .fetched([b])),
            (363, .token("a", "unknown")),
        ])
    }

    @Test("under load no login waits, and keys are fetched every five minutes")
    func load() {
        run([
            (0, .token("a", "fetch")), (1, .fetched([a, b])), (299.9, .token("b", "key b")),
            (300, .token("a", "key a and fetch")), (300, .token("b", "key b")), (300, .token("a", "key a")),
            (301, .fetched([a, b])), (599.9, .token("a", "key a")), (600, .token("b", "key b and fetch")),
            (601, .fetched([a, b])), (601, .token("a", "key a")),
        ])
    }

    @Test(
        "F-12: a withdrawn key counts ten minutes at most while the keys can be had, reckoned from the question, not the answer"
    )
    func withdrawn() {
        run([
            // Facebook responds slowly: the response may still have a key withdrawn meanwhile.
            (0, .token("a", "fetch")), (20, .fetched([a, b])), (599, .token("b", "key b and fetch")),
            (600, .token("a", "wait")),
            (601, .fetched([b])), (601, .token("a", "fetch")), (602, .fetched([b])), (602, .token("a", "unknown")),
            // No login came meanwhile.
            (9000, .token("b", "fetch")), (9000, .token("b", "wait")), (9000, .token("x", "wait")),
            (9001, .fetched([c])),
            (9001, .token("b", "unknown")), (9001, .token("c", "key c")),
        ])
    }

    @Test("F-12: after ten minutes a login waits for new keys; while none can be had the old ones count, for two days")
    func stale() {
        run([
            (0, .token("a", "fetch")), (0, .fetched([a])), (600, .token("a", "fetch")), (601, .token("a", "wait")),
            (602, .failed), (602, .token("a", "key a")), (661, .token("a", "key a")),
            (662, .token("a", "fetch")), (663, .failed), (172_799, .token("a", "fetch")), (172_799, .failed),
            (172_799.5, .token("a", "key a")), (172_800, .token("a", "provider_unavailable 4")),
            (172_804, .token("a", "fetch")), (172_805, .fetched([a])), (172_805, .token("a", "key a")),
        ])
    }

    @Test("who has waited in vain takes the key that is known, however old, and no other and none that is useless")
    func inVain() {
        var cache = SigningKeyCache()
        #expect(cache.known("a", at: start) == nil)
        _ = cache.key("a", at: start)
        cache.fetched([a], at: start)
        #expect(cache.known("a", at: start + .seconds(172_799))?.id == "a")
        #expect(cache.known("a", at: start + .seconds(172_800)) == nil)
        #expect(cache.known("b", at: start) == nil)
    }

    @Test("a key that does not verify a signature is fetched anew, at most once a minute")
    func misfit() {
        run([
            (0, .token("a", "fetch")), (1, .fetched([a])), (30, .misfit("a", "unknown")), (61, .misfit("a", "fetch")),
            (61.5, .misfit("a", "wait")), (62, .fetched([a])), (63, .misfit("a", "unknown")),
            (100, .misfit("a", "unknown")), (122, .misfit("a", "fetch")), (123, .failed),
            (130, .misfit("a", "unknown")),
            (131, .token("a", "key a")), (184, .misfit("a", "fetch")),
        ])
    }
}
