import Domain
@testable import Postgres
import Store
import Testing
import TestSupport

@Suite("Bans that outlive a user")
struct BanTests {
    @Test("an identity of a disabled user who is erased logs nobody in, and writes nothing; its neighbours do")
    func erased() async throws {
        try await Tenant.lend { tenant in
            let id = try await tenant.login("1001", writing: nil, to: "nick", .always).user.objectID
            let other = try await tenant.login("1002", writing: nil, to: "nick", .always).user.objectID
            _ = try await tenant.person(id, .setStatus(.disabled))
            _ = try await tenant.person(id, .erase(banningBy: Tenant.hash))
            _ = try await tenant.person(other, .erase(banningBy: Tenant.hash))

            for use in [LoginStatement.Use.repeated, .once] {
                try await tenant.expectDisabled("1001", use)
            }
            for table in ["users", "identities", "sessions"] {
                #expect(try await tenant.count(table) == "0", "\(table)")
            }
            #expect(try await tenant.login("1002", writing: nil, to: "nick", .always).created)
            #expect(try await tenant.login("10010", writing: nil, to: "nick", .always).created)
            let log = try await tenant.database.psql(
                "select target, details -> 'to' ->> 'banned' from federation.audit_log where action = 'user.erase' order by id"
            )
            #expect(log == [[id.description, "true"], [other.description, nil]])
        }
    }

    @Test("a login that waits for the erasure is refused as well")
    func waiting() async throws {
        try await Tenant.lend { tenant in
            let id = try await tenant.login("1001", writing: nil, to: "nick", .always).user.objectID
            let hash = try Tenant.hash(Tenant.key("1001")).map {
                String($0 >> 4, radix: 16) + String($0 & 15, radix: 16)
            }
            try await tenant.whileWaiting(
                for: id,
                """
                update \(Tenant.users) set user_status = 'DISABLED';
                delete from \(Tenant.users);
                insert into \(Tenant.schema).single_use (kind, hash, owner, expires)
                values ('banned', '\\x\(hash.joined())', uuid_send('\(id)'), now() + interval '1 day')
                """
            ) { try await tenant.expectDisabled("1001") }
            #expect(try await tenant.count("identities") == "0")
        }
    }

