import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite("Two database roles, as the operations manual makes them")
struct GrantTests {
    private static let document = Document(
        options: #""keepTokens": true, "endSessionsWhenRevoked": true, "refreshHours": 24"#,
        settings: #"{"clientMapping": true, "dynamicProperties": true}"#,
        properties: #"{"nick": {"type": "STRING"}}"#,
        mapping: #"{"email": "email", "name": "nick"}"#
    )

    /// Returns the two blocks of SQL under "Database roles" of docs/operations/install.md.
    private static func manual() throws -> (roles: String, grants: String) {
        let page = try String(contentsOfFile: PackageLayout.path("docs/operations/install.md"), encoding: .utf8)
        let start = try #require(page.firstRange(of: "\n## Database roles\n")).upperBound
        let chapter = page[start...].prefix(upTo: page[start...].firstRange(of: "\n## ")?.lowerBound ?? page.endIndex)
        let blocks = chapter.split(separator: "```", omittingEmptySubsequences: false).enumerated()
            .filter { !$0.offset.isMultiple(of: 2) && $0.element.hasPrefix("sql\n") }
            .map { String($0.element.dropFirst(4)) }
        try #require(blocks.count == 2)
        return (blocks[0], blocks[1])
    }

    /// The manual's roles under unique names, since roles belong to the whole cluster.
    private struct Roles {
        let owner: String
        let server: String

        init() {
            let word = String(UInt32.random(in: .min ... .max), radix: 16)
            (owner, server) = ("grant_test_owner_\(word)", "grant_test_\(word)")
        }

        /// Returns a statement of the manual with the unique names.
        ///
        /// The schema is called `federation`, too; its name stands in front of a table or ends a list, where nothing is
        /// replaced.
        func named(in sql: String) -> String {
            sql.replacing("federation_owner", with: owner).replacing("role federation ", with: "role \(server) ")
                .replacing("to federation;", with: "to \(server);").replacing("'…'", with: "'secret'")
        }

        /// Returns the URL of the database for a role.
        func url(_ role: String, _ database: TestDatabase) throws -> String {
            let scheme = try #require(database.url.firstRange(of: "://"))
            let host = try #require(database.url.lastIndex(of: "@"))
            return database.url[..<scheme.upperBound] + "\(role):secret" + database.url[host...]
        }
    }

    /// Lends a service that runs as the serving role.
    ///
    /// The owner role has set up its database by the manual alone.
    private func withTwoRoles(_ body: (Deployment) async throws -> Void) async throws {
        let (manual, roles) = (try Self.manual(), Roles())
        try await withDatabase(.empty) { database in
            let statements = roles.named(in: manual.roles).split(separator: "\n")
            let creations = statements.filter { $0.hasPrefix("create role ") }
            try #require(creations.count == 2 && statements.count == 3, "\(statements)")
            // The third statement creates the database, which exists already.
            try await database.psql(
                (creations + ["alter database \(database.name) owner to \(roles.owner)"]).joined(separator: "\n")
            )
            let outcome: Result<Void, any Error>
            do { outcome = .success(try await serve(database, roles, grants: manual.grants, body)) } catch {
                outcome = .failure(error)
            }
            try await database.psql(
                """
                reassign owned by \(roles.owner) to current_user; drop owned by \(roles.owner), \(roles.server);
                drop role \(roles.owner), \(roles.server)
                """
            )
            try outcome.get()
        }
    }

    private func serve(
        _ database: TestDatabase,
        _ roles: Roles,
        grants: String,
        _ body: (Deployment) async throws -> Void
    ) async throws {
        let ownerURL = try roles.url(roles.owner, database)
        func asOwner(_ arguments: [String]) async throws {
            var environment = Self.document.environment(database: database)
            environment["FEDERATION_DATABASE_URL"] = ownerURL
            let ended = try await runFederation(arguments, environment: environment)
            try #require(ended.exitStatus == .exited(0), "\(arguments): \(ended.standardError)")
        }
        try await asOwner(["migrate"])
        try await Document.withFile(Self.document.text) { try await asOwner(["apply", $0]) }
        let granted = try await run(
            "psql",
            [
                "--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", "--dbname", ownerURL, "--command",
                roles.named(in: grants),
            ]
        )
        try #require(granted.exitStatus == .exited(0), "\(granted.standardError)")

        let simulator = try await SimulatorProcess.start()
        try await simulator.put(apps: Set(Self.document.apps))
        let service = try await ServiceProcess.start(
            environment: Deployment.environment(database: database)
                .merging(simulator.environment) { _, new in new }
                .merging([
                    "FEDERATION_DATABASE_URL": try roles.url(roles.server, database),
                    "FEDERATION_MAINTENANCE_INTERVAL_MILLISECONDS": "100",
                ]) { _, new in new }
        )
        let deployment = Deployment(
            database: database,
            simulator: simulator,
            service: service,
            documents: [Self.document]
        )
        try await body(deployment)
        try await deployment.end()
        // The log would also show what the background work was not permitted to do.
        #expect(!service.process.standardOutput.contains("42501"), "\(service.process.standardOutput)")
        try await simulator.process.kill()
    }

