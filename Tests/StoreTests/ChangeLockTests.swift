import Domain
import Encodings
import Postgres
import Store
import Testing
import TestSupport

@Suite("A change and everything that goes on beside it", .serialized)
struct ChangeLockTests {
    private static let fresh = ConfigurationChange.declareProperty(
        Property(name: Tenant.named("fresh"), type: .int)
    )

    /// Repeats logins until the closure returns.
    ///
    /// A login that waits a second for a lock fails, and so does the test.
    ///
    /// - Returns: The result of the closure, and the number of logins.
    private func underLogins<Result: Sendable>(
        of tenant: Tenant,
        _ body: @Sendable () async throws -> Result
    ) async throws -> (result: Result, logins: Int) {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for person in 0..<8 {
                group.addTask {
                    var logins = 0
                    while !Task.isCancelled {
                        // A task of its own lets the last login finish in spite of the cancellation.
                        let login = Task {
                            try await tenant.login(String(3000 + person), writing: .text("a"), to: "steady", .always)
                        }
                        _ = try await login.value
                        logins += 1
                        try? await Task.sleep(for: .milliseconds(10))
                    }
                    return logins
                }
            }
            let result = try await body()
            group.cancelAll()
            return (result, try await group.reduce(0, +))
        }
    }

    @Test("a lock that somebody keeps: the change gives up with a conflict, and logins go on all the while")
    func lockKept() async throws {
        try await Tenant.lend { tenant in
            let tenant = try await tenant.withLoginProperty()
            let before = try await tenant.state()
            // A backup holds this lock.
            let outcome = try await tenant.database.whileLocked("lock table \(Tenant.users) in access share mode") {
                try await underLogins(of: tenant) {
                    let start = ContinuousClock.now
                    let failure = await tenant.refusal(Self.fresh)
                    return (failure, ContinuousClock.now - start)
                }
            }
            #expect(outcome.result.0?.reason == .conflict)
            #expect(outcome.result.1 > .seconds(5))
            #expect(outcome.logins > 100)
            let columns =
                "select count(*) from pg_attribute where attrelid = '\(Tenant.users)'::regclass and attname = 'fresh'"
            #expect(try await tenant.database.psql(columns) == [["0"]])
            #expect(before[0][0] == (try await tenant.state())[0][0])
            try await tenant.change(Self.fresh)
        }
    }

    @Test("a lock that somebody keeps for a while is waited for")
    func lockReleased() async throws {
        try await Tenant.lend { tenant in
            let change = try await tenant.database.whileLocked("lock table \(Tenant.users) in access share mode") {
                let change = Task { try await tenant.change(Self.fresh) }
                // Two transactions that wait for the lock show that the change has given up at least once.
                var waiting: Set<String?> = []
                try await eventually("the change tries again") {
                    for row in try await tenant.database.psql(
                        "select extract(epoch from xact_start) from pg_stat_activity where wait_event = 'relation'"
                    ) { waiting.insert(row[0]) }
                    return waiting.count >= 2
                }
                return change
            }
            #expect(try await change.value?.properties.contains { $0.name.text == "fresh" } == true)
        }
    }

    @Test("every step on the users table goes on under logins, and none of them fails or waits for long")
    func stepsUnderLogins() async throws {
        try await Tenant.lend { tenant in
            let tenant = try await tenant.withLoginProperty()
            let (fresh, renamed) = (Tenant.named("fresh"), Tenant.named("renamed"))
            let outcome = try await underLogins(of: tenant) {
                for _ in 0..<5 {
                    try await tenant.change(Self.fresh)
                    try await tenant.change(.renameProperty(from: fresh, to: renamed))
                    try await tenant.change(.widenProperty(renamed, to: .double))
                    try await tenant.database.psql("alter table \(Tenant.users) alter column renamed set default 1")
                    try await tenant.database.psql("update \(Tenant.users) set renamed = 1")
                    try await tenant.change(.changeProperty(renamed, required: true, clientMappable: true))
                    try await tenant.change(.removeProperty(renamed))
                }
            }
            #expect(outcome.logins > 50)
        }
    }

    @Test("deleting under logins comes to its end")
    func deletionUnderLogins() async throws {
        try await Tenant.lend { tenant in
            let logins = Task {
                await withTaskGroup(of: Void.self) { group in
                    for person in 1...8 {
                        group.addTask {
                            while !Task.isCancelled {
                                _ = try? await tenant.login(String(person), writing: .text("a"), to: "nick", .always)
                            }
                        }
                    }
                }
            }
            try await eventually("there are users") { try await tenant.count("users") != "0" }
            try await tenant.change(.delete)
            logins.cancel()
            await logins.value
            #expect(try await tenant.database.psql("select to_regnamespace('\(Tenant.schema)')") == [[nil]])
        }
    }

    @Test(
        "a step that would keep logins waiting for long is given up, and says what to do instead",
        arguments: [
            (ConfigurationChange.declareProperty(Property(name: Tenant.named("brought"), type: .text)), "small steps"),
            (.widenProperty(Tenant.named("points"), to: .text), "small steps"),
            (.renameProperty(from: Tenant.named("ratio"), to: Tenant.named("rate")), "small steps"),
        ]
    )
    func largeTable(_ step: ConfigurationChange, _ advice: String) async throws {
        try await Tenant.lend { tenant in
            _ = try await tenant.login("1", writing: .double(1), to: "ratio", .untilEdited)
            try await tenant.store.registerDynamicNames([Tenant.named("brought")], of: tenant.application.id)
            // Slow functions and triggers stand for a large table.
            try await tenant.database.psql(
                """
                create table pause (seconds float8);
                create function slow(text) returns text language plpgsql immutable as
                    $$ begin perform pg_sleep(seconds) from public.pause; return $1; end $$;
                create function dawdle() returns trigger language plpgsql as
                    $$ begin perform pg_sleep(seconds) from public.pause; return new; end $$;
                insert into \(Tenant.users) (object_id, points, dynamic)
                    select gen_random_uuid(), n, '{"brought": "a"}' from generate_series(1, 200) n;
                insert into \(Tenant.schema).identities (provider, provider_app, subject, object_id, written)
                    select 'facebook', '42', 's' || points, object_id, '{"ratio": 1}' from \(Tenant.users)
                    where points is not null;
                create index slowly on \(Tenant.users) (slow(points::text));
                create trigger dawdle before update on \(Tenant.users) for each row execute function dawdle();
                create trigger dawdle before update on \(Tenant.schema).identities for each row
                    execute function dawdle();
                insert into pause values (0.25)
                """
            )
            let before = try await tenant.state()
            // The whole change would take fifty seconds, while logins wait less than one.
            let start = ContinuousClock.now
            let failure = await tenant.refusal(step)
            #expect(ContinuousClock.now - start < .seconds(20))
            #expect(failure?.reason == .conflict)
            #expect(failure?.message.contains("too large") == true, "\(failure?.message ?? "")")
            #expect(failure?.message.contains(advice) == true)
            #expect(try await tenant.state() == before)
        }
    }

    @Test("two changes of one application happen one after the other, and each sees what the other has done")
    func oneAfterTheOther() async throws {
        try await Tenant.lend { tenant in
            let revision = try await tenant.store.configurationState().revision
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        for _ in 0..<5 {
                            _ = try await tenant.store.change(tenant.application.id, by: Tenant.actor) { stored, _ in
                                let count = stored?.keys.count ?? 0
                                let key = ConfigurationChange.addKey(
                                    label: "key \(count)",
                                    hash: Tenant.randomHash(),
                                    server: false
                                )
                                return [PlannedChange(key, action: "test", target: nil, from: nil, to: nil)]
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await tenant.store.application(tenant.application.id)?.keys.count == 20)
            #expect(try await tenant.store.configurationState().revision == revision + 20)
        }
    }

    @Test("changes, names that logins bring in, re-encryption and logins never end in a deadlock")
    func noDeadlock() async throws {
        try await Tenant.lend { tenant in
            let tenant = try await tenant.withLoginProperty()
            let app = try #require(ProviderAppID("1"))
            try await tenant.change(
                .setProvider(.facebook, kind: .facebook, enabled: true, options: .object([:])),
                .setProviderApps(.facebook, [.init(id: app, secret: EncryptedSecret(bytes: [1], keyID: "k0"))])
            )
            let contenders: @Sendable (inout PostgresConfiguration) -> Void = { $0.applicationName = "contenders" }
            try await withStore(tenant.database.url, configure: contenders) { store in
                let tenant = Tenant(store: store, database: tenant.database, application: tenant.application)
                _ = try await underLogins(of: tenant) { try await Self.contend(tenant) }
            }
            // A session reports its deadlocks when it ends.
            try await eventually("the contenders' sessions have ended") {
                try await tenant.database.psql(
                    "select 1 from pg_stat_activity where application_name = 'contenders'"
                ).isEmpty
            }
            let deadlocks = "select deadlocks from pg_stat_database where datname = current_database()"
            #expect(try await tenant.database.psql(deadlocks) == [["0"]])
        }
    }

    private static func contend(_ tenant: Tenant) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for number in 0..<15 {
                    let name = Tenant.named("brought\(number)")
                    try await tenant.change(.declareProperty(Property(name: name, type: .json)))
                    try await tenant.change(.removeProperty(name))
                }
            }
            group.addTask {
                for number in 0..<60 {
                    let name = Tenant.named("brought\(number)")
                    try await tenant.store.registerDynamicNames([name], of: tenant.application.id)
                }
            }
            group.addTask {
                let formerKeys = ["key"] + (0..<30).map { "k\($0)" }
                for number in 0..<30 {
                    _ = try await tenant.store.reencrypt(
                        .appSecrets,
                        of: nil,
                        notUnder: "k\(number)",
                        among: formerKeys,
                        limit: 10,
                        by: Tenant.actor
                    ) { _ in
                        EncryptedSecret(bytes: [2], keyID: "k\(number)")
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}

extension Tenant {
    /// Returns the application with a property that logins write while other properties change.
    ///
    /// It is the view of an instance that knows none of the other changes.
    fileprivate func withLoginProperty() async throws -> Tenant {
        let property = Property(name: Self.named("steady"), type: .string)
        try await change(.declareProperty(property))
        var tenant = self
        tenant.application = Application(
            id: application.id,
            name: application.name,
            schema: application.schema,
            revision: application.revision,
            settings: application.settings,
            properties: Property.builtIn + [property]
        )
        return tenant
    }
}
