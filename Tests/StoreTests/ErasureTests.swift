import Domain
import FoundationEssentials
import Store
import Testing
import TestSupport

@Suite("Erasing whom Facebook asks us to erase")
struct ErasureTests {
    @Test("T-118: the last identity takes the user along, and nobody can tell afterwards whom the request was about")
    func user() async throws {
        try await Tenant.lend { tenant in
            let id = try await tenant.login("1001001", writing: .text("a"), to: "nick", .always).user.objectID
            _ = try await tenant.login("1002002", writing: .text("b"), to: "nick", .always)
            try await tenant.keepTokens()
            let request = try await tenant.request("1001001")
            #expect(request.done == nil)
            guard case .user(id, let tokens) = try await tenant.erase(request) else {
                Issue.record("the user is not erased")
                return
            }
            #expect(tokens.map(\.subject.text) == ["1001001"])
            #expect(tokens.map(\.token.secret.bytes) == [Array("abc".utf8)])
            for table in ["users", "identities", "sessions"] { #expect(try await tenant.count(table) == "1") }
            #expect(try await tenant.store.storedUser(id, of: tenant.application) == nil)

            let found = try await tenant.store.deletion(code: request.code, of: tenant.application)
            #expect(found?.done != nil)
            for table in ["deletion_requests", "audit_log"] {
                let rows = try await tenant.database.psql("select t::text from federation.\(table) t")
                #expect(!rows.isEmpty && rows.joined().allSatisfy { $0?.contains("1001001") == false }, "\(table)")
            }
            let entry = try await tenant.database.psql(
                """
                select action, target, details -> 'to' ->> 'deletionRequest' from federation.audit_log
                where action like 'user.%'
                """
            )
            #expect(entry == [["user.erase", id.description, request.code]])
        }
    }

    @Test("a user to whom another identity leads stays, without the identity, its token and its sessions")
    func identity() async throws {
        try await Tenant.lend { tenant in
            let id = try await tenant.login(writing: .text("a"), to: "nick", .always).user.objectID
            try await tenant.link(app: "43", subject: "1001", to: id)
            try await tenant.openSession(of: id, app: "43")
            try await tenant.keepTokens()
            guard case .identity(id, let tokens) = try await tenant.erase(try await tenant.request("1001")) else {
                Issue.record("the identity is not erased")
                return
            }
            #expect(tokens.map(\.app.text) == ["42"])
            let left = try await tenant.database.psql(
                """
                select i.provider_app, s.provider_app, u.nick from \(Tenant.users) u
                join \(Tenant.schema).identities i using (object_id) join \(Tenant.schema).sessions s using (object_id)
                """
            )
            #expect(left == [["43", "43", "a"]])
            // The erasure of the last identity erases the user.
            guard case .user(id, _) = try await tenant.erase(try await tenant.request("1001", app: "43")) else {
                Issue.record("the user is not erased")
                return
            }
        }
    }

    @Test("a user who has a password stays, without the identity")
    func password() async throws {
        try await Tenant.lend { tenant in
            let id = try await tenant.login(writing: .text("a"), to: "nick", .always).user.objectID
            try await tenant.database.psql(
                """
                insert into \(Tenant.schema).passwords (object_id, login, hash, hash_key_id)
                values ('\(id)', 'ann@example.com', 'x', 'k')
                """
            )
            guard case .identity(id, _) = try await tenant.erase(try await tenant.request("1001")) else {
                Issue.record("the identity is not erased, or the user is")
                return
            }
            #expect(try await tenant.count("users") == "1")
            #expect(try await tenant.count("identities") == "0")
        }
    }

    @Test("who came after the request was signed is somebody else, and so is the person under another app")
    func later() async throws {
        try await Tenant.lend { tenant in
            _ = try await tenant.login(writing: nil, to: "nick", .always)
            for request in [
                try await tenant.request("1001", issued: Tenant.now - 5), try await tenant.request("1001", app: "43"),
                try await tenant.request("2001"),
            ] {
                guard case .nobody = try await tenant.erase(request) else {
                    Issue.record("somebody is erased")
                    return
                }
                #expect(try await tenant.store.deletion(code: request.code, of: tenant.application)?.done != nil)
            }
            #expect(try await tenant.count("users") == "1")
            #expect(try await tenant.count("sessions") == "1")
        }
    }

    @Test("the requests of a call are written down all or none, and each tells how far the last of them is")
    func call() async throws {
        try await Tenant.lend { tenant in
            func request(
                _ name: String,
                _ code: Character,
                hash: [UInt8] = Tenant.randomHash(),
                days: Int64 = 0
            ) throws -> NewDeletionRequest {
                NewDeletionRequest(
                    code: String(repeating: code, count: 26),
                    hash: hash,
                    call: Array(repeating: 7, count: 32),
                    identity: IdentityKey(
                        provider: try #require(ProviderName(name)),
                        app: try #require(ProviderAppID("42")),
                        subject: try #require(Subject("1001"))
                    ),
                    issued: Tenant.now,
                    days: days
                )
            }
            // The second request has the code of the first.
            await #expect(throws: Failure.self) {
                try await tenant.store.openDeletions(
                    [try request("a", "A"), try request("b", "A")],
                    of: tenant.application
                )
            }
            func count() async throws -> [[String?]] {
                try await tenant.database.psql("select count(*) from federation.deletion_requests")
            }
            #expect(try await count() == [["0"]])

            let calls = try [request("a", "A"), request("b", "B", days: 2)]
            for _ in 0..<2 {
                let opened = try await tenant.store.openDeletions(calls, of: tenant.application)
                #expect(opened.map(\.code.first) == ["A", "B"])
            }
            #expect(try await count() == [["2"]])
            _ = try await tenant.store.erase(
                code: String(repeating: "A", count: 26),
                of: tenant.application,
                banningBy: Tenant.hash,
                by: Tenant.actor
            )
            for code in ["A", "B"] {
                let found = try await tenant.store.deletion(
                    code: String(repeating: code, count: 26),
                    of: tenant.application
                )
                #expect(found?.done == nil && found.map { $0.due - $0.requested > 86_400_000 } == true, "\(code)")
            }
            try await tenant.database.psql("update federation.deletion_requests set done = now()")
            let found = try await tenant.store.deletion(code: String(repeating: "A", count: 26), of: tenant.application)
            #expect(found?.done != nil && found?.provider?.text == "a")
        }
    }

