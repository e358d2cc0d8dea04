import Domain
import Encodings
@testable import Store
import Testing
import TestSupport

@Suite("Re-encryption of kept tokens")
struct TokenReencryptionTests {
    /// Lends a tenant with 20 tokens encrypted under the key `key`, and its place.
    private func lend(_ body: (Tenant, ApplicationPlace) async throws -> Void) async throws {
        try await Tenant.lend { tenant in
            try await tenant.fill(20)
            let places = try await tenant.store.applicationPlaces()
            #expect(places.map(\.id.text) == ["tenant"])
            try await body(tenant, try #require(places.first))
        }
    }

    private func step(
        _ tenant: Tenant,
        _ place: ApplicationPlace,
        _ reencrypt: @escaping @Sendable (EncryptedValue) -> EncryptedSecret? = {
            EncryptedSecret(bytes: Array($0.key.dropFirst().joined(separator: "/").utf8), keyID: "new")
        }
    ) async throws -> Int {
        try await tenant.store.reencrypt(
            .providerTokens,
            of: place,
            notUnder: "new",
            among: ["key"],
            limit: 12,
            by: Tenant.actor,
            reencrypt: reencrypt
        )
    }

    private func counts(_ tenant: Tenant, _ place: ApplicationPlace) async throws -> [String] {
        let tokens = try await tenant.store.encrypted(.providerTokens, of: place)
        let passing = try await tenant.store.encrypted(.loginCodes, of: place)
        return Set((tokens + passing).map(\.keyID)).sorted().map { keyID in
            let counts = [tokens, passing].map { all in all.first { $0.keyID == keyID }?.count ?? 0 }
            return "\(keyID) \(counts[0]) \(counts[1])"
        }
    }

    @Test("in steps, until none is left; only the ciphertext and its key change, each at its own identity")
    func steps() async throws {
        try await lend { tenant, place in
            try await tenant.database.psql(
                """
                insert into \(Tenant.schema).single_use (kind, hash, payload, payload_key_id, expires)
                select 'state', sha256(n::text::bytea), 'x', 'key', now() + (n - 2) * interval '1 hour' from generate_series(1, 3) n
                """
            )
            let rest = "string_agg(concat_ws(' ', subject, check_due, checked, token_kind), ',' order by subject)"
            func others() async throws -> [[String?]] {
                try await tenant.database.psql("select \(rest) from \(Tenant.schema).identities")
            }
            let before = try await others()
            #expect(try await counts(tenant, place) == ["key 20 1"])
            #expect(try await step(tenant, place) == 12)
            #expect(try await counts(tenant, place) == ["key 8 1", "new 12 0"])
            #expect(try await step(tenant, place) == 8)
            #expect(try await step(tenant, place) == 0)
            #expect(try await counts(tenant, place) == ["key 0 1", "new 20 0"])
            #expect(try await others() == before)
            let wrong = try await tenant.database.psql(
                "select count(*) from \(Tenant.schema).identities where encode(token, 'escape') <> '42/' || subject"
            )
            #expect(wrong == [["0"]])
            let entries = try await tenant.store.audit(
                matching: AuditFilter(action: "secrets.reencrypt"),
                before: nil,
                limit: 10
            )
            #expect(entries.map(\.target) == ["identities", "identities"])
        }
    }

    @Test("tokens of every provider are done, each at its own identity")
    func everyProvider() async throws {
        try await lend { tenant, place in
            try await tenant.fill(2, at: "other", app: "https://sso.example.com/")
            while try await step(
                tenant,
                place,
                { EncryptedSecret(bytes: Array($0.column.row($0.key).utf8), keyID: "new") }
            ) > 0 {}
            #expect(try await counts(tenant, place) == ["new 22 0"])
            let tokens = try await tenant.database.psql(
                "select encode(token, 'escape') from \(Tenant.schema).identities where provider = 'other' order by 1"
            )
            #expect(tokens == [["other/https:%2F%2Fsso.example.com%2F/1"], ["other/https:%2F%2Fsso.example.com%2F/2"]])
        }
    }

    @Test("a row with bytes in its key is found by them")
    func bytes() async throws {
        try await lend { tenant, place in
            try await tenant.database.psql(
                """
                insert into \(Tenant.schema).single_use (kind, hash, payload, payload_key_id, expires)
                select 'state', sha256(n::text::bytea), 'x', 'key', now() + interval '1 hour' from generate_series(1, 3) n
                """
            )
            var column = EncryptedColumn.loginCodes
            column.unopened = .removed
            let done = try await tenant.store.reencrypt(
                column,
                of: place,
                notUnder: "new",
                among: ["key"],
                limit: 12,
                by: Tenant.actor
            ) { EncryptedSecret(bytes: Array($0.key.joined(separator: "/").utf8), keyID: "new") }
            #expect(done == 3)
            let rows = try await tenant.database.psql(
                "select encode(payload, 'escape'), encode(hash, 'hex') from \(Tenant.schema).single_use"
            )
            #expect(rows.count == 3)
            for row in rows {
                let hash = try #require(Hexadecimal.decode((row[1] ?? "").utf8))
                #expect(row[0] == "state/" + Base64URL.encode(hash))
            }
        }
    }

    @Test("a login's row is skipped while it is written, and done the next time; what opens nowhere is forgotten")
    func skipping() async throws {
        try await lend { tenant, place in
            try await tenant.database.whileLocked(
                "select from \(Tenant.schema).identities where subject <> '7' for update"
            ) {
                let encrypted = try await step(tenant, place)
                #expect(encrypted == 1)
            }
            _ = try await step(tenant, place) { $0.key[2] == "8" ? nil : EncryptedSecret(bytes: [1], keyID: "new") }
            _ = try await step(tenant, place) { $0.key[2] == "8" ? nil : EncryptedSecret(bytes: [1], keyID: "new") }
            #expect(try await counts(tenant, place) == ["new 19 0"])
            #expect(try await tenant.identity("concat_ws(' ', 'x', token, token_key_id, check_due)", "8") == "x")
        }
    }
}