    @Test("a banned identity can be linked to nobody, and makes no guest a user")
    func linking() async throws {
        try await Tenant.lend { tenant in
            let hash = Tenant.randomHash()
            let id = try await tenant.login("1", writing: nil, to: "nick", .always, hash: hash).user.objectID
            try await tenant.database.psql("update \(Tenant.schema).identities set provider = 'twitter'")
            try await tenant.ban("2")
            let statement = LoginStatement(
                application: tenant.application,
                provider: .facebook,
                tokens: nil,
                targets: []
            )
            func refusal(_ linking: LinkTarget) async -> Failure? {
                await #expect(throws: Failure.self) {
                    try await tenant.store.login(
                        try tenant.write("2", [], hash: hash),
                        by: statement,
                        linking: linking
                    ).get()
                }
            }
            #expect(await refusal(.session(tokenHash: hash, authenticatedWithin: 300))?.reason == .accountDisabled)
            try await tenant.database.psql("update \(Tenant.users) set user_status = 'GUEST'")
            #expect(await refusal(.guest(id, tokenHash: hash))?.reason == .accountDisabled)
            #expect(try await tenant.count("identities") == "1")
        }
    }

    @Test("a ban ends with its time, when it is lifted, and when the user is enabled who is there still")
    func ends() async throws {
        try await Tenant.lend { tenant in
            let (one, two) = (try await tenant.ban("1"), try await tenant.ban("2"))
            let all = try await tenant.bans()
            #expect(Set(all.map(\.user)) == [one, two])
            #expect(all.allSatisfy { $0.expires - $0.created == 730 * 86_400_000 })
            let pages = [try await tenant.bans(limit: 1), try await tenant.bans(after: all.first?.hash)]
            #expect(pages.map { $0.map(\.user) } == all.map { [$0.user] })

            #expect(try await tenant.store.liftBans(of: one, in: tenant.application, by: Tenant.actor) == 1)
            #expect(try await tenant.store.liftBans(of: one, in: tenant.application, by: Tenant.actor) == 0)
            #expect(try await tenant.login("1", writing: nil, to: "nick", .always).created)
            let log = try await tenant.database.psql(
                "select target, details -> 'from' ->> 'identities' from federation.audit_log where action = 'user.ban.lift'"
            )
            #expect(log == [[one.description, "1"]])

            try await tenant.expectDisabled("2")
            try await tenant.database.psql(
                "update \(Tenant.schema).single_use set expires = now() where kind = 'banned'"
            )
            #expect(try await tenant.bans().isEmpty)
            #expect(try await tenant.store.purge(.singleUses, of: tenant.application, limit: 10) == 1)
            let left = try await tenant.database.psql(
                "select count(*) from \(Tenant.schema).single_use where kind = 'banned'"
            )
            #expect(left == [["0"]])
            #expect(try await tenant.login("2", writing: nil, to: "nick", .always).created)

            let three = try await tenant.ban("3", keepingUser: true)
            try await tenant.expectDisabled("3")
            _ = try await tenant.person(three, .setStatus(.enabled))
            #expect(try await tenant.login("3", writing: nil, to: "nick", .always).created)
        }
    }

    @Test("where an application keeps bans for no day, whoever was erased comes back")
    func none() async throws {
        try await Tenant.lend { tenant in
            var lenient = tenant
            lenient.application.settings.banDays = 0
            try await lenient.ban("1")
            #expect(try await lenient.bans().isEmpty)
            #expect(try await lenient.login("1", writing: nil, to: "nick", .always).created)
        }
    }

    @Test("one index finds a ban, whatever the statistics are")
    func index() async throws {
        try await Tenant.lend { tenant in
            try await tenant.database.psql(
                """
                analyze \(Tenant.schema).single_use;
                insert into \(Tenant.schema).single_use (kind, hash, owner, expires)
                select 'banned', sha256(n::text::bytea), uuid_send(gen_random_uuid()), now() + interval '1 day'
                from generate_series(1, 20000) n
                """
            )
            let statement = LoginStatement(
                application: tenant.application,
                provider: .facebook,
                tokens: nil,
                targets: []
            )
            let binds = statement.filled(with: try tenant.write("1", [])).binds
            let types = binds.map { "\($0.sqlType)" }.joined(separator: ", ")
            let nulls = binds.map { _ in "null" }.joined(separator: ", ")
            let plan = try await tenant.database.psql(
                """
                set plan_cache_mode = force_generic_plan;
                prepare login (\(types)) as \(statement.sql);
                explain execute login (\(nulls))
                """
            )
            .compactMap { $0.first ?? nil }.joined(separator: "\n")
            #expect(plan.contains("single_use_pkey") && !plan.contains("Seq Scan on single_use"), "\(plan)")
        }
    }
}

extension Tenant {
    fileprivate func person(_ id: ObjectID, _ change: UserChange) async throws -> StoredUser? {
        try await store.change(id, of: application, by: Self.actor) { _ in change }.stored
    }

    /// Creates a user, and then disables and erases the user.
    ///
    /// With `keepingUser`, the user has a password and loses only the identity, as at a deletion request of Facebook.
    @discardableResult
    func ban(_ subject: String, keepingUser: Bool = false) async throws -> ObjectID {
        let id = try await login(subject, writing: nil, to: "nick", .always).user.objectID
        _ = try await person(id, .setStatus(.disabled))
        guard keepingUser else {
            _ = try await person(id, .erase(banningBy: Self.hash))
            return id
        }
        try await database.psql(
            """
            insert into \(Self.schema).passwords (object_id, login, hash, hash_key_id)
            values ('\(id)', 'ann@example.com', 'x', 'k')
            """
        )
        let request = try await self.request(subject)
        guard
            case .identity = try await store.erase(
                code: request.code,
                of: application,
                banningBy: Self.hash,
                by: Self.actor
            )
        else {
            Issue.record("the identity is not erased")
            return id
        }
        return id
    }

    fileprivate func bans(after hash: [UInt8]? = nil, limit: Int = 10) async throws -> [StoredBan] {
        try await store.bans(of: application, after: hash, limit: limit)
    }

    fileprivate func expectDisabled(
        _ subject: String,
        _ use: LoginStatement.Use = .repeated,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let statement = LoginStatement(
            application: application,
            provider: .facebook,
            tokens: nil,
            targets: [],
            use: use
        )
        let once = SingleUse(
            hash: Self.randomHash(),
            issuedAt: StoreMoment(seconds: Self.now + 10),
            seconds: 60,
            owner: Self.randomHash(),
            nonceHash: nil
        )
        let write = try write(subject, [], once: use == .once ? once : nil)
        let failure = await #expect(throws: Failure.self, sourceLocation: sourceLocation) {
            try await store.login(write, by: statement, deadline: .now + .seconds(5)).get()
        }
        #expect(failure?.reason == .accountDisabled, sourceLocation: sourceLocation)
    }
}
