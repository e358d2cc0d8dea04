import Domain
import FoundationEssentials
@testable import Postgres
import Store
import Testing
import TestSupport

/// The rows that the statistics know, gathered before the tables become large; nothing analyzes the tables again.
enum StaleStatistics: String, CaseIterable, CustomTestStringConvertible {
    case oneSession
    case manySessionsOfOneUser

    var testDescription: String { rawValue }

    private static let tables = [
        "users", "identities", "sessions", "passwords", "attempts", "email_proofs", "mails", "user_roles", "single_use",
    ]

    /// Adds one user and analyzes the tables.
    ///
    /// The user has one row in each table, or so many sessions that one value seems to be the only one.
    func begin(_ tenant: Tenant) async throws {
        let schema = Tenant.schema
        for table in Self.tables {
            try await tenant.database.psql("alter table \(schema).\(table) set (autovacuum_enabled = off)")
        }
        try await fill(tenant, users: 0...0, sessionsOfEach: self == .oneSession ? 1 : 60)
        for table in Self.tables { try await tenant.database.psql("vacuum analyze \(schema).\(table)") }
    }

    /// Adds thousands of rows that the statistics do not know.
    func load(_ tenant: Tenant) async throws {
        try await fill(tenant, users: 1...5000, sessionsOfEach: 2)
    }

    private func fill(_ tenant: Tenant, users: ClosedRange<Int>, sessionsOfEach sessions: Int) async throws {
        let (schema, numbers) = (Tenant.schema, "generate_series(\(users.lowerBound), \(users.upperBound)) n")
        func user(_ number: String = "n") -> String { "md5('user ' || \(number))::uuid" }
        func hash(_ what: String) -> String { "sha256(convert_to('\(what) ' || n, 'UTF8'))" }
        try await tenant.database.psql(
            """
            insert into \(schema).users (object_id, email) select \(user()), n || '@example.com' from \(numbers);
            insert into \(schema).identities (provider, provider_app, subject, object_id)
                select 'facebook', '42', 1000 + n, \(user()) from \(numbers);
            insert into \(schema).sessions (token_hash, object_id, expires, provider, provider_app, subject)
                select sha256(convert_to(n || ' ' || m, 'UTF8')), \(user()), now() + interval '1 day', 'facebook', '42',
                    1000 + n
                from \(numbers), generate_series(1, \(sessions)) m;
            insert into \(schema).passwords (object_id, login, hash, hash_key_id)
                select \(user()), n || '@example.com', '\\x0102', 'key' from \(numbers);
            insert into \(schema).attempts (key, failures) select \(hash("key")), 1 from \(numbers);
            insert into \(schema).email_proofs (token_hash, object_id, purpose, email, expires)
                select \(hash("proof")), \(user()), 'confirmation', 'x', now() + interval '1 day' from \(numbers);
            insert into \(schema).mails (event, object_id, content, content_key_id)
                select n, \(user()), '', 'key' from \(numbers);
            insert into \(schema).user_roles (object_id, role) select \(user()), 'role' from \(numbers);
            insert into \(schema).single_use (kind, hash, expires)
                select kind, \(hash("once")), now() + interval '1 day' from \(numbers), unnest(array['ended', 'nonce']) kind
            """
        )
    }
}

@Suite("With statistics from an almost empty database", .serialized)
struct StaleStatisticsTests {
    // MARK: The plans

    /// Returns a `PREPARE` of the statement, with the types of its values.
    private static func prepare(_ statement: Statement) -> String {
        "prepare login (\(statement.binds.map { "\($0.sqlType)" }.joined(separator: ", "))) as \(statement.sql)"
    }

    /// Returns the scans that no index condition narrows.
    private static func wideScans(_ plan: [String]) -> [String] {
        plan.enumerated().compactMap { number, line in
            guard line.contains("Scan"), line.contains(" on ") || line.contains("Index") else { return nil }
            if ["CTE Scan", "Subquery Scan", "Bitmap Heap Scan"].contains(where: line.contains) { return nil }
            let isNarrow = number + 1 < plan.count && plan[number + 1].contains("Index Cond:")
            return isNarrow ? nil : line
        }
    }