    private static let profile = #"{"email": "ann.canary@example.com", "name": "Ann", "first_name": "Ann"}"#

    @Test("the serving role logs in, takes what Facebook calls, works in the background and administers users")
    func walk() async throws {
        try await withTwoRoles { deployment in
            func identity(_ condition: String, _ visitor: Visitor) async throws -> Bool {
                try await deployment.value(
                    "select \(condition) from demo.identities where subject = '\(visitor.id)'"
                ) == "t"
            }
            func makeDue(_ visitor: Visitor) async throws {
                try await deployment.database.psql(
                    """
                    update demo.identities set check_due = now(), checked = now() - interval '1 day',
                        refreshed = now() - interval '2 days' where subject = '\(visitor.id)'
                    """
                )
            }
            // Logins: with an undeclared property, with an ID token, repeated; then reading and logout.
            let ann = try await deployment.newcomer(Self.profile)
            let first = try await deployment.loggedIn(ann, mapping: #"{"first_name": "givenName"}"#)
            #expect(first.created && first.user["givenName"]?.string == "Ann")
            let idToken = try await deployment.idToken(of: ann, #""nonce": "n""#)
            let second = try deployment.signedIn(try await deployment.login(idToken: idToken, nonce: "n"))
            #expect(second.objectID == first.objectID)
            #expect(try await deployment.get("users/\(first.objectID)", token: first.token).status == 200)
            #expect(try await deployment.get("users/logout", token: second.token).status == 200)
            #expect(try await deployment.get("users/isvalidusertoken/\(second.token)").text == "false")

            // Background work: a check that reads the profile, a revocation, the expiry of a token and of a session.
            let (bob, cem) = (try await deployment.newcomer(Self.profile), try await deployment.newcomer(Self.profile))
            for visitor in [bob, cem] { _ = try await deployment.loggedIn(visitor) }
            try await makeDue(bob)
            try await eventually("the profile is read again") {
                try await identity("refreshed > now() - interval '1 hour'", bob)
            }
            try await deployment.simulator.patch(token: bob.token, #"{"kind": "appRemoved"}"#)
            try await makeDue(bob)
            try await eventually("the identity is revoked") { try await identity("revoked is not null", bob) }
            try await deployment.database.psql(
                """
                update demo.identities set token_expires = now() - interval '1 second' where subject = '\(cem.id)';
                update demo.sessions set expires = now() - interval '1 second' where subject = '\(cem.id)';
                update demo.single_use set expires = now() - interval '1 second'
                """
            )
            try await eventually("what has ended is removed") {
                let left = try await deployment.value(
                    """
                    select (select count(*) from demo.identities where subject = '\(cem.id)' and token is not null)
                        + (select count(*) from demo.sessions where subject = '\(cem.id)') + (select count(*) from demo.single_use)
                    """
                )
                return left == "0"
            }

            // Facebook's callbacks.
            let dora = try await deployment.newcomer(Self.profile)
            _ = try await deployment.loggedIn(dora)
            #expect(try await deployment.deliver("deauthorize", dora).status == 200)
            #expect(try await identity("revoked is not null and revoked_by = 'deauthorize'", dora))
            let reply = try await deployment.deliver("deletion", ann)
            #expect(reply.status == 200, "\(reply.body)")
            // The background work may erase the user, ten times a second here; the response does not wait for that.
            try await eventually("the user is erased") { try await deployment.rowCount(of: first.objectID) == "0" }
            let page = try await deployment.get("users/oauth/facebook/deletion/\(reply.code)")
            #expect(page.status == 200)

            // Operators read, disable and erase users.
            let eve = try await deployment.newcomer(Self.profile)
            let session = try await deployment.loggedIn(eve)
            let path = "applications/demo/users/\(session.objectID)"
            let owner = try await deployment.admin()
            try await owner.ask("GET", path)
            try await owner.ask("PATCH", path, #"{"user": {"userStatus": "DISABLED"}}"#)
            #expect(try await deployment.get("users/isvalidusertoken/\(session.token)").text == "false")
            try await owner.ask("DELETE", path + "?confirm=\(session.objectID)")
            #expect(try await deployment.rowCount(of: session.objectID) == "0")
        }
    }
}
