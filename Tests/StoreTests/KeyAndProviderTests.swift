import Domain
import Encodings
import Store
import Testing
import TestSupport

@Suite("Changes of keys, Facebook apps and mappings")
struct KeyAndProviderTests {
    @Test("keys are made, replaced, relabelled and revoked; a label or a key that is taken is a conflict")
    func keys() async throws {
        try await Tenant.lend { tenant in
            let (first, second) = (Tenant.randomHash(), Tenant.randomHash())
            try await tenant.change(
                .addKey(label: "a", hash: first, server: false),
                .addKey(label: "b", hash: second, server: false)
            )
            let before = try await tenant.state()
            #expect(
                await tenant.refusal(.addKey(label: "a", hash: Tenant.randomHash(), server: false))?.reason == .conflict
            )
            #expect(await tenant.refusal(.addKey(label: "c", hash: first, server: false))?.reason == .conflict)
            #expect(await tenant.refusal(.relabelKey(from: "a", to: "b"))?.reason == .conflict)
            #expect(await tenant.refusal(.revokeKey(label: "c"))?.reason == .internal)
            #expect(try await tenant.state() == before)
            let third = Tenant.randomHash()
            let changed = try await tenant.change(
                .relabelKey(from: "a", to: "z"),
                .replaceKey(label: "z", hash: third),
                .revokeKey(label: "b")
            )
            #expect(changed?.keys.map(\.label) == ["z"])
            #expect(changed?.keys.first?.hash == third)
        }
    }

    @Test("an app whose secret is not given keeps it, with its key and the time of its change")
    func facebookApps() async throws {
        try await Tenant.lend { tenant in
            let ids = try ["1", "2", "3"].map { try #require(ProviderAppID($0)) }
            let secret = EncryptedSecret(bytes: [7, 7], keyID: "k1")
            try await tenant.change(
                .setProvider(.facebook, kind: .facebook, enabled: true, options: .object([:])),
                .setProviderApps(
                    .facebook,
                    [
                        .init(id: ids[0], secret: secret, configID: "7"),
                        .init(id: ids[1], secret: secret, configID: "8"),
                    ]
                )
            )
            try await tenant.database.psql(
                "update federation.provider_apps set secret_changed = '2001-02-03 04:05:06Z'"
            )
            let fresh = EncryptedSecret(bytes: [9], keyID: "k2")
            let changed = try await tenant.change(
                .setProvider(
                    .facebook,
                    kind: .facebook,
                    enabled: false,
                    options: .object(["nonce": .string("off"), "returnUrls": .array([.string("a:/\"b\"")])])
                ),
                .setProviderApps(
                    .facebook,
                    [
                        .init(id: ids[1], secret: nil, configID: "9"), .init(id: ids[2], secret: fresh, configID: "10"),
                        .init(id: ids[0], secret: fresh),
                    ]
                )
            )
            let apps = try #require(changed?.providers[.facebook]?.apps)
            #expect(apps.map(\.id) == [ids[1], ids[2], ids[0]])
            #expect(apps.map(\.secret) == [secret, fresh, fresh])
            #expect(apps.map(\.configID) == ["9", "10", nil])
            #expect(apps.map { $0.secretChanged == 981_173_106_000 } == [true, false, false])
            #expect(changed?.providers[.facebook]?.options.object?["nonce"]?.string == "off")
            #expect(changed?.providers[.facebook]?.options.object?["returnUrls"]?.array == [.string("a:/\"b\"")])
            #expect(
                try await tenant.store.application(tenant.application.id)?.providers[.facebook]?.options
                    == changed?.providers[.facebook]?.options
            )

            let before = try await tenant.state()
            let unknown = try #require(ProviderAppID("4"))
            #expect(
                await tenant.refusal(.setProviderApps(.facebook, [.init(id: unknown, secret: nil)]))?.reason
                    == .internal
            )
            #expect(try await tenant.state() == before)
            #expect(
                try await tenant.change(.setProviderApps(.facebook, [.init(id: ids[2], secret: nil)]))?.providers[
                    .facebook
                ]?.apps.map(
                    \.id
                ) == [ids[2]]
            )
            #expect(try await tenant.change(.removeProvider(.facebook))?.providers[.facebook] == nil)
            #expect(try await tenant.database.psql("select * from federation.provider_apps").isEmpty)
        }
    }

    @Test("revisions of a mapping are kept with their authors, and the newest is the active one")
    func mappings() async throws {
        try await Tenant.lend { tenant in
            let documents = (1...5).map { JSONValue.array([.object(["to": .integer($0)])]) }
            for document in documents { try await tenant.change(.setMapping(.facebook, document)) }
            let id = tenant.application.id
            let newest = try await tenant.store.mappingRevisions(for: .facebook, of: id, before: nil, limit: 2)
            #expect(newest.map(\.revision) == [5, 4])
            #expect(newest.map(\.isActive) == [true, false])
            #expect(newest.map(\.document) == [documents[4], documents[3]])
            #expect(newest.map(\.author) == ["ann", "ann"])
            let older = try await tenant.store.mappingRevisions(for: .facebook, of: id, before: 4, limit: 10)
            #expect(older.map(\.revision) == [3, 2, 1])
            #expect(try await tenant.store.mappingRevision(2, for: .facebook, of: id)?.document == documents[1])
            #expect(try await tenant.store.mappingRevision(6, for: .facebook, of: id) == nil)
            #expect(try await tenant.store.application(id)?.mappings[.facebook]?.revision == 5)
        }
    }
}
