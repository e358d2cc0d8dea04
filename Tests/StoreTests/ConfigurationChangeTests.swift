import Domain
import Encodings
import FoundationEssentials
import Postgres
import Store
import Testing
import TestSupport

@Suite("A change of an application")
struct ConfigurationChangeTests {
    @Test("what was written is what is read, by every way of reading")
    func roundTrip() async throws {
        try await Tenant.lend { tenant in
            let hashes = (0..<2).map { _ in Tenant.randomHash() }
            let settings: JSONValue = .object(["clientMapping": .bool(false), "hostNames": .array([.string("a.b")])])
            let mapping: JSONValue = .array([.object(["from": .string("email"), "to": .string("email")])])
            let apps = [
                (id: try #require(ProviderAppID("22")), secret: EncryptedSecret(bytes: [1, 2, 255], keyID: "k1")),
                (id: try #require(ProviderAppID("11")), secret: EncryptedSecret(bytes: [3], keyID: "k2")),
            ]
            let written = try #require(
                try await tenant.change(
                    .rename("Its name"),
                    .changeSettings(settings),
                    .addKey(label: "web", hash: hashes[1], server: false),
                    .addKey(label: "ios", hash: hashes[0], server: false),
                    .setProvider(.facebook, kind: .facebook, enabled: true, options: .object([:])),
                    .setProviderApps(.facebook, apps.map { .init(id: $0.id, secret: $0.secret) }),
                    .setMapping(.facebook, mapping),
                    .orderProperties(["extra", "seen"].map(Tenant.named))
                )
            )
            let read = try #require(try await tenant.store.application(tenant.application.id))
            let listed = try #require(try await tenant.store.applications(after: nil, limit: 10).first)
            let copied = try #require(try await tenant.store.configuration(changedAfter: 0).changed.first)
            for application in [written, read, listed, copied] {
                #expect(application.name == "Its name")
                #expect(application.schema == tenant.application.schema)
                #expect(application.settings == settings)
                #expect(application.keys.map(\.label) == ["ios", "web"])
                #expect(application.keys.map(\.hash) == hashes)
                #expect(application.providers[.facebook]?.enabled == true)
                #expect(application.providers[.facebook]?.apps.map(\.id) == apps.map(\.id))
                #expect(application.providers[.facebook]?.apps.map(\.secret) == apps.map(\.secret))
                #expect(application.mappings[.facebook]?.document == mapping)
                #expect(application.mappings[.facebook]?.revision == 1)
                let names = ["email", "name", "extra", "seen", "nick", "points", "ratio", "member", "birthday"]
                #expect(application.properties.map(\.name.text) == names)
                #expect(application.updated == read.updated)
                #expect(application.revision == read.revision)
                #expect(try application.created <= #require(application.updated))
            }
            #expect(try await tenant.store.configurationState().revision == read.revision)
            #expect(try await tenant.store.application(try #require(ApplicationID("other"))) == nil)
        }
    }

    @Test("every step has one entry in the audit log, with what was and what will be; the revision rises once")
    func audit() async throws {
        try await Tenant.lend { tenant in
            let before = try await tenant.store.configurationState().revision
            let changed = try await tenant.store.change(tenant.application.id, by: Tenant.actor) { _, _ in
                [
                    PlannedChange(
                        .rename("New"),
                        action: "application.rename",
                        target: nil,
                        from: .string("Tenant"),
                        to: .string("New")
                    ),
                    PlannedChange(
                        .addKey(label: "ios", hash: Tenant.randomHash(), server: false),
                        action: "key.create",
                        target: "ios",
                        from: nil,
                        to: .object([:])
                    ),
                ]
            }
            #expect(changed?.revision == before + 1)
            #expect(try await tenant.store.configurationState().revision == before + 1)
            let entries = try await tenant.store.audit(matching: AuditFilter(), before: nil, limit: 2)
            #expect(entries.map(\.action) == ["key.create", "application.rename"])
            #expect(entries.map(\.target) == ["ios", nil])
            #expect(entries.map(\.actor) == ["ann", "ann"])
            #expect(entries.map(\.source) == ["10.0.0.1", "10.0.0.1"])
            #expect(entries.map(\.application) == ["tenant", "tenant"])
            #expect(
                entries.map(\.details) == [
                    .object(["to": .object([:])]), .object(["from": .string("Tenant"), "to": .string("New")]),
                ]
            )
        }
    }

    @Test("a plan sees the application and its live columns; an empty one changes nothing at all")
    func emptyPlan() async throws {
        try await Tenant.lend { tenant in
            let before = try await tenant.state()
            let seen = try await tenant.store.change(tenant.application.id, by: Tenant.actor) { stored, columns in
                #expect(stored?.name == "Tenant")
                #expect(columns.map(\.name).suffix(3) == ["birthday", "seen", "extra"])
                #expect(columns.first { $0.name == "points" }?.sqlType == "bigint")
                return []
            }
            #expect(seen?.name == "Tenant")
            let nobody = try await tenant.store.change(try #require(ApplicationID("nobody")), by: Tenant.actor) {
                stored,
                columns in
                #expect(stored == nil && columns.isEmpty)
                return []
            }
            #expect(nobody == nil)
            #expect(try await tenant.state() == before)
        }
    }

