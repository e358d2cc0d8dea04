import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "App secrets in the database",
    .serialized,
    .deployed(
        Document(mapping: #"{"name": "name"}"#),
        Document(application: "twin", mapping: #"{"name": "name"}"#),
        Document(application: "left"),
        Document(application: "right"),
        Document(application: "changed"),
        Document(application: "two", apps: ["1000000001", "1000000002"]),
        sql: """
            create function swap(one text, other text) returns void language sql as $$
                update federation.provider_apps a set secret = b.secret from federation.provider_apps b
                where a.application_id || a.app_id in (one, other) and b.application_id || b.app_id in (one, other)
                    and a.application_id || a.app_id <> b.application_id || b.app_id $$;
            select swap('left1234567890', 'right1234567890');
            select swap('two1000000001', 'two1000000002');
            update federation.provider_apps set secret = set_byte(secret, 12, get_byte(secret, 12) # 1)
            where application_id = 'changed';
            """
    )
)
struct SecretStorageTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    @Test("a secret cannot be read from the table, and two encryptions of one secret differ")
    func unreadable() async throws {
        let rows = try await deployment.database.psql(
            "select encode(secret, 'escape'), secret_key_id from federation.provider_apps where application_id in ('demo', 'twin')"
        )
        #expect(rows.count == 2)
        #expect(rows.first?.first != rows.last?.first)
        for row in rows { #expect(row.allSatisfy { $0?.contains(Canary.mark) == false }) }
        #expect(Set(rows.map(\.last)).count == 1, "the same key has the same name")
    }

    @Test("a ciphertext that was moved to another application or row, or changed by a bit, does not open")
    func moved() async throws {
        let visitor = try await deployment.newcomer()
        try await deployment.expectNothingWritten {
            for document in deployment.documents.dropFirst(2) {
                let reply = try await deployment.login(visitor, to: document)
                try expectProblem(reply, "provider_misconfigured", "\(document.application)")
            }
        }
        for document in deployment.documents.prefix(2) {
            #expect(try await deployment.loggedIn(visitor, to: document).created, "\(document.application)")
        }
    }

    @Test("an instance with another master key ends at the start and says which one is needed")
    func wrongMasterKey() async throws {
        var environment = Deployment.environment(database: deployment.database)
        environment["FEDERATION_GRAPH_URL"] = deployment.simulator.url
        environment["FEDERATION_LISTEN"] = "127.0.0.1:\(try freePort())"
        environment["FEDERATION_MANAGEMENT_LISTEN"] = "127.0.0.1:\(try freePort())"
        environment["FEDERATION_MASTER_KEY"] = Data("canary-other-key-of-32-bytes-!!!".utf8).base64EncodedString()
        let process = try await runFederation(["serve"], environment: environment)
        #expect(process.exitStatus == .exited(78))
        let needed = try await deployment.database.psql("select distinct secret_key_id from federation.provider_apps")
        #expect(process.standardError.contains(try #require(needed.first?.first ?? nil)), "\(process.standardError)")
        #expect(process.standardError.contains("FEDERATION_MASTER_KEY"))
        #expect(!(process.standardOutput + process.standardError).lowercased().contains(Canary.mark))
    }
}