    @Test(
        "every part of a login looks its rows up by an index, planned for its values or for all",
        arguments: StaleStatistics.allCases
    )
    func plans(_ statistics: StaleStatistics) async throws {
        try await Tenant.lend { tenant in
            try await statistics.begin(tenant)
            try await statistics.load(tenant)
            let property = try #require(tenant.application.properties.first { $0.name.text == "nick" })
            let email = try #require(tenant.application.properties.first { $0.name == .email })
            let variants = [
                LoginStatement.Variant(.repeated), .init(.once), .init(.once, opensRefreshFamily: true),
                .init(.repeated, opensRefreshFamily: true, refusesUnknown: true),
            ]
            for variant in variants {
                let login = LoginStatement(
                    application: tenant.application,
                    provider: .facebook,
                    tokens: nil,
                    targets: [
                        .init(name: email.name, type: email.type, sync: .always),
                        .init(name: property.name, type: property.type, sync: .untilEdited),
                    ]
                ).variant(variant)
                let statement = login.filled(
                    with: try tenant.write(
                        "1001",
                        [.text("a@example.com"), .text("Ann")],
                        previous: Tenant.randomHash()
                    )
                )
                try await withClient(tenant.database.url, configure: { $0.planLookUps() }) { client in
                    for mode in ["force_custom_plan", "force_generic_plan"] {
                        let plan = try await client.withConnection { connection in
                            try await connection.execute(script: "set plan_cache_mode = \(mode)")
                            var explain = Statement(sql: "explain (costs off) " + statement.sql, binds: statement.binds)
                            if mode == "force_generic_plan" {
                                try await connection.execute(script: Self.prepare(statement))
                                let values = statement.binds.map { _ in "null" }.joined(separator: ", ")
                                explain = Statement(sql: "explain (costs off) execute login (\(values))")
                            }
                            return try await connection.query(explain).all(String.self)
                        }
                        #expect(plan.count > 30)
                        #expect(Self.wideScans(plan) == [], "\(mode), \(variant)")
                    }
                }
            }
        }
    }

    // MARK: Rows read

    /// Sends one request of every kind that clients send, for one user.
    private func traffic(_ tenant: Tenant, _ store: Store, user number: Int) async throws {
        let application = tenant.application
        let login = LoginStatement(application: application, provider: .facebook, tokens: nil, targets: [])
        let deadline = ContinuousClock.now + .seconds(30)
        let (hash, other) = (Tenant.randomHash(), Tenant.randomHash())
        let user = try await store.login(
            try tenant.write(String(1000 + number), [], hash: hash),
            by: login,
            deadline: deadline
        ).get().user.objectID
        #expect(try await store.sessionUser(tokenHash: hash, of: application).get()?.objectID == user)
        let again = try tenant.write(String(1000 + number), [], previous: hash)
        _ = try await store.login(again, by: login, deadline: deadline).get()
        let secret = EncryptedSecret(bytes: [1, 2], keyID: "key")
        let address = "\(number)@example.com"
        let opened = try await store.openSession(
            SessionOpening(
                user: user,
                grounds: .password(secret),
                login: address,
                tokenHash: other,
                previousTokenHash: nil
            ),
            of: application
        ).get()
        #expect(opened?.user.objectID == user)
        #expect(try await store.password(ofLogin: address, in: application)?.objectID == user)
        #expect(try await store.user(ofLogin: address, in: application)?.objectID == user)
        let name = try #require(application.login(address))
        #expect(try await store.userWithoutPassword(ofLogin: name, in: application) == nil)
        let first = StoredPassword(objectID: user, login: address, hash: secret)
        #expect(try await !store.storeFirstPassword(first, ofLogin: name, in: application))
        #expect(try await store.ownSessions(of: user, asking: other, in: application).contains { $0.isCurrent })
        #expect(try await store.loginMethods(of: user, session: other, in: application).count == 2)
        _ = try await store.update(
            UserUpdate(id: user, given: GivenProperties(), login: nil),
            by: .session(other, factorWithin: nil),
            of: application
        ).get()
        let keys = AttemptKeys(source: Tenant.randomHash(), account: Tenant.randomHash())
        _ = try await store.countAttempt(for: keys.counts(by: application.settings.lockout), of: application)
        try await store.forgiveAttempt(keys, of: application)
        for purpose in [EmailTokenPurpose.confirmation, .passwordReset] {
            let link = Tenant.randomHash()
            try await store.addEmailToken(
                EmailToken(user: user, email: address),
                for: purpose,
                tokenHash: link,
                of: application
            )
            #expect(try await store.emailToken(tokenHash: link, for: purpose, of: application)?.user == user)
            if purpose == .confirmation {
                #expect(try await store.confirmEmail(byLink: link, verifiedHash: secret, in: application) == user)
            } else {
                let reset = try await store.resetPassword(
                    byLink: link,
                    for: purpose,
                    to: StoredPassword(objectID: user, login: address, hash: secret),
                    at: address,
                    keepingIdentities: true,
                    forgetting: keys.account,
                    showing: nil,
                    in: application
                )
                #expect(reset != nil)
            }
        }
        #expect(try await store.use(.state, hash: Tenant.randomHash(), seconds: 60, of: application))
        _ = try await store.takeLoginCode(hash: Tenant.randomHash(), of: application)
        _ = try await store.endOtherSessions(of: user, keeping: other, in: application)
        #expect(try await store.endSession(tokenHash: hash, of: application) == false)
    }

