import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite("T-110: a database knows its master keys")
struct CommandLineKeyTests {
    private static let secret = "canary-typed-secret-0123456789"

    private static func key(_ number: Int) -> String {
        Data("canary-key-number-\(100 + number)-of-32-byte".utf8.prefix(32)).base64EncodedString()
    }

    /// Lends a migrated database, and an operator with its master key.
    private func withOffice(_ body: (CommandLineOperator, TestDatabase) async throws -> Void) async throws {
        try await withDatabase(.empty) { database in
            let ann = CommandLineOperator(database: database)
            try await ann.succeed("migrate")
            try await body(ann, database)
        }
    }

    private func known(in database: TestDatabase) async throws -> [String] {
        try await database.psql("select id from federation.master_keys order by registered, id").compactMap { $0[0] }
    }

    @Test("whoever has another key is refused before anything is written, and is told both keys; the service goes on")
    func otherKey() async throws {
        try await withOffice { ann, database in
            try await ann.succeed("set applications/demo")
            try await ann.succeed("set applications/demo/providers/facebook apps.1.appSecret=@-", input: Self.secret)
            let stored = "select secret, secret_key_id from federation.provider_apps"
            let before = try await database.psql(stored)
            let id = try #require(before.first?[1])
            let entries = "select count(*) from federation.audit_log"
            let audited = try await database.psql(entries)
            var bob = ann
            bob.environment["FEDERATION_MASTER_KEY"] = Self.key(1)
            for words in [
                "set applications/demo/providers/facebook apps.1.appSecret=@-", "set applications/shop",
                "set applications/demo/keys/ios",
                "token-key rotate demo", "set applications/demo/properties/birthday type=DATE",
                "set operators/ann role=owner",
                "delete applications/demo/providers/facebook --confirm facebook", "list applications/demo/users",
                "secrets rotate",
            ] {
                let said = try await bob.fail(words, with: 78, input: words.contains("stdin") ? Self.secret : "")
                #expect(said.contains("does not know the master key"), "\(words): \(said)")
                #expect(said.contains("it knows \(id)"), "\(words): \(said)")
                #expect(said.contains("FEDERATION_MASTER_KEY_FILE"), "\(words): \(said)")
            }
            #expect(try await database.psql(stored) == before)
            #expect(try await database.psql(entries) == audited)
            #expect(try await known(in: database) == [id])
            for listener in ["FEDERATION_LISTEN", "FEDERATION_MANAGEMENT_LISTEN"] {
                bob.environment[listener] = "127.0.0.1:0"
            }
            let refused = try await bob.run("serve")
            #expect(refused.exitStatus == .exited(78), "\(refused.standardError)")
            #expect(refused.standardError.contains("does not know the master key"), "\(refused.standardError)")
            // Commands that report the problem still work.
            #expect(try await bob.json("secrets status")["secrets"]?.array?.count == 1)
            let examined = try await bob.run("doctor --offline")
            #expect(examined.standardOutput.contains("error  keys"), "\(examined.standardOutput)")
            try await ann.succeed(
                "set applications/demo/providers/facebook apps.1.appSecret=@-",
                input: "canary-another-0123456789"
            )
        }
    }

    @Test("of several first users with keys of their own one counts, and the others are refused")
    func firstUsers() async throws {
        try await withOffice { ann, database in
            #expect(try await known(in: database) == [])
            let ends = try await withThrowingTaskGroup(of: ProcessEnd?.self, returning: [ProcessEnd?].self) { group in
                for number in 1...6 {
                    var other = ann
                    other.environment["FEDERATION_MASTER_KEY"] = Self.key(number)
                    let first = other
                    group.addTask { try await first.run("set applications/app\(number)").exitStatus }
                }
                var ends: [ProcessEnd?] = []
                for try await end in group { ends.append(end) }
                return ends
            }
            #expect(ends.count { $0 == .exited(0) } == 1, "\(ends)")
            #expect(ends.count { $0 == .exited(78) } == 5, "\(ends)")
            #expect(try await known(in: database).count == 1)
            #expect(try await database.psql("select count(*) from federation.applications") == [["1"]])
        }
    }

    @Test("a rotation brings a new key and ends the former one; when that is lost a key is registered by its id")
    func rotation() async throws {
        try await withOffice { ann, database in
            try await ann.succeed("set applications/demo")
            try await ann.succeed("set applications/demo/providers/facebook apps.1.appSecret=@-", input: Self.secret)
            let former = try await known(in: database)
            var next = ann
            next.environment["FEDERATION_MASTER_KEY"] = Self.key(1)
            next.environment["FEDERATION_MASTER_KEY_PREVIOUS"] = ann.environment["FEDERATION_MASTER_KEY"]
            // A command alone does not begin a rotation: instances could not decrypt what the command encrypted.
            try await next.fail("set applications/shop", with: 78)
            #expect(try await known(in: database) == former)
            try await next.succeed("secrets rotate")
            let current = try await known(in: database)
            #expect(current.count == 1 && current != former)
            try await next.succeed("set applications/shop")
            try await ann.fail("set applications/third", with: 78)
            try await ann.fail(
                "set applications/demo/providers/facebook apps.1.appSecret=@-",
                with: 78,
                input: Self.secret
            )

            var third = ann
            third.environment["FEDERATION_MASTER_KEY"] = Self.key(3)
            let asked = try await third.fail("secrets register", with: 64)
            let id = try #require(asked.firstMatch(of: /master key ([0-9a-f]{16})/)?.output.1)
            try await third.fail("secrets register --confirm \(current[0])", with: 64)
            #expect(try await known(in: database) == current)
            try await third.succeed("secrets register --confirm \(id)")
            #expect(try await known(in: database) == current + [String(id)])
            try await third.succeed("set applications/third")
            let audited = try await database.psql(
                "select action from federation.audit_log where target = 'master_keys' order by id"
            )
            #expect(audited == [["secrets.forget"], ["secrets.register"]])
        }
    }

