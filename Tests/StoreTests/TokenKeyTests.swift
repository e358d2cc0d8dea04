import Domain
import Encodings
import Store
import Testing
import TestSupport

@Suite("Storing the keys of signed tokens")
struct TokenKeyTests {
    private static let actor = ChangeAuthor(name: "ann", source: "test")

    /// Returns a key of the tenant.
    private static func key(_ name: String, under keyID: String = "new", type: String = "EC") throws -> NewTokenKey {
        try key(name, of: #require(ApplicationID("tenant")), under: keyID, type: type)
    }

    private static func key(
        _ name: String,
        of application: ApplicationID,
        under keyID: String = "new",
        type: String = "EC"
    ) -> NewTokenKey {
        NewTokenKey(
            id: name + String(repeating: "0", count: 43 - name.utf8.count),
            application: application,
            secret: EncryptedSecret(bytes: Array(name.utf8), keyID: keyID),
            publicKey: ["kty": .string(type)]
        )
    }

    @Test("the first key of each type is added once")
    func first() async throws {
        try await Tenant.lend { tenant in
            try await tenant.store.addFirstTokenKey(Self.key("a"))
            try await tenant.store.addFirstTokenKey(Self.key("b"))
            for name in ["c", "d"] { try await tenant.store.addFirstTokenKey(Self.key(name, type: "RSA")) }
            let keys = try await tenant.store.tokenKeys()
            #expect(keys.map(\.id) == [try Self.key("a").id, try Self.key("c").id])
            #expect(keys.map(\.algorithm) == [.es256, .rs256])
            #expect(keys.first?.application?.text == "tenant")
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

    @Test("a rotation, even at once, leaves the keys of another type alone")
    func types() async throws {
        try await Tenant.lend { tenant in
            let store = tenant.store
            func rotate(_ name: String, _ type: String, atOnce: Bool = false) async throws {
                try await store.rotateTokenKeys(
                    to: Self.key(name, type: type),
                    atOnce: atOnce,
                    keptSeconds: 60,
                    by: Self.actor
                )
            }
            for (name, type) in [("a", "EC"), ("b", "RSA"), ("c", "RSA"), ("d", "EC")] { try await rotate(name, type) }
            #expect(try await store.tokenKeys().map { $0.retired == nil } == [false, false, true, true])
            try await rotate("e", "RSA", atOnce: true)
            #expect(try await store.tokenKeys().map { $0.id.first } == ["a", "d", "e"])
            let log = try await store.audit(
                matching: AuditFilter(action: "token-key.rotate"),
                before: nil,
                limit: 100
            )
            #expect(log.first?.details.object?["from"]?.object?["id"]?.string?.first == "c")
        }
    }

    @Test(
        "re-encryption changes the ciphertext and its key, removes what does not open, and leaves other master keys alone"
    )
    func reencryption() async throws {
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
            @Sendable func step(_ reencrypt: @escaping @Sendable (EncryptedValue) -> EncryptedSecret?) async throws
                -> Int
            {
                try await store.reencrypt(
                    .tokenKeys,
                    of: nil,
                    notUnder: "new",
                    among: ["old"],
                    limit: 10,
                    by: Self.actor,
                    reencrypt: reencrypt
                )
            }
            let count = try await step { value in
                #expect(value.application?.text == "tenant")
                return value.key[0].hasPrefix("b")
                    ? nil : EncryptedSecret(bytes: value.secret.bytes + [1], keyID: "new")
            }
            #expect(count == 2)
            let keys = try await store.tokenKeys()
            #expect(
                keys.map { "\($0.id.prefix(1)) \($0.secret.keyID) \($0.secret.bytes.count)" }.sorted() == [
                    "a new 2", "c stranger 1", "d new 1",
                ]
            )
            let counts = try await store.encrypted(.tokenKeys, of: nil)
            #expect(counts.map(\.keyID) == ["new", "stranger"])
            #expect(counts.map(\.count) == [2, 1])
            #expect(try await step { _ in nil } == 0)
        }
    }

    @Test("keys are each application's own: what happens to one's leaves the others' alone, and they go with it")
    func separation() async throws {
        try await Tenant.lend { tenant in
            let store = tenant.store
            let (mine, other) = (tenant.application.id, try #require(ApplicationID("other")))
            try await tenant.change([.create(name: "Other", schema: "other", settings: .object([:]))], of: other)
            try await store.addFirstTokenKey(Self.key("a", of: mine))
            try await store.addFirstTokenKey(Self.key("b", of: other))
            func ids(_ application: ApplicationID?) async throws -> String {
                try await store.tokenKeys(of: application).map { String($0.id.prefix(1)) }.joined(separator: " ")
            }
            #expect(try await ids(mine) == "a")
            #expect(try await ids(other) == "b")
            try await store.rotateTokenKeys(to: Self.key("c", of: mine), atOnce: true, keptSeconds: 60, by: Self.actor)
            #expect(try await ids(mine) == "c")
            #expect(try await ids(other) == "b")
            #expect(try await store.tokenKeys(of: other).first?.retired == nil)
            try await store.rotateTokenKeys(
                to: Self.key("d", of: other),
                atOnce: false,
                keptSeconds: 60,
                by: Self.actor
            )
            #expect(try await store.tokenKeys(of: mine).first?.retired == nil)
            #expect(try await ids(nil) == "b c d")
            try await tenant.database.psql("delete from federation.applications where id = 'other'")
            #expect(try await ids(nil) == "c")
        }
    }

    @Test(
        "a key of all applications is retired by the migration, stands beside each one's own, and goes with what replaces it at once"
    )
    func common() async throws {
        try await Tenant.lend { tenant in
            let store = tenant.store
            let common = String(repeating: "z", count: 43)
            try await tenant.database.psql(
                """
                insert into federation.token_keys (id, secret, secret_key_id, public_key, created)
                values ('\(common)', 'x', 'new', '{"kty": "EC"}', now() - interval '1 day')
                """
            )
            try await store.migrate()
            let retired = try await store.tokenKeys(of: tenant.application.id)
            #expect(retired.map(\.id) == [common])
            #expect(retired.first?.application == nil)
            let since = try #require(retired.first?.retired)
            try await store.migrate()
            #expect(try await store.tokenKeys().first?.retired == since, "another migration changes nothing")
            try await store.addFirstTokenKey(Self.key("a"))
            #expect(try await store.tokenKeys(of: tenant.application.id).count == 2)
            try await store.rotateTokenKeys(to: Self.key("b"), atOnce: true, keptSeconds: 9999, by: Self.actor)
            #expect(try await store.tokenKeys().map { $0.id.first } == ["b"])
        }
    }
}
