import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "An application with a database of its own",
    .serialized,
    .deployed(
        Document(
            application: "shop",
            database: Deployment.OwnDatabase.variable,
            options: #""keepTokens": true"#,
            settings: #"{"registration": {"enabled": true}}"#,
            properties: #"{"city": {"type": "STRING", "clientMappable": true}}"#,
            mapping: #"{"email": "email", "name": "name"}"#
        ),
        Document(application: "demo", mapping: #"{"email": "email"}"#),
        hasOwnDatabase: true
    )
)
struct OwnDatabaseTests {
    let deployment: Deployment
    let own: Deployment.OwnDatabase

    init() throws {
        deployment = try Deployment.current
        own = try #require(deployment.own)
    }

    private var demo: Document { deployment.documents[1] }

    /// Returns the single value of a query in the application's own database.
    private func value(_ sql: String) async throws -> String? {
        try await own.database.psql(sql).first?.first.flatMap(\.self)
    }

    private func warnings() async throws -> String {
        try await deployment.service.management.get("/health/ready").text
    }

    @Test("its users, their identities and sessions are there, and nothing of them is in the main database")
    func login() async throws {
        let ann = try await deployment.newcomer(#"{"email": "ann.canary@example.com"}"#)
        let first = try await deployment.loggedIn(ann)
        #expect(first.created)
        let again = try await deployment.loggedIn(ann)
        #expect(!again.created && again.objectID == first.objectID)
        #expect(try await deployment.isValid(again.token))

        let id = first.objectID
        #expect(try await value("select count(*) from shop.users where object_id = '\(id)'") == "1")
        #expect(try await value("select count(*) from shop.sessions where object_id = '\(id)'") == "2")
        #expect(try await deployment.value("select to_regnamespace('shop') is null") == "t")
        #expect(try await value("select count(*) from federation.api_keys") == "0", "no configuration is there")

        let update = try await deployment.client.send(
            "PUT",
            deployment.path("users/\(id)"),
            headers: [("user-token", again.token), ("Content-Type", "application/json")],
            body: Array(#"{"city": "Ulm"}"#.utf8)
        )
        #expect(update.status == 200, "\(update.text)")
        #expect(try await value("select city from shop.users where object_id = '\(id)'") == "Ulm")
        let other = try await deployment.loggedIn(ann, to: demo)
        #expect(other.created && other.objectID != id)
    }

    @Test("two of its accounts become one there, and two again; the main database has the entries of the audit log")
    func merge() async throws {
        let shop = deployment.documents[0]
        let (ann, eve) = (try await deployment.newcomer("{}"), try await deployment.newcomer("{}"))
        let (first, second) = (try await deployment.loggedIn(ann), try await deployment.loggedIn(eve))
        let body = #"{"userToken": "\#(second.token)", "keep": "this"}"#
        let merged = try await deployment.send("POST", "users/merge", body, token: first.token, to: shop)
        #expect(merged.status == 200, "\(merged.text)")
        #expect(try await deployment.loggedIn(eve).objectID == first.objectID)
        let identities = "select count(*) from shop.identities where object_id = '\(first.objectID)'"
        #expect(try await value(identities) == "2")
        #expect(try await value("select count(*) from shop.merged_users") == "1")
        try await deployment.admin().ask(
            "POST",
            "applications/shop/merged/\(second.objectID)/undo",
            #"{"reason": "a test"}"#
        )
        #expect(try await deployment.loggedIn(eve).objectID == second.objectID)
        #expect(try await value(identities) == "1")
        let entries = "select count(*) from federation.audit_log where action in ('user.merge', 'user.unmerge')"
        #expect(try await deployment.value(entries) == "4")
    }

    @Test("sixteen first logins of one person at once make one user")
    func firstLogins() async throws {
        let ann = try await deployment.newcomer()
        let ids = try await deployment.signInAtOnce(ann, times: 16)
        #expect(ids.count == 1)
    }

    @Test("an account with a password, its login, and its deletion by a session")
    func password() async throws {
        _ = try await deployment.register("eve.canary@example.com")
        let eve = try await deployment.logIn("eve.canary@example.com")
        #expect(try await value("select count(*) from shop.passwords where object_id = '\(eve.objectID)'") == "1")
        let reply = try await deployment.client.send(
            "DELETE",
            deployment.path("users/\(eve.objectID)"),
            headers: [("user-token", eve.token)]
        )
        #expect((200...204).contains(reply.status), "\(reply.text)")
        try await eventually("the account is gone") {
            try await value("select count(*) from shop.users where object_id = '\(eve.objectID)'") == "0"
        }
        #expect(try await value("select count(*) from federation.deletion_requests where done is not null") != "0")
        #expect(try await deployment.value("select count(*) from federation.deletion_requests") == "0")
    }

    @Test("Facebook's call deletes a user there, its page says so, and the audit log has it")
    func deletion() async throws {
        let ann = try await deployment.newcomer()
        let user = try await deployment.loggedIn(ann)
        let entries = try await deployment.audited {
            let reply = try await deployment.deliver("deletion", ann)
            #expect(reply.status == 200, "\(reply.body)")
            let url = try #require(JSON.object(reply.body)?["url"]?.string)
            let page = try await deployment.client.get(String(url.drop { $0 != "/" }.dropFirst(2).drop { $0 != "/" }))
            #expect(page.status == 200, "\(page.text)")
        }
        #expect(try await value("select count(*) from shop.users where object_id = '\(user.objectID)'") == "0")
        let actions = entries.compactMap { $0["action"]?.string }
        #expect(actions.contains("user.erase"), "\(entries)")
        #expect(try await value("select count(*) from federation.audit_log") == "0")
        // The login log, which is in the main database, forgets the user, too.
        let forgotten = "select count(*) from federation.login_log_erasures where object_id = '\(user.objectID)'"
        #expect(try await deployment.value(forgotten) == "1")
    }

    @Test("operators read, disable and erase its users, and change its properties, as everywhere")
    func administration() async throws {
        let ann = try await deployment.newcomer()
        let user = try await deployment.loggedIn(ann)
        let owner = try await deployment.admin()
        let path = "applications/shop/users/\(user.objectID)"
        let entries = try await deployment.audited {
            try await owner.get(path)
            try await owner.ask("PATCH", path, #"{"user": {"userStatus": "DISABLED"}}"#)
            try await owner.ask("POST", "applications/shop/properties", #"{"name": "points", "type": "INT"}"#)
            try await owner.ask("PATCH", "applications/shop/properties/points", #"{"name": "score"}"#)
            try await owner.ask(
                "PATCH",
                "applications/shop/properties/score",
                #"{"type": "DOUBLE", "required": false}"#
            )
        }
        let actions = entries.compactMap { $0["action"]?.string }
        let expected = ["user.read", "user.disable", "property.declare", "property.rename", "property.widen"]
        #expect(expected.allSatisfy(actions.contains), "\(actions)")
        try expectProblem(try await deployment.login(ann), "account_disabled")
        let type = """
            select format_type(atttypid, null) from pg_attribute where attrelid = 'shop.users'::regclass and attname = 'score'
            """
        #expect(try await value(type) == "double precision")
        try await owner.ask("DELETE", "applications/shop/properties/score?confirm=score")
        #expect(try await value(type) == nil)
        #expect(try await owner.get("applications/shop")["database"]?.object?["env"]?.string == "SHOP_DATABASE_URL")
        let exported = try await deployment.command("export", "shop")
        #expect(JSON.object(exported)?["database"]?.object?["env"]?.string == "SHOP_DATABASE_URL")
        let users = try await deployment.command("user", "export", "shop")
        #expect(users.contains(user.objectID))
    }

    @Test("a change that died between its two commits is finished by repeating it")
    func halfDone() async throws {
        let owner = try await deployment.admin()
        let properties = "applications/shop/properties"
        try await own.database.psql("alter table shop.users add column colour text")
        try await owner.ask("POST", properties, #"{"name": "colour", "type": "STRING"}"#)
        try await own.database.psql("alter table shop.users rename column colour to paint")
        try await owner.ask("PATCH", "\(properties)/colour", #"{"name": "paint"}"#)
        try await own.database.psql("alter table shop.users drop column paint")
        try await owner.ask("DELETE", "\(properties)/paint?confirm=paint")
        #expect(try await deployment.loggedIn(deployment.newcomer()).created)
    }

    @Test("the row that all changes share is locked when its users are committed, so that they hold up nobody's change")
    func revisionLast() async throws {
        let owner = try await deployment.admin()
        let column = "select attname from pg_attribute where attrelid = 'shop.users'::regclass and attname = 'height'"
        let change = try await deployment.database.whileLocked("select from federation.configuration for update") {
            unlock in
            async let reply = owner.send("POST", "applications/shop/properties", #"{"name": "height", "type": "INT"}"#)
            try await eventually("the users are committed") { try await value(column) == "height" }
            try await unlock()
            return try await reply
        }
        #expect(change.status == 201, "\(change.text)")
    }

    @Test("a change that the configuration cannot be told of is made once, says so, and is finished by repeating it")
    func unfinished() async throws {
        let owner = try await deployment.admin()
        func declare() async throws -> HTTPReply {
            try await owner.send("POST", "applications/shop/properties", #"{"name": "weight", "type": "INT"}"#)
        }
        let held = try await deployment.database.whileLocked("select from federation.configuration for update") {
            try await declare()
        }
        try expectProblem(held, "store_unavailable")
        #expect(held.text.contains("Repeat the change"), "\(held.text)")
        let entries = "select count(*) from federation.audit_log where target = 'weight' or target like '%weight%'"
        #expect(try await deployment.value(entries) == "1")
        #expect(try await declare().status == 201)
        #expect(try await deployment.value(entries) == "2")
    }

    @Test("what is encrypted of its users comes under a new master key; where they cannot be reached, that is said")
    func rotation() async throws {
        let user = try await deployment.loggedIn(deployment.newcomer())
        let token = "select token_key_id from shop.identities where object_id = '\(user.objectID)'"
        let former = try #require(try await value(token))
        let keys = [
            "FEDERATION_MASTER_KEY": Data("canary-newer-key-of-32-bytes-!!!".utf8).base64EncodedString(),
            "FEDERATION_MASTER_KEY_PREVIOUS": Canary.masterKey,
        ]
        let lost = try await deployment.federation(
            "secrets",
            "rotate",
            environment: keys.merging([Deployment.OwnDatabase.variable: "postgres://x@127.0.0.1:1/x"]) { $1 }
        )
        #expect(lost.exitStatus == .exited(69), "\(lost.standardError)")
        #expect(lost.standardError.contains("shop"), "\(lost.standardError)")
        #expect(try await value(token) == former)
        try await deployment.command("secrets", "rotate", environment: keys)
        #expect(try await value(token) != former)
        let back = [
            "FEDERATION_MASTER_KEY": Canary.masterKey,
            "FEDERATION_MASTER_KEY_PREVIOUS": keys["FEDERATION_MASTER_KEY"] ?? "",
        ]
        try await deployment.command("secrets", "rotate", environment: back)
        #expect(try await value(token) == former)
    }

    @Test("while its database is away its users are answered 503 without waiting for it, and all others go on")
    func away() async throws {
        let (ann, bob) = (try await deployment.newcomer(), try await deployment.newcomer())
        let session = try await deployment.loggedIn(ann)
        try await own.proxy.admit(.refuse)
        try await own.proxy.cutAll(.reset)
        try await eventually("it is noticed") { try await warnings().contains("does not answer") }
        #expect(try await warnings().contains("shop"))
        let refused = try await deployment.login(ann)
        let problem = try expectProblem(refused, "store_unavailable")
        #expect(!refused.text.contains("DATABASE_URL"), "\(problem)")
        #expect(refused.status == 503 && refused.header("Retry-After") != nil)
        // Other causes in the log are that no connection can be opened, or that none came free in time.
        let request = try #require(refused.header("X-Request-Id"))
        try await eventually("it is said that the database was known to be away") {
            deployment.service.process.standardOutput.split(separator: "\n").contains {
                $0.contains(request) && $0.contains("the database of SHOP_DATABASE_URL does not answer")
            }
        }
        #expect(try await deployment.loggedIn(bob, to: demo).created)
        // Changes that do not concern the application's users are still possible.
        let owner = try await deployment.admin()
        try await owner.ask("PATCH", "applications/shop", #"{"name": "The shop"}"#)
        try await owner.ask("PATCH", "applications/shop", #"{"settings": {"multipleLogins": false}}"#)
        try await owner.ask("PATCH", "applications/shop", #"{"settings": {"multipleLogins": true}}"#)
        let other = try await owner.send("PATCH", "applications/shop", #"{"settings": {"identityProperty": "city"}}"#)
        #expect(other.status == 503, "whether anybody has a password is asked there: \(other.text)")
        let blocked = try await owner.send("POST", "applications/shop/properties", #"{"name": "late", "type": "INT"}"#)
        #expect(blocked.status == 503, "\(blocked.text)")
        try await own.proxy.heal()
        try await eventually("it is used again") { try await deployment.login(ann).status == 200 }
        #expect(try await deployment.isValid(session.token))
        try await eventually("nothing is warned of") { try await !warnings().contains("does not answer") }
    }

    @Test("while its database hangs, a hundred of its logins take nobody else's place")
    func hanging() async throws {
        let (ann, bob) = (try await deployment.newcomer(), try await deployment.newcomer())
        _ = try await (deployment.loggedIn(ann), deployment.loggedIn(bob, to: demo))
        own.proxy.swallow(.toClient)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    let reply = try await deployment.login(ann)
                    #expect([200, 503].contains(reply.status), "\(reply.text)")
                }
            }
            for _ in 0..<20 {
                let reply = try await deployment.login(bob, to: demo)
                #expect(reply.status == 200, "\(reply.text)")
            }
            try await group.waitForAll()
        }
        try expectProblem(try await deployment.login(ann), "store_unavailable")
        try await own.proxy.cutAll(.reset)
        try await own.proxy.heal()
        try await eventually("it is used again") { try await deployment.login(ann).status == 200 }
    }

    /// Lends another instance, with a different URL of the application's database.
    private func instance(
        _ url: String?,
        _ body: (ServiceProcess) async throws -> Void
    ) async throws {
        var environment = deployment.commandEnvironment
        environment[Deployment.OwnDatabase.variable] = url
        let service = try await ServiceProcess.start(environment: environment)
        do { try await body(service) } catch {
            try await service.process.kill()
            throw error
        }
        #expect(try await service.process.terminate() == .exited(0))
        #expect(service.process.standardOutput.contains("cannot be used"), "the log says it")
    }

    @Test("a wrong variable: nothing is read or written there, doctor and readiness name it, and the others go on")
    func wrongVariable() async throws {
        let ann = try await deployment.newcomer()
        let body = #"{"accessToken": "\#(ann.token)"}"#
        let path = deployment.path("users/loginWithFacebook")
        try await deployment.database.withNeighbour("empty") { empty in
            let cases: [(url: String?, cause: String)] = [
                (nil, "SHOP_DATABASE_URL is not set"), ("mysql://x", "holds no usable URL"),
                (deployment.database.url, "leads to the main database"), (empty.url, "has no tables of this service"),
            ]
            for (url, cause) in cases {
                try await instance(url) { service in
                    let reply = try await service.client.post(path, json: body)
                    try expectProblem(reply, "store_unavailable", "\(cause)")
                    let demo = try await service.client.post(
                        deployment.path("users/loginWithFacebook", of: demo),
                        json: body
                    )
                    #expect(demo.status == 200, "\(demo.text)")
                    let ready = try await service.management.get("/health/ready")
                    #expect(ready.status == 200 && ready.text.contains(cause), "\(ready.text)")
                }
                let doctor = try await runFederation(
                    ["doctor", "--offline"],
                    environment: deployment.commandEnvironment
                        .merging([Deployment.OwnDatabase.variable: url ?? ""]) { $1 }
                )
                #expect(doctor.standardOutput.contains(cause), "\(doctor.standardOutput)")
            }
            #expect(try await empty.psql("select to_regnamespace('federation') is null") == [["t"]])
        }
    }

    @Test("the database of another deployment is neither used nor migrated")
    func foreign() async throws {
        let ann = try await deployment.newcomer()
        let ours = try #require(try await value("select id from federation.deployment"))
        #expect(try await deployment.value("select id from federation.deployment") == ours)
        try await own.database.psql("update federation.deployment set id = gen_random_uuid()")
        try await eventually("it is noticed") { try await deployment.login(ann).status == 503 }
        #expect(try await warnings().contains("another deployment"))
        let migrated = try await deployment.federation("migrate")
        #expect(migrated.exitStatus != .exited(0) && migrated.standardError.contains("another deployment"))
        let document = Document(application: "stray", database: Deployment.OwnDatabase.variable)
        let applied = try await Document.run(
            "apply",
            document.text,
            environment: document.environment(database: deployment.database)
                .merging(deployment.commandEnvironment) { $1 }
        )
        #expect(applied.exitStatus == .exited(65), "\(applied.standardError)")
        #expect(try await deployment.value("select count(*) from federation.applications where id = 'stray'") == "0")
        try await own.database.psql("update federation.deployment set id = '\(ours)'")
        try await eventually("it is used again") { try await deployment.login(ann).status == 200 }
        #expect(try await deployment.federation("migrate").exitStatus == .exited(0))
    }

    @Test("an application is made there and deleted by REST; names that are none are refused")
    func life() async throws {
        let owner = try await deployment.admin()
        for name in ["DATABASE_URL", "FEDERATION_DATABASE_URL", "HOME", "shop_database_url", "FEDERATION_MASTER_KEY"] {
            let refused = try await owner.send(
                "POST",
                "applications",
                #"{"application": "odd", "database": {"env": "\#(name)"}}"#
            )
            try expectProblem(refused, "document_invalid", "\(name)")
        }
        let unset = try await owner.send(
            "POST",
            "applications",
            #"{"application": "odd", "database": {"env": "ODD_DATABASE_URL"}}"#
        )
        #expect(unset.status == 409 && unset.text.contains("is not set"), "\(unset.text)")
        try await owner.ask(
            "POST",
            "applications",
            #"{"application": "brief", "database": {"env": "SHOP_DATABASE_URL"}}"#
        )
        #expect(try await value("select to_regclass('brief.users') is not null") == "t")
        try await owner.ask("DELETE", "applications/brief?confirm=brief")
        #expect(try await value("select to_regnamespace('brief') is null") == "t")
        #expect(try await value("select count(*) from federation.applications where id = 'brief'") == "0")
    }

    @Test("a deletion that died between its two commits is finished by repeating it, and has its entry")
    func halfDeleted() async throws {
        let owner = try await deployment.admin()
        try await owner.ask(
            "POST",
            "applications",
            #"{"application": "torn", "database": {"env": "SHOP_DATABASE_URL"}}"#
        )
        try await own.database.psql("drop schema torn cascade")
        try await owner.ask("DELETE", "applications/torn?confirm=torn")
        #expect(try await value("select count(*) from federation.applications where id = 'torn'") == "0")
        let entries = "from federation.audit_log where application_id = 'torn' and action = 'application.delete'"
        #expect(try await deployment.value("select count(*) \(entries)") == "1")
    }

    @Test("a database whose tables were not made to their end is finished by the next application that is made there")
    func halfPrepared() async throws {
        let owner = try await deployment.admin()
        let newest = "(select max(version) from federation.schema_versions)"
        try await own.database.psql("delete from federation.schema_versions where version = \(newest)")
        try await eventually("it is noticed") { try await warnings().contains("older schema") }
        try await owner.ask(
            "POST",
            "applications",
            #"{"application": "next", "database": {"env": "SHOP_DATABASE_URL"}}"#
        )
        try await eventually("nothing is warned of") { try await !warnings().contains("older schema") }
        try await owner.ask("DELETE", "applications/next?confirm=next")
    }

    @Test("what its role may not do there is said as that, and not as a database that is away")
    func refused() async throws {
        try await own.database.psql("alter table federation.deployment rename column main to other")
        try await eventually("it is noticed") { try await warnings().contains("SQLSTATE 42703") }
        try await own.database.psql("alter table federation.deployment rename column other to main")
        try await eventually("nothing is warned of") { try await !warnings().contains("SQLSTATE") }
    }

    @Test("an application moves to a database of its own and back, when its users have been copied and not before")
    func move() async throws {
        let main = deployment.database
        let document = Document(application: "mover", mapping: #"{"email": "email"}"#)
        try await document.apply(to: main)
        let ann = try await deployment.newcomer()
        try await eventually("the service has heard of it") {
            try await deployment.login(ann, to: document).status == 200
        }
        let first = try await deployment.loggedIn(ann, to: document)
        // The index needs an extension, which a dump of one schema does not contain.
        try await deployment.command("patch", "applications/mover/properties/name", "indexed=true")
        // The service may be building the index already; the command then refuses.
        try await eventually("the index is there") {
            try await deployment.federation(["property", "index", "mover"]).exitStatus == .exited(0)
        }
        try await own.database.psql("create extension if not exists pg_trgm with schema federation")
        let move = ["patch", "applications/mover", "database.env=\(Deployment.OwnDatabase.variable)"]
        let early = try await deployment.federation(move)
        #expect(early.exitStatus == .exited(65) && early.standardError.contains("copy it there first"))

        func copy(_ source: TestDatabase, _ target: TestDatabase) async throws {
            let command = """
                set -o pipefail
                pg_dump --schema=mover '\(source.url)' | psql -q -v ON_ERROR_STOP=1 '\(target.url)'
                """
            let copied = try await run("bash", ["-c", command])
            try #require(copied.exitStatus == .exited(0), "\(copied.standardError)")
        }
        try await copy(main, own.database)
        let late = try await deployment.newcomer()
        _ = try await deployment.loggedIn(late, to: document)
        let behind = try await deployment.federation(move)
        #expect(behind.exitStatus == .exited(65) && behind.standardError.contains("copy the schema anew"))
        try await own.database.psql("drop schema mover cascade")
        try await copy(main, own.database)
        try await deployment.command("patch", "applications/mover", "database.env=\(Deployment.OwnDatabase.variable)")
        #expect(try await deployment.value("select to_regclass('mover.users') is null") == "t")
        try await eventually("the service has heard of it") {
            try await deployment.login(ann, to: document).status == 200
        }
        let moved = try await deployment.loggedIn(ann, to: document)
        #expect(!moved.created && moved.objectID == first.objectID)
        // A document that does not mention the database leaves the users where they are.
        try await document.apply(to: main, own.environment)
        #expect(try await deployment.value("select database from federation.applications where id = 'mover'") != nil)
        #expect(try await deployment.federation("migrate").exitStatus == .exited(0))
        #expect(try await deployment.value("select to_regnamespace('mover') is null") == "t", "it is not made anew")

        try await copy(own.database, main)
        try await main.psql("drop schema moved_mover cascade")
        try await deployment.command("patch", "applications/mover", "database=")
        try await eventually("the service has heard of it") {
            try await deployment.login(ann, to: document).status == 200
        }
        #expect(try await deployment.loggedIn(ann, to: document).objectID == first.objectID)
        #expect(try await value("select count(*) from federation.applications where id = 'mover'") == "0")
    }
}

extension Deployment.OwnDatabase {
    fileprivate var environment: [String: String] { [Self.variable: database.url] }
}
