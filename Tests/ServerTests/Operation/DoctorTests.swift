import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "The doctor",
    .serialized,
    .deployed(Document(properties: #"{"city": {"type": "STRING"}}"#, mapping: #"{"email": "email"}"#))
)
struct DoctorTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private static let otherKey = Data("another-master-key-of-32-bytes-!".utf8).base64EncodedString()

    private var environment: [String: String] {
        Deployment.environment(database: deployment.database).merging(deployment.simulator.environment) { $1 }
    }

    /// Returns the command's findings, each as `severity subject name: text`, and its exit status.
    private func examine(
        _ arguments: [String] = [],
        _ further: [String: String] = [:]
    ) async throws -> (findings: [String], status: ProcessEnd?) {
        let run = try await runFederation(
            ["doctor", "--json"] + arguments,
            environment: environment.merging(further) { $1 }
        )
        let findings = try #require(JSON.object(run.standardOutput)?["findings"]?.array, "\(run.standardError)")
        return (
            findings.compactMap(\.object).map { finding in
                [finding["severity"], finding["subject"], finding["name"]].compactMap { $0?.string }
                    .joined(separator: " ") + ": " + (finding["text"]?.string ?? "")
            },
            run.exitStatus
        )
    }

    /// Returns the findings except those that the test environment always causes.
    ///
    /// Its server may lose data in a crash, its role is a superuser, and it has no mail server.
    private func news(
        _ arguments: [String] = [],
        _ further: [String: String] = [:]
    ) async throws -> [String] {
        let usual = [
            "full_page_writes is off", "fsync is off", "synchronous_commit is off", "is a superuser", "No mails",
        ]
        return try await examine(arguments, further).findings.filter { finding in
            !finding.hasPrefix("ok") && !usual.contains { finding.contains($0) }
        }
    }

    @Test("what it finds has an end that scripts can see, and is the same over REST, where no provider is asked")
    func healthy() async throws {
        try await deployment.expectNothingWritten {
            let (findings, status) = try await examine()
            #expect(try await news() == [], "\(findings)")
            for subject in ["schema", "rights", "clock", "keys", "application demo"] {
                #expect(findings.contains { $0.hasPrefix("ok \(subject): ") }, "\(subject): \(findings)")
            }
            #expect(status == .exited(1), "there is no mail server")
        }
        let admin = try await deployment.admin()
        let asked = try await deployment.simulator.requestCount {
            let document = try await admin.get("doctor")
            #expect(["warning", "error"].contains(document["worst"]?.string))
            #expect(document["findings"]?.array?.isEmpty == false)
        }
        #expect(asked == 0)
    }

    @Test("people read what is wrong and what to do; --all shows what is well, too")
    func people() async throws {
        let brief = try await runFederation(["doctor", "--offline"], environment: environment)
        #expect(brief.standardOutput.contains("warning  mail: No mails are sent"), "\(brief.standardOutput)")
        #expect(brief.standardOutput.contains("\n         Set FEDERATION_SMTP_URL"), "\(brief.standardOutput)")
        #expect(!brief.standardOutput.contains("ok  "))
        let all = try await runFederation(["doctor", "--offline", "--all"], environment: environment)
        #expect(all.standardOutput.contains("ok  schema: The schema has version"))
        // Every subject of the help appears, also without findings.
        let well = try await runFederation(
            ["doctor", "--all"],
            environment: environment.merging(
                ["FEDERATION_SMTP_URL": "smtp://127.0.0.1:1", "FEDERATION_MAIL_FROM": "no-reply@shop.example"]
            ) { $1 }
        ).standardOutput
        for subject in [
            "configuration", "schema", "rights", "statistics", "indexes", "clock", "keys", "mail", "application demo",
            "provider demo facebook",
        ] {
            #expect(well.contains("ok  \(subject): "), "\(subject): \(well)")
        }
        #expect(well.contains("  database: "), "\(well)")
    }

    @Test("a secret that the provider refuses is found, and not where no provider is asked")
    func provider() async throws {
        try await withDatabase(.empty) { database in
            let wrong = Deployment.environment(database: database).merging(deployment.simulator.environment) { $1 }
            for arguments in [["migrate"], ["set", "applications/shop"], ["set", "applications/shop/keys/ios"]] {
                #expect(try await runFederation(arguments, environment: wrong).exitStatus == .exited(0))
            }
            let file = FileManager.default.temporaryDirectory.appending(
                path: "doctor-\(UInt64.random(in: .min ... .max))"
            )
            try "0123456789abcdef0123456789abcdef\n".write(to: file, atomically: true, encoding: .utf8)
            defer { try? FileManager.default.removeItem(at: file) }
            let set = try await runFederation(
                ["set", "applications/shop/providers/facebook", "apps.1234567890.appSecret=@\(file.path)"],
                environment: wrong
            )
            #expect(set.exitStatus == .exited(0), "\(set.standardError)")
            let found = try await news([], ["FEDERATION_DATABASE_URL": database.url])
            #expect(found.count == 1 && found[0].hasPrefix("error provider shop facebook: "), "\(found)")
            #expect(try await news(["--offline"], ["FEDERATION_DATABASE_URL": database.url]) == [])
        }
    }

    @Test("a role that may not do what logins need, and one that may")
    func rights() async throws {
        try await withDatabase(.empty) { database in
            let environment = Deployment.environment(database: database)
            for arguments in [["migrate"], ["set", "applications/shop"], ["set", "applications/shop/keys/ios"]] {
                #expect(try await runFederation(arguments, environment: environment).exitStatus == .exited(0))
            }
            let role = "doctor_\(UInt32.random(in: .min ... .max))"
            try await database.psql(
                """
                create role \(role) login password 'canary'; grant usage on schema federation, shop to \(role);
                grant select on all tables in schema federation, shop to \(role)
                """
            )
            let scheme = try #require(database.url.firstRange(of: "://"))
            let host = try #require(database.url.lastIndex(of: "@"))
            let url = database.url[..<scheme.upperBound] + "\(role):canary" + database.url[host...]
            let found = try await news(["--offline"], ["FEDERATION_DATABASE_URL": String(url)])
            let expected = ["insert on shop.users", "delete on shop.sessions", "insert on federation.audit_log"]
            for right in expected {
                #expect(found.contains { $0.hasPrefix("error rights") && $0.contains(right) }, "\(right): \(found)")
            }
            #expect(!found.contains { $0.contains("select on") })
            try await database.psql("revoke select on federation.master_keys from \(role)")
            let refused = try await runFederation(
                ["list", "applications"],
                environment: environment.merging(["FEDERATION_DATABASE_URL": String(url)]) { $1 }
            )
            #expect(refused.exitStatus == .exited(70))
            let said = refused.standardError
            #expect(said.contains("lacks a right; its name is said by federation doctor"), "\(said)")
            try await database.psql("drop owned by \(role); drop role \(role)")
        }
    }

    @Test("an index that was not built to its end, a table that nobody has looked at, and a schema of another version")
    func database() async throws {
        try await withDatabase(.empty) { database in
            let environment = Deployment.environment(database: database)
            for arguments in [["migrate"], ["set", "applications/shop"], ["set", "applications/shop/keys/ios"]] {
                #expect(try await runFederation(arguments, environment: environment).exitStatus == .exited(0))
            }
            try await database.psql(
                "insert into shop.users (object_id, name) select gen_random_uuid(), 'x' from generate_series(1, 20000)"
            )
            _ = try? await database.psql("create unique index concurrently names on shop.users (name)")
            try await eventually("the statistics have arrived") {
                let found = try await news(["--offline"], ["FEDERATION_DATABASE_URL": database.url])
                return found.contains { $0.hasPrefix("warning indexes shop.names: ") }
                    && found.contains { $0.hasPrefix("warning statistics shop.users: ") }
            }
            try await database.psql("drop index shop.names; analyze shop.users")
            let mended = try await news(["--offline"], ["FEDERATION_DATABASE_URL": database.url])
            #expect(!mended.contains { $0.contains("shop.") }, "\(mended)")
            try await database.psql("insert into federation.schema_versions (version) values (99)")
            let newer = try await news(["--offline"], ["FEDERATION_DATABASE_URL": database.url])
            #expect(newer.count == 1 && newer[0].hasPrefix("error schema: The schema has version 99"), "\(newer)")
        }
    }

    @Test("what keeps serve from starting is said; without a database, that is all that is found")
    func configuration() async throws {
        let unset = try await news(["--offline"], ["FEDERATION_TRUSTED_PROXIES": ""])
        #expect(unset.count == 1 && unset[0].contains("FEDERATION_TRUSTED_PROXIES is not set"), "\(unset)")
        let away = try await examine([], ["FEDERATION_DATABASE_URL": "postgres://canary:canary@127.0.0.1:1/none"])
        // The finding that the configuration is valid comes first.
        let found = away.findings.filter { !$0.hasPrefix("ok") }
        #expect(found.count == 1 && found.allSatisfy { $0.hasPrefix("error database: It cannot be checked") })
        #expect(away.status == .exited(1))
        #expect(!found.contains { $0.contains("canary") }, "\(found)")
    }

    @Test("secrets under another master key are found")
    func masterKey() async throws {
        let other = try await news(["--offline"], ["FEDERATION_MASTER_KEY": Self.otherKey])
        #expect(other.contains { $0.hasPrefix("error keys ") }, "\(other)")
        let former = try await news(
            ["--offline"],
            [
                "FEDERATION_MASTER_KEY": Self.otherKey, "FEDERATION_MASTER_KEY_PREVIOUS": Canary.masterKey,
            ]
        )
        #expect(former.contains { $0.hasPrefix("warning keys ") } && !former.contains { $0.hasPrefix("error keys") })
    }

    @Test("an application that does not exist")
    func unknown() async throws {
        let run = try await runFederation(["doctor", "--application", "nobody"], environment: environment)
        #expect(run.exitStatus == .exited(66), "\(run.standardError)")
    }
}