    @Test("what a plan throws passes through, and a step that fails takes all others back")
    func allOrNothing() async throws {
        struct Refused: Error {}
        try await Tenant.lend { tenant in
            try await tenant.database.psql("insert into \(Tenant.users) (object_id) values (gen_random_uuid())")
            let before = try await tenant.state()
            await #expect(throws: Refused.self) {
                try await tenant.store.change(tenant.application.id, by: Tenant.actor) { _, _ in throw Refused() }
            }
            let steps: [ConfigurationChange] = [
                .rename("New"), .addKey(label: "ios", hash: Tenant.randomHash(), server: false),
                .setProvider(.facebook, kind: .facebook, enabled: true, options: .object([:])),
                .declareProperty(Property(name: Tenant.named("fresh"), type: .date)),
                .renameProperty(from: Tenant.named("nick"), to: Tenant.named("nickName")),
                .widenProperty(Tenant.named("points"), to: .string), .removeProperty(Tenant.named("extra")),
                .setMapping(.facebook, .array([])),
            ]
            let late = ConfigurationChange.declareProperty(
                Property(name: Tenant.named("late"), type: .int, required: true)
            )
            let failure = await #expect(throws: Failure.self) { try await tenant.change(steps + [late]) }
            #expect(failure?.reason == .constraintViolation)
            #expect(failure?.message.contains("late") == true)
            #expect(try await tenant.state() == before)
            try await tenant.change(steps)
        }
    }

    @Test("deleting takes the schema and everything in it along, and leaves the audit log")
    func deletion() async throws {
        try await Tenant.lend { tenant in
            try await tenant.change(
                .addKey(label: "ios", hash: Tenant.randomHash(), server: false),
                .setMapping(.facebook, .array([]))
            )
            _ = try await tenant.login(writing: .text("a"), to: "nick", .always)
            try await tenant.database.psql("create view report as select nick from \(Tenant.users)")
            let revision = try await tenant.store.configurationState().revision
            #expect(try await tenant.change(.delete) == nil)
            let left = try await tenant.database.psql(
                """
                select (select count(*) from federation.applications) + (select count(*) from federation.api_keys)
                    + (select count(*) from federation.mappings) + (select count(*) from federation.properties),
                    to_regnamespace('\(Tenant.schema)'), (select revision from federation.configuration),
                    (select count(*) from federation.audit_log where application_id = 'tenant')
                """
            )
            #expect(left == [["0", nil, String(revision + 1), "11"]])
            let copy = try await tenant.store.configuration(changedAfter: revision)
            #expect(copy.revision == revision + 1 && copy.ids.isEmpty && copy.changed.isEmpty)
        }
    }

    @Test("a change is announced to whoever listens, with its revision, and a change that fails is not")
    func announcement() async throws {
        try await Tenant.lend { tenant in
            // psql prints a notification when its second command ends.
            let (listener, revision) = try await tenant.database.whileLocked("lock table federation.schema_versions") {
                let listener = Task {
                    try await run(
                        "psql",
                        [
                            "--no-psqlrc", "--dbname", tenant.database.url, "--command",
                            "listen federation_configuration", "--command", "select 1 from federation.schema_versions",
                        ]
                    )
                }
                try await eventually("somebody listens") {
                    try await tenant.database.psql(
                        "select 1 from pg_locks where relation = 'federation.schema_versions'::regclass and not granted"
                    ).isEmpty == false
                }
                _ = await tenant.refusal(.rename(""))
                return (listener, try await tenant.change(.rename("New"))?.revision)
            }
            let output = try await listener.value.standardOutput
            let heard = output.split(separator: "\n").filter { $0.contains("notification") }
            #expect(heard.count == 1, "\(output)")
            #expect(heard.first?.contains("payload \"\(revision ?? 0)\"") == true, "\(output)")
        }
    }

    @Test("the whole life of an application without prepared statements, as behind a pooler")
    func unprepared() async throws {
        try await Tenant.lend { tenant in
            try await withStore(tenant.database.url, configure: { $0.preparedStatements = false }) { store in
                let id = try #require(ApplicationID("pooled"))
                let nick = Tenant.named("nick")
                let steps: [[ConfigurationChange]] = [
                    [.create(name: "P", schema: "pooled", settings: .object([:]))],
                    [.declareProperty(Property(name: nick, type: .int))], [.widenProperty(nick, to: .double)],
                    [.changeProperty(nick, required: true, clientMappable: true)],
                    [.renameProperty(from: nick, to: Tenant.named("n"))], [.removeProperty(Tenant.named("n"))],
                ]
                for steps in steps {
                    _ = try await store.change(id, by: Tenant.actor) { _, _ in
                        steps.map { PlannedChange($0, action: "test", target: nil, from: nil, to: nil) }
                    }
                }
                #expect(try await store.configuration(changedAfter: 0).ids.count == 2)
                #expect(try await store.application(id)?.properties.count == 2)
            }
        }
    }
}
