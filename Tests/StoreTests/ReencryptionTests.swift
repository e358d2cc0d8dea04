import Domain
import Encodings
import Postgres
import Store
import Testing
import TestSupport

/// The former master keys of the secrets; re-encryption must leave no secret under them.
private let formerKeys = ["old1", "old2"]

@Suite("Re-encryption of secrets")
struct ReencryptionTests {
    /// Lends a tenant with a second application, three apps under two former keys and one under the new key.
    private func lend(_ body: (Tenant) async throws -> Void) async throws {
        try await Tenant.lend { tenant in
            let other = try #require(ApplicationID("other"))
            let settings = ConfigurationChange.setProvider(
                .facebook,
                kind: .facebook,
                enabled: true,
                options: .object([:])
            )
            try await tenant.change(
                settings,
                .setProviderApps(
                    .facebook,
                    [
                        .init(id: try app("1"), secret: encrypted("old1")),
                        .init(id: try app("2"), secret: encrypted("old2")),
                    ]
                )
            )
            try await tenant.change(
                [
                    .create(name: "Other", schema: "other", settings: .object([:])), settings,
                    .setProviderApps(
                        .facebook,
                        [
                            .init(id: try app("1"), secret: encrypted("new")),
                            .init(id: try app("3"), secret: encrypted("old1")),
                        ]
                    ),
                ],
                of: other
            )
            try await tenant.database.psql(
                "update federation.provider_apps set secret_changed = '2001-02-03 04:05:06Z'"
            )
            try await body(tenant)
        }
    }

    private func app(_ id: String) throws -> ProviderAppID { try #require(ProviderAppID(id)) }
    private func encrypted(_ key: String) -> EncryptedSecret { EncryptedSecret(bytes: Array(key.utf8), keyID: key) }

    /// Returns a value that names the secret's place, by which a test sees whether it is stored in the right place.
    private static func reencrypt(_ stored: EncryptedValue) -> EncryptedSecret {
        let application = stored.application?.text ?? ""
        return EncryptedSecret(bytes: Array("\(application)/\(stored.key.last ?? "")".utf8), keyID: "new")
    }

    private static func step(
        _ tenant: Tenant,
        limit: Int = 10,
        _ reencrypt: @escaping @Sendable (EncryptedValue) -> EncryptedSecret? = reencrypt
    ) async throws -> Int {
        try await tenant.store.reencrypt(
            .appSecrets,
            of: nil,
            notUnder: "new",
            among: formerKeys,
            limit: limit,
            by: Tenant.actor,
            reencrypt: reencrypt
        )
    }

    @Test("in steps, until none is left; only the ciphertext and its key change, and every instance hears of it")
    func steps() async throws {
        try await lend { tenant in
            let counts = try await tenant.store.encrypted(.appSecrets, of: nil)
            #expect(counts.map(\.keyID) == ["new", "old1", "old2"])
            #expect(counts.map(\.count) == [1, 2, 1])
            let before = try await tenant.store.configuration(changedAfter: 0)
            var steps: [Int] = []
            repeat {
                steps.append(try await Self.step(tenant, limit: 2))
            } while steps.last != 0
            #expect(steps == [2, 1, 0])
            #expect(try await tenant.store.encrypted(.appSecrets, of: nil).map(\.count) == [4])

            let after = try await tenant.store.configuration(changedAfter: before.revision)
            #expect(after.revision == before.revision + 2)
            #expect(Set(after.changed.map(\.id.text)) == ["tenant", "other"])
            for application in after.changed {
                for app in application.providers[.facebook]?.apps ?? [] {
                    #expect(app.secretChanged == 981_173_106_000)
                    let untouched = application.id.text == "other" && app.id.text == "1"
                    let bytes = Array((untouched ? "new" : "\(application.id)/\(app.id)").utf8)
                    #expect(app.secret == EncryptedSecret(bytes: bytes, keyID: "new"))
                }
            }
            let entries = try await tenant.store.audit(
                matching: AuditFilter(action: "secrets.reencrypt"),
                before: nil,
                limit: 10
            )
            #expect(entries.map(\.application) == ["tenant", "tenant", "other"])
            #expect(
                entries.first?.details
                    == .object([
                        "from": .object(["keyIds": .array([.string("old2")])]),
                        "to": .object(["keyId": .string("new"), "secrets": .integer(1)]),
                    ])
            )
        }
    }

    @Test("what cannot be encrypted anew leaves everything as it was")
    func failure() async throws {
        try await lend { tenant in
            let before = try await tenant.state()
            let failure = await #expect(throws: Failure.self) {
                try await Self.step(tenant) { $0.secret.keyID == "old2" ? nil : Self.reencrypt($0) }
            }
            #expect(failure?.reason == .providerMisconfigured)
            #expect(
                failure?.message.hasPrefix("The secret of the app 2 at facebook of tenant cannot be decrypted") == true
            )
            #expect(try await tenant.state() == before)
        }
    }

    @Test("what others hold is skipped without waiting, and done the next time")
    func skipping() async throws {
        try await lend { tenant in
            let held = "select from federation.applications where id = 'tenant' for update"
            try await tenant.database.whileLocked(held) {
                let count = try await Self.step(tenant)
                #expect(count == 1)
            }
            #expect(try await Self.step(tenant) == 2)
        }
    }

    @Test("four at once encrypt each secret once")
    func atOnce() async throws {
        try await lend { tenant in
            let sum = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        var sum = 0
                        while try await tenant.store.encrypted(.appSecrets, of: nil).count > 1 {
                            sum += try await Self.step(tenant, limit: 1)
                        }
                        return sum
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(sum == 3)
        }
    }
}
