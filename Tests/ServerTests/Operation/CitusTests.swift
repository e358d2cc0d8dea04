import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

/// The suite needs a coordinator with workers, which `scripts/test --citus` starts if the Citus extension is available.
@Suite(
    "Applications on nodes of Citus",
    .enabled(if: CitusWorkers.named != nil, "scripts/test --citus runs it"),
    .serialized,
    .deployed(
        Document(
            application: "shop",
            options: #""keepTokens": true"#,
            hasServerKey: true,
            settings: #"""
                {"registration": {"enabled": true}, "multipleLogins": true, "maxSessions": 3,
                 "dynamicProperties": true}
                """#,
            properties: #"{"city": {"type": "STRING", "clientMappable": true}}"#,
            mapping: #"[{"from": "email", "to": "email"}, {"from": "name", "to": "name", "sync": "untilEdited"}]"#
        ),
        Document(application: "demo", mapping: #"{"email": "email"}"#),
        // The timeouts are those of docs/citus.md.
        environment: [
            "FEDERATION_MAINTENANCE_INTERVAL_MILLISECONDS": "1000", "FEDERATION_DATABASE_LOCK_MILLISECONDS": "5000",
            "FEDERATION_DATABASE_STATEMENT_MILLISECONDS": "6000",
        ]
    )
)
struct CitusTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    /// Returns the ports of the nodes that have tables of an application.
    private func ports(of application: String) async throws -> Set<String> {
        let rows = try await deployment.database.psql(
            "select distinct nodeport from citus_shards where table_name::text like '\(application).%'"
        )
        return Set(rows.compactMap { $0.first ?? nil })
    }

    private var workers: [String] {
        get async throws {
            try await deployment.database.psql("select nodeport from pg_dist_node where shouldhaveshards order by 1")
                .compactMap { $0.first ?? nil }
        }
    }

    /// Calls a function of Citus, with a retry after Citus reports a deadlock of two steps of its own (docs/citus.md).
    private func step(_ call: String) async throws {
        do {
            try await deployment.database.psql("select \(call)")
        } catch {
            guard "\(error)".contains("distributed deadlock") else { throw error }
            try await deployment.database.psql("select \(call)")
        }
    }

    /// Counts the shop's users with an id.
    private func users(_ id: String) async throws -> String? {
        try await deployment.value("select count(*) from shop.users where object_id = '\(id)'")
    }

    @Test("an application's tables are on one worker, the configuration on the coordinator")
    func places() async throws {
        let workers = Set(try await workers)
        #expect(workers.count == 2)
        for application in ["shop", "demo"] {
            let ports = try await ports(of: application)
            #expect(ports.count == 1 && ports.isSubset(of: workers), "\(application): \(ports)")
        }
        let given = "select count(*) from pg_dist_partition where logicalrelid::text like 'federation.%'"
        #expect(try await deployment.value(given) == "0")
        #expect(try await ports(of: "shop") != ports(of: "demo"), "Citus takes the nodes in turn")
    }

    @Test("a first login, a repeated one, and a session")
    func login() async throws {
        let ann = try await deployment.newcomer(#"{"email": "ann.canary@example.com", "name": "Ann"}"#)
        let first = try await deployment.loggedIn(ann)
        #expect(first.created && first.user["name"]?.string == "Ann")
        let again = try await deployment.loggedIn(ann)
        #expect(!again.created && again.objectID == first.objectID)
        #expect(try await deployment.isValid(again.token))
        #expect(try await deployment.get("users/logout", token: again.token).status == 200)
        #expect(try await !deployment.isValid(again.token))
        #expect(try await deployment.isValid(first.token))
        #expect(try await users(first.objectID) == "1")
    }

    @Test("sixteen first logins of one person at once make one user, who has three sessions at most")
    func firstLogins() async throws {
        let ann = try await deployment.newcomer()
        let ids = try await deployment.signInAtOnce(ann, times: 16)
        #expect(ids.count == 1)
        let sessions = "select count(*) from shop.sessions where object_id = '\(ids.first ?? "")'"
        #expect(try await deployment.value(sessions) == "3")
    }

    @Test("sessions that are over, by either end, are removed at their node, and no others")
    func endedSessions() async throws {
        let ann = try await deployment.newcomer()
        let (ended, idle, live) = (
            try await deployment.loggedIn(ann), try await deployment.loggedIn(ann), try await deployment.loggedIn(ann)
        )
        for (session, change) in [(ended, "expires = now()"), (idle, "last_seen = now() - interval '15 days'")] {
            try await deployment.database.psql(
                "update shop.sessions set \(change) where token_hash = sha256('\(session.token)'::bytea)"
            )
        }
        try await eventually("sessions that are over are removed") {
            try await deployment.value("select count(*) from shop.sessions where object_id = '\(live.objectID)'") == "1"
        }
        #expect(try await deployment.isValid(live.token))
    }

    @Test("registration, a login by password, linking, and the deletion of the account")
    func account() async throws {
        _ = try await deployment.register("eve.canary@example.com")
        let taken = try await deployment.send(
            "POST",
            "users/register",
            #"{"email": "eve.canary@example.com", "password": "\#(Deployment.password)"}"#
        )
        try expectProblem(taken, "login_taken")
        let eve = try await deployment.logIn("eve.canary@example.com")
        let visitor = try await deployment.newcomer()
        let linked = try await deployment.send(
            "POST",
            "users/identities/facebook",
            #"{"accessToken": "\#(visitor.token)"}"#,
            token: eve.token
        )
        #expect(linked.status == 200, "\(linked.text)")
        #expect(try await deployment.loggedIn(visitor).objectID == eve.objectID)
        let reply = try await deployment.send("DELETE", "users/\(eve.objectID)", token: eve.token)
        #expect((200...204).contains(reply.status), "\(reply.text)")
        try await eventually("the account is gone") {
            try await users(eve.objectID) == "0"
        }
    }

    @Test("Facebook's call deletes a user, and operators read, disable and export users")
    func administration() async throws {
        let (ann, bob) = (try await deployment.newcomer(), try await deployment.newcomer())
        let (erased, kept) = (try await deployment.loggedIn(ann), try await deployment.loggedIn(bob))
        #expect(try await deployment.deliver("deletion", ann).status == 200)
        #expect(try await users(erased.objectID) == "0")
        let owner = try await deployment.admin()
        try await owner.get("applications/shop/users/\(kept.objectID)")
        #expect(try await deployment.command("user", "export", "shop").contains(kept.objectID))
        try await owner.ask(
            "PATCH",
            "applications/shop/users/\(kept.objectID)",
            #"{"user": {"userStatus": "DISABLED"}}"#
        )
        try expectProblem(try await deployment.login(bob), "account_disabled")
    }

    @Test("properties are declared with what clients brought, renamed, widened, indexed and removed")
    func properties() async throws {
        let ann = try await deployment.newcomer()
        let user = try await deployment.loggedIn(ann, mapping: #"{"id": "shoe"}"#)
        let owner = try await deployment.admin()
        let properties = "applications/shop/properties"
        try await owner.ask("POST", properties, #"{"name": "shoe", "type": "INT"}"#)
        let shoe = "select shoe from shop.users where object_id = '\(user.objectID)'"
        #expect(try await deployment.value(shoe) == ann.id)
        try await owner.ask("PATCH", "\(properties)/shoe", #"{"name": "boot", "indexed": true}"#)
        try await owner.ask("PATCH", "\(properties)/boot", #"{"type": "STRING"}"#)
        try await eventually("the index is there") {
            try await deployment.value(
                "select count(*) from pg_indexes where schemaname = 'shop' and indexdef like '%boot%'"
            ) == "1"
        }
        try await owner.ask("DELETE", "\(properties)/boot?confirm=boot")
        #expect(try await deployment.loggedIn(deployment.newcomer()).created)
    }

    @Test("a property that is required is asked of everybody, and one that somebody lacks cannot be")
    func required() async throws {
        let user = try await deployment.loggedIn(deployment.newcomer())
        let owner = try await deployment.admin()
        let name = "applications/shop/properties/name"
        try await deployment.database.psql("update shop.users set name = null where object_id = '\(user.objectID)'")
        let lacking = try await owner.send("PATCH", name, #"{"required": true}"#)
        #expect(JSON.object(lacking.text)?["errorData"]?.object?["reason"]?.string == "constraint_violation")
        try await deployment.database.psql("update shop.users set name = 'x' where name is null")
        try await owner.ask("PATCH", name, #"{"required": true}"#)
        let nameless = try await deployment.send(
            "POST",
            "users/register",
            #"{"email": "nameless.canary@example.com", "password": "\#(Deployment.password)"}"#
        )
        let problem = try expectProblem(nameless, "property_missing")
        #expect(problem["property"]?.string == "name", "\(nameless.text)")
        try await owner.ask("PATCH", name, #"{"required": false}"#)
    }

    @Test("an application is made on the node that is named, and on no other")
    func node() async throws {
        for port in try await workers {
            try await deployment.command("set", "applications/app\(port)", "node=127.0.0.1:\(port)")
            #expect(try await ports(of: "app\(port)") == [port])
            try await deployment.command("delete", "applications/app\(port)", "--confirm", "app\(port)")
        }
        let refused = try await deployment.federation("set", "applications/nowhere", "node=127.0.0.1:1")
        #expect(refused.exitStatus != .exited(0))
        #expect(refused.standardError.contains("127.0.0.1:1"), "\(refused.standardError)")
        #expect(try await deployment.value("select count(*) from federation.applications where id = 'nowhere'") == "0")
    }

    @Test("a table that was there before is not adopted, and no file is imported")
    func refusals() async throws {
        let adopted = try await deployment.federation("adopt", "demo", "--table", "public.customers", "--id", "id")
        #expect(adopted.exitStatus != .exited(0) && adopted.standardError.contains("Citus"), "\(adopted.standardError)")
        try await Document.withFile("{}") { file in
            let imported = try await deployment.federation("user", "import", "demo", file, "--from", "ndjson")
            #expect(imported.standardError.contains("Citus"), "\(imported.standardError)")
        }
    }

    @Test("an instance goes on without a failed login when its tables are taken back, given to Citus, and changed")
    func otherTables() async throws {
        let ann = try await deployment.newcomer()
        var last = try await deployment.loggedIn(ann)
        func goesOn(sourceLocation: SourceLocation = #_sourceLocation) async throws {
            let again = try await deployment.loggedIn(ann)
            #expect(!again.created && again.objectID == last.objectID, sourceLocation: sourceLocation)
            defer { last = again }
            for session in [last, again] {
                let reply = try await deployment.get("users/isvalidusertoken/\(session.token)")
                #expect(reply.text == "true", sourceLocation: sourceLocation)
            }
        }
        try await step("citus_schema_undistribute('shop')")
        #expect(try await ports(of: "shop").isEmpty)
        try await goesOn()
        try await step("citus_schema_distribute('shop')")
        #expect(try await ports(of: "shop").count == 1)
        try await goesOn()
        // A change that the service does not notice makes its knowledge of the columns wrong at once.
        try await deployment.database.psql("alter table shop.users alter locale type varchar(40)")
        try await goesOn()
        try await deployment.database.psql("alter table shop.users alter locale type text")
        try await goesOn()
    }

    @Test("what the coordinator keeps of an application that was given to Citus with its users is found and removed")
    func localCopies() async throws {
        func findings() async throws -> [JSONObject] {
            let owner = try await deployment.admin()
            return try await owner.get("doctor")["findings"]?.array?.compactMap(\.object) ?? []
        }
        func copies() async throws -> [String?] {
            try await findings().filter { $0["text"]?.string?.contains("The Citus coordinator still has") == true }
                .map { $0["name"]?.string }
        }
        _ = try await deployment.loggedIn(deployment.newcomer())
        try await step("citus_schema_undistribute('shop')")
        #expect(try await copies() == [])
        try await step("citus_schema_distribute('shop')")
        #expect(try await copies() == ["shop"])
        // The statement is that of docs/citus.md.
        try await deployment.database.psql(
            """
            select truncate_local_data_after_distributing_table(c.oid)
            from pg_class c join pg_dist_partition p on p.logicalrelid = c.oid
            where c.relnamespace = 'shop'::regnamespace
            """
        )
        #expect(try await copies() == [])
        #expect(try await deployment.value("select count(*) > 0 from shop.users") == "t")
    }

    @Test("doctor tells of a timeout that is shorter than the end of a move")
    func timeout() async throws {
        func isTold(_ environment: [String: String]) async throws -> Bool {
            let examined = try await deployment.federation("doctor", environment: environment)
            return examined.standardOutput.contains("FEDERATION_DATABASE_LOCK_MILLISECONDS")
        }
        #expect(try await !isTold(["FEDERATION_DATABASE_LOCK_MILLISECONDS": "5000"]))
        #expect(try await isTold(["FEDERATION_DATABASE_LOCK_MILLISECONDS": "1000"]))
    }

    @Test("migrate changes nothing of distributed applications, and what it adds to one comes to its node")
    func migration() async throws {
        func tables() async throws -> [[String?]] {
            try await deployment.database.psql(
                """
                select c.oid::regclass::text, p.colocationid, p.logicalrelid is not null, (
                        select string_agg(attname || ' ' || atttypid::regtype, ', ' order by attname)
                        from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped
                    ), (select string_agg(indexrelid::regclass::text, ', ' order by 1) from pg_index where indrelid = c.oid)
                from pg_class c left join pg_dist_partition p on p.logicalrelid = c.oid
                where c.relkind = 'r' and c.relnamespace in ('shop'::regnamespace, 'demo'::regnamespace)
                order by c.oid::regclass::text
                """
            )
        }
        let user = try await deployment.loggedIn(deployment.newcomer())
        let before = try await tables()
        #expect(before.count >= 24 && before.allSatisfy { $0[2] == "t" }, "all are distributed")
        try await deployment.command("migrate")
        #expect(try await tables() == before)
        // The state that a former version leaves.
        try await deployment.database.psql("drop table shop.trusted_devices, shop.attempts")
        try await deployment.database.psql("drop index shop.sessions_user")
        try await deployment.database.psql("alter table shop.identities drop column refreshed")
        try await deployment.command("migrate")
        #expect(try await tables() == before)
        #expect(try await ports(of: "shop").count == 1)
        #expect(try await deployment.isValid(user.token))
        #expect(try await deployment.loggedIn(deployment.newcomer()).created)
    }

    @Test("at the end of a move Citus may hold up writes for seconds: logins wait for them, and none fails")
    func heldUp() async throws {
        let ann = try await deployment.newcomer()
        _ = try await deployment.loggedIn(ann)
        // The lock that Citus takes, in the mode "exclusive", until it finds the copy complete, which it checks once a
        // second (Citus 13.2, WaitForGroupedLogicalRepTargetsToCatchUp).
        let lock = """
            select lock_shard_metadata(7, array_agg(shardid)) from pg_dist_shard
            where logicalrelid::text like 'shop.%'
            """
        let logins = try await deployment.database.whileLocked(lock) {
            let logins = Task { [deployment] in try await deployment.signInAtOnce(ann, times: 6) }
            try await eventually("a login waits") {
                try await deployment.value("select count(*) > 0 from pg_locks where not granted") == "t"
            }
            try await Task.sleep(for: .seconds(3))
            return logins
        }
        #expect(try await logins.value.count == 1)
    }

    @Test("an application moves from node to node and back while people log in; no login fails, no session is lost")
    func move() async throws {
        let (from, people) = (
            try #require(try await ports(of: "shop").first),
            try await (0..<6).asyncMap { _ in try await deployment.newcomer() }
        )
        let to = try #require(try await workers.first { $0 != from })
        let isOver = Flag()
        let sessions = try await withThrowingTaskGroup(of: [LoginResult].self) { group in
            for person in people {
                group.addTask {
                    var sessions: [LoginResult] = []
                    while await !isOver.isRaised { sessions.append(try await deployment.loggedIn(person)) }
                    return sessions
                }
            }
            for port in [to, from] {
                try await deployment.database.psql(
                    "select citus_schema_move('shop', '127.0.0.1', \(port), 'force_logical')"
                )
                #expect(try await ports(of: "shop") == [port])
            }
            await isOver.raise()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for ofOne in sessions {
            #expect(ofOne.count > 1)
            #expect(Set(ofOne.map(\.objectID)).count == 1 && ofOne.filter(\.created).count == 1)
            // A user who logs in repeatedly keeps the last three sessions.
            for session in ofOne.suffix(3) { #expect(try await deployment.isValid(session.token)) }
        }
    }
}