    @Test("a database from before knows the keys that its secrets are under; an empty one none")
    func migrated() async throws {
        try await withDatabase(.empty) { database in
            try await database.psql(file: PackageLayout.path("Tests/StoreTests/Schemas/13.sql"))
            try await database.psql(
                """
                insert into federation.applications (id, name, schema_name) values ('old', 'Old', 'old');
                select federation.create_application_schema('old');
                insert into federation.provider_settings (application_id, provider, enabled, options) values
                    ('old', 'facebook', true, '{"webhookVerifyToken": {"sealed": "AA", "keyId": "b", "changed": null}}');
                insert into federation.provider_apps (application_id, provider, app_id, position, secret, secret_key_id)
                    values ('old', 'facebook', '42', 0, 'x', 'a');
                insert into federation.ban_key (secret, secret_key_id) values ('x', 'c')
                """
            )
            let ann = CommandLineOperator(database: database)
            let early = try await ann.fail("set applications/shop", with: 69)
            #expect(early.contains("federation migrate"), "\(early)")
            for _ in 1...2 { try await ann.succeed("migrate") }
            #expect(try await known(in: database).sorted() == ["a", "b", "c"])
            let said = try await ann.fail("set applications/shop", with: 78)
            #expect(said.contains("it knows a, b, c"), "\(said)")
        }
    }

    @Test("an instance whose key the database forgets serves nobody and is not ready, until the key is known again")
    func forgotten() async throws {
        try await withOffice { ann, database in
            try await ann.succeed("set applications/demo")
            let service = try await ServiceProcess.start(environment: ann.environment)
            let path = "/demo/\(Canary.apiKey)/users/login"
            #expect(try await service.client.post(path, json: "{}").status == 401)
            try await database.psql(
                """
                insert into federation.master_keys values ('other');
                delete from federation.master_keys where id <> 'other'
                """
            )
            try await eventually("it is noticed") {
                let health = try await service.management.get("/health/ready")
                return health.status == 503 && health.text.contains("it knows other")
            }
            #expect(try await service.client.post(path, json: "{}").status == 503)
            let asked = try await ann.fail("secrets register", with: 64)
            let id = try #require(asked.firstMatch(of: /master key ([0-9a-f]{16})/)?.output.1)
            try await ann.succeed("secrets register --confirm \(id)")
            try await eventually("it is noticed at once") {
                try await service.management.get("/health/ready").status == 200
            }
            #expect(try await service.client.post(path, json: "{}").status == 401)
            #expect(try await service.process.terminate() == .exited(0))
        }
    }

    @Test("secrets that do not open are an error for readiness, the doctor and the console alike")
    func unopened() async throws {
        try await withOffice { ann, database in
            try await ann.succeed("set applications/demo")
            try await ann.succeed("set applications/demo/keys/ios")
            try await ann.succeed("set applications/demo/providers/facebook apps.1.appSecret=@-", input: Self.secret)
            let service = try await ServiceProcess.start(environment: ann.environment)
            #expect(JSON.object(try await service.management.get("/health/ready").text)?["status"]?.string == "ready")
            try await database.psql(
                """
                update federation.provider_apps set secret_key_id = 'feedfeedfeedfeed';
                update federation.applications set revision = (select revision + 1 from federation.configuration);
                update federation.configuration set revision = revision + 1
                """
            )
            try await eventually("readiness says so") {
                let health = JSON.object(try await service.management.get("/health/ready").text)
                return health?["status"]?.string == "degraded"
                    && health?["errors"]?.array?.first?.string?.contains("feedfeedfeedfeed") == true
            }
            let errors = JSON.object(try await service.management.get("/health/ready").text)?["errors"]?.array ?? []
            let text = try #require(errors.first?.string?.split(separator: ": ", maxSplits: 1).last)
            let findings = try await ann.run("doctor --offline --json").standardOutput
            let found = JSON.object(findings)?["findings"]?.array?.compactMap(\.object) ?? []
            #expect(
                found.contains { $0["severity"]?.string == "error" && $0["text"]?.string == String(text) },
                "\(text): \(findings)"
            )
            #expect(try await service.process.terminate() == .exited(0))
        }
    }
}