    @Test("T-118: the same request has the same code, however many come at once, and is carried out once")
    func replay() async throws {
        try await Tenant.lend { tenant in
            _ = try await tenant.login(writing: nil, to: "nick", .always)
            let hash = Tenant.randomHash()
            let codes = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<50 { group.addTask { try await tenant.request("1001", hash: hash).code } }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(codes.count == 1)
            let request = try await tenant.request("1001", hash: hash)
            let outcomes = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        guard case .user = try await tenant.erase(request) else { return false }
                        return true
                    }
                }
                return try await group.reduce(into: [Bool]()) { $0.append($1) }
            }
            #expect(outcomes.count(where: \.self) == 1)

            // The user may register again; a request that is done stays done.
            _ = try await tenant.login(writing: nil, to: "nick", .always)
            let again = try await tenant.request("1001", hash: hash)
            #expect(again.code == request.code && again.done != nil)
            guard case .notOurs = try await tenant.erase(again) else {
                Issue.record("a request that is done is carried out again")
                return
            }
            #expect(try await tenant.count("users") == "1")
        }
    }

    @Test("what is not due is left alone, and nothing of another application's is seen")
    func notDue() async throws {
        try await Tenant.lend { tenant in
            _ = try await tenant.login(writing: nil, to: "nick", .always)
            let request = try await tenant.request("1001", days: 2)
            #expect(request.due - request.requested == 2 * 86_400_000)
            #expect(try await tenant.store.dueDeletions(of: tenant.application, limit: 10).map(\.code) == [])
            #expect(try await tenant.store.applicationsWithDueDeletions() == [])
            guard case .notOurs = try await tenant.erase(request) else {
                Issue.record("it is not due")
                return
            }
            try await tenant.database.psql("update federation.deletion_requests set due = now()")
            #expect(
                try await tenant.store.dueDeletions(of: tenant.application, limit: 10).map(\.code) == [request.code]
            )
            #expect(try await tenant.store.applicationsWithDueDeletions() == [tenant.application.id])
            let other = Application(
                id: try #require(ApplicationID("other")),
                name: "Other",
                schema: tenant.application.schema,
                revision: 1,
                settings: ApplicationSettings(),
                properties: []
            )
            #expect(try await tenant.store.dueDeletions(of: other, limit: 10).map(\.code) == [])
            #expect(try await tenant.store.deletion(code: request.code, of: other) == nil)
            var tenantOfOther = tenant
            tenantOfOther.application = other
            guard case .notOurs = try await tenantOfOther.erase(request) else {
                Issue.record("another application's request is carried out")
                return
            }
        }
    }

    @Test(
        "rows of the operator's own that forbid the erasure keep it open, visible once in the audit log, until they are gone"
    )
    func blocked() async throws {
        try await Tenant.lend { tenant in
            let id = try await tenant.login(writing: nil, to: "nick", .always).user.objectID
            try await tenant.database.psql(
                "create table public.orders (buyer uuid references \(Tenant.users)); insert into public.orders values ('\(id)')"
            )
            let request = try await tenant.request("1001")
            for _ in 0..<2 {
                guard case .blocked("public.orders") = try await tenant.erase(request) else {
                    Issue.record("the erasure is not blocked")
                    return
                }
            }
            #expect(try await tenant.count("users") == "1")
            #expect(try await tenant.store.deletion(code: request.code, of: tenant.application)?.done == nil)
            #expect(
                try await tenant.store.dueDeletions(of: tenant.application, limit: 10).map(\.code) == [],
                "not at once again"
            )
            let entries = try await tenant.database.psql(
                """
                select details -> 'to' ->> 'table' from federation.audit_log where action = 'deletion.blocked'
                """
            )
            #expect(entries == [["public.orders"]])

            try await tenant.database.psql(
                """
                delete from public.orders;
                update federation.deletion_requests set attempted = now() - interval '11 minutes'
                """
            )
            #expect(
                try await tenant.store.dueDeletions(of: tenant.application, limit: 10).map(\.code) == [request.code]
            )
            guard case .user(id, _) = try await tenant.erase(request) else {
                Issue.record("the user is not erased")
                return
            }
        }
    }

    @Test("F-33: erased on request among eight logins, a person is gone or came back as a complete new user")
    func race() async throws {
        try await Tenant.lend { tenant in
            for round in 0..<20 {
                let subject = String(3000 + round)
                let id = try await tenant.login(subject, writing: .text("a"), to: "nick", .untilEdited).user.objectID
                let request = try await tenant.request(subject)
                let logins = try await tenant.logins(of: subject) { try await tenant.erase(request) }
                #expect(try await tenant.store.storedUser(id, of: tenant.application) == nil)
                var fresh: Set<ObjectID> = []
                for (hash, outcome) in logins {
                    let user = try outcome.get()
                    let session = try await tenant.store.sessionUser(tokenHash: hash, of: tenant.application).get()
                    #expect(session?.objectID == (user == id ? nil : user))
                    if user != id { fresh.insert(user) }
                }
                #expect(fresh.count <= 1)
                #expect(try await tenant.users(with: subject) == fresh.map(\.description))
            }
        }
    }
}

extension Tenant {
    func request(
        _ subject: String,
        app: String = "42",
        issued: Int64 = now,
        days: Int64 = 0,
        hash: [UInt8] = randomHash()
    ) async throws -> StoredDeletionRequest {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
        let request = NewDeletionRequest(
            code: String((0..<26).map { _ in alphabet[Int.random(in: 0..<32)] }),
            hash: hash,
            call: hash,
            identity: try Self.key(subject, app: app),
            issued: issued,
            days: days
        )
        return try #require(try await store.openDeletions([request], of: application).first)
    }

    func erase(_ request: StoredDeletionRequest) async throws -> Erasure {
        try await store.erase(code: request.code, of: application, banningBy: Self.hash, by: Self.actor)
    }
}