    /// Waits until no other session of that application name is left.
    private func ended(_ applicationName: String, _ tenant: Tenant) async throws {
        try await eventually("\(applicationName) has ended") {
            try await tenant.database.psql(
                """
                select 1 from pg_stat_activity where datname = current_database()
                    and application_name = '\(applicationName)' and pid <> pg_backend_pid()
                """
            ).isEmpty
        }
    }

    @Test(
        "what was planned while the tables were small reads no table from end to end when they are large",
        arguments: [nil, 5 as Int64],
        StaleStatistics.allCases
    )
    func reading(_ maxSessions: Int64?, _ statistics: StaleStatistics) async throws {
        try await Tenant.lend { tenant in
            var tenant = tenant
            tenant.application.settings.maxSessions = maxSessions
            try await statistics.begin(tenant)
            try await withStore(
                tenant.database.url,
                configure: {
                    $0.planLookUps()
                    $0.applicationName = "traffic"
                    $0.pipelinedConnections = 1
                    $0.exclusiveConnections = 1
                }
            ) { store in
                // Two runs make the server plan the statements.
                for _ in 1...2 { try await traffic(tenant, store, user: 0) }
                try await statistics.load(tenant)
                // The sessions that filled the tables report their own reads when they end.
                await tenant.database.endSessions()
                try await ended("tests", tenant)
                try await tenant.database.psql("select pg_stat_reset()")
                for number in 1...10 { try await traffic(tenant, store, user: number * 400) }
            }
            // A connection reports its reads when it ends, at the latest.
            try await ended("traffic", tenant)
            let read = try await tenant.database.psql(
                """
                select relname, seq_tup_read from pg_stat_user_tables
                where schemaname = 'tenant "x"' and seq_tup_read > 3000
                union all
                select indexrelname, idx_tup_read from pg_stat_user_indexes
                where schemaname = 'tenant "x"' and idx_tup_read > 3000
                order by 1
                """
            )
            #expect(read == [], "each table holds five thousand rows, and each index has been asked some hundred times")
        }
    }

    // MARK: Too many sessions

    @Test("of simultaneous logins of a user with too many sessions all are in, and the oldest sessions end")
    func race() async throws {
        try await Tenant.lend { tenant in
            try await StaleStatistics.oneSession.begin(tenant)
            let user = try await tenant.login(writing: nil, to: "nick", .always).user.objectID
            try await tenant.database.psql(
                """
                insert into \(Tenant.schema).sessions (token_hash, object_id, created, expires)
                select sha256(n::text::bytea), '\(user)', now() - make_interval(secs => n), now() + interval '1 day'
                from generate_series(1, 1500) n
                """
            )
            let hashes = (0..<16).map { _ in Tenant.randomHash() }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for hash in hashes {
                    group.addTask { _ = try await tenant.login(writing: nil, to: "nick", .always, hash: hash) }
                }
                try await group.waitForAll()
            }
            for hash in hashes {
                #expect(
                    try await tenant.store.sessionUser(tokenHash: hash, of: tenant.application).get()?.objectID == user
                )
            }
            func count() async throws -> Int {
                let rows = try await tenant.database.psql(
                    "select count(*) from \(Tenant.schema).sessions where object_id = '\(user)'"
                )
                return (rows.first?.first ?? nil).flatMap { Int($0) } ?? 0
            }
            #expect((1000...1015).contains(try await count()))
            _ = try await tenant.login(writing: nil, to: "nick", .always)
            #expect(try await count() == 1000)
        }
    }
}
