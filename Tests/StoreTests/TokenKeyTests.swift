import Identity
import Store
import TestSupport
import Testing

@Suite("Storing the keys of signed tokens")
struct TokenKeyTests {
    private static let actor = Actor(name: "ann", source: "test")

    private static func key(_ name: String, under keyID: String = "new") -> NewTokenKey {
        NewTokenKey(
            id: name + String(repeating: "0", count: 43 - name.utf8.count),
            secret: SealedSecret(bytes: Array(name.utf8), keyID: keyID),
            publicKey: ["kty": .string("EC")]
        )
    }

    @Test("the first key is added once")
    func first() async throws {
        try await Tenant.lend { tenant in
            try await tenant.store.addFirstTokenKey(Self.key("a"))
            try await tenant.store.addFirstTokenKey(Self.key("b"))
            let keys = try await tenant.store.tokenKeys()
            #expect(keys.map(\.id) == [Self.key("a").id])
            #expect(keys.first?.retired == nil)
            #expect(keys.first?.publicKey["kty"]?.string == "EC")
        }
    }

    @Test("ten rotations at once leave one key that is not retired, and each is in the audit log")
    func rotations() async throws {
        try await Tenant.lend { tenant in
            let store = tenant.store
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<10 {
                    group.addTask {
                        try await store.rotateTokenKeys(
                            to: Self.key("k\(index)"),
                            atOnce: false,
                            keptSeconds: 60,
                            by: Self.actor
                        )
                    }
                }
                try await group.waitForAll()
            }
            let keys = try await store.tokenKeys()
            #expect(keys.count == 10)
            #expect(keys.count { $0.retired == nil } == 1)
            let log = try await store.audit(
                matching: AuditFilter(action: "token-key.rotate"),
                before: nil,
                limit: 100
            )
            #expect(log.count == 10)
        }
    }

    @Test("a rotation removes what is retired for long, and at once all others")
    func removal() async throws {
        try await Tenant.lend { tenant in
            let store = tenant.store
            func rotate(_ name: String, atOnce: Bool = false) async throws {
                try await store.rotateTokenKeys(to: Self.key(name), atOnce: atOnce, keptSeconds: 60, by: Self.actor)
            }
            for name in ["a", "b"] { try await rotate(name) }
            try await tenant.database.psql(
                "update federation.token_keys set retired = now() - interval '61 s' where retired is not null"
            )
            try await rotate("c")
            #expect(try await store.tokenKeys().map { $0.id.first } == ["b", "c"])
            try await rotate("d", atOnce: true)
            #expect(try await store.tokenKeys().map { $0.id.first } == ["d"])
        }
    }

    @Test(
        "resealing changes the ciphertext and its key, removes what does not open, and leaves other master keys alone"
    )
    func resealing() async throws {
        try await Tenant.lend { tenant in
            let store = tenant.store
            for (name, keyID) in [("a", "old"), ("b", "old"), ("c", "stranger"), ("d", "new")] {
                try await store.rotateTokenKeys(
                    to: Self.key(name, under: keyID),
                    atOnce: false,
                    keptSeconds: 60,
                    by: Self.actor
                )
            }
            let count = try await store.resealTokenKeys(notUnder: "new", among: ["old"], by: Self.actor) { sealed, id in
                id.hasPrefix("b") ? nil : SealedSecret(bytes: sealed.bytes + [1], keyID: "new")
            }
            #expect(count == 2)
            let keys = try await store.tokenKeys()
            #expect(
                keys.map { "\($0.id.prefix(1)) \($0.secret.keyID) \($0.secret.bytes.count)" }.sorted() == [
                    "a new 2", "c stranger 1", "d new 1",
                ]
            )
            let counts = try await store.tokenKeysByKey()
            #expect(counts.map(\.keyID) == ["new", "stranger"])
            #expect(counts.map(\.count) == [2, 1])
            let again = try await store.resealTokenKeys(notUnder: "new", among: ["old"], by: Self.actor) { _, _ in nil }
            #expect(again == 0)
        }
    }
}
