import Domain
import Encodings
import FoundationEssentials
import Postgres
import Store
import Testing
import TestSupport

/// An application with its own schema on a leased database, and a store for it.
struct Tenant {
    let store: Store
    let database: TestDatabase
    var application: Application
    /// How logins of the tests keep the provider's tokens.
    var tokens: TokenKeeping?

    /// The name of the users table in SQL.
    static let users = schema + ".users"
    static let schema = "\"tenant \"\"x\"\"\""
    static let actor = ChangeAuthor(name: "ann", source: "10.0.0.1")

    static let properties =
        Property.builtIn
        + [
            Property(name: named("nick"), type: .string),
            Property(name: named("points"), type: .int),
            Property(name: named("ratio"), type: .double),
            Property(name: named("member"), type: .boolean),
            Property(name: named("birthday"), type: .date),
            Property(name: named("seen"), type: .dateTime),
            Property(name: named("extra"), type: .json),
        ]

    /// Lends a database with one application in it.
    static func lend(_ body: (Tenant) async throws -> Void) async throws {
        try await withDatabase(.schema) { database in
            try await withStore(database.url) { store in
                let application = Application(
                    id: try #require(ApplicationID("tenant")),
                    name: "Tenant",
                    schema: "tenant \"x\"",
                    revision: 1,
                    settings: ApplicationSettings(),
                    properties: properties
                )
                let tenant = Tenant(store: store, database: database, application: application)
                try await tenant.change(
                    [.create(name: application.name, schema: application.schema, settings: .object([:]))]
                        + properties.filter { $0.name != .email && $0.name != .name }.map { .declareProperty($0) }
                )
                try await body(tenant)
            }
        }
    }

    /// Returns the application as an instance sees it that knows this property in place of the given names.
    func with(_ property: Property, insteadOf gone: String...) -> Tenant {
        var tenant = self
        tenant.application = Application(
            id: application.id,
            name: application.name,
            schema: application.schema,
            revision: application.revision,
            settings: application.settings,
            properties: application.properties.filter { $0.name != property.name && !gone.contains($0.name.text) }
                + [property]
        )
        return tenant
    }

    /// Applies steps as one change of the application.
    @discardableResult
    func change(_ steps: ConfigurationChange...) async throws -> StoredApplication? {
        try await change(steps)
    }

    /// Applies steps as one change of this application, or of another one.
    @discardableResult
    func change(_ steps: [ConfigurationChange], of id: ApplicationID? = nil) async throws -> StoredApplication? {
        try await store.change(id ?? application.id, by: Self.actor) { _, _ in
            steps.map { PlannedChange($0, action: "test", target: nil, from: nil, to: nil) }
        }
    }

    /// Applies a change that must fail, and returns its failure.
    func refusal(_ steps: ConfigurationChange..., sourceLocation: SourceLocation = #_sourceLocation) async -> Failure? {
        await #expect(throws: Failure.self, sourceLocation: sourceLocation) { try await change(steps) }
    }

    /// Returns the configuration and the shape and rows of the users table, to test that nothing has changed.
    func state() async throws -> [[String?]] {
        try await database.psql(
            """
            select (select revision from federation.configuration), (select count(*) from federation.audit_log),
                (select jsonb_agg(a) from federation.applications a), (select jsonb_agg(p) from federation.properties p),
                (select jsonb_agg(k) from federation.api_keys k), (select jsonb_agg(m) from federation.mappings m),
                (select jsonb_agg(s) from federation.provider_settings s),
                (select jsonb_agg(f) from federation.provider_apps f),
                (select jsonb_agg(d) from federation.dynamic_properties d),
                (select string_agg(concat(attname, atttypid::regtype, attnotnull), ' ' order by attnum)
                    from pg_attribute where attrelid = '\(Self.users)'::regclass and attnum > 0),
                (select string_agg(pg_get_constraintdef(oid), ' ' order by oid) from pg_constraint
                    where conrelid = '\(Self.users)'::regclass),
                (select jsonb_agg(u order by object_id) from \(Self.users) u)
            """
        )
    }

    /// Logs in once and writes one property, or none when the profile lacks it.
    func login(
        _ subject: String = "1001",
        writing value: PropertyValue?,
        to name: String,
        _ sync: SyncMode,
        previous: [UInt8]? = nil,
        hash: [UInt8] = Tenant.randomHash()
    ) async throws -> WrittenLogin {
        let property = try #require(application.properties.first { $0.name.text == name })
        let statement = LoginStatement(
            application: application,
            provider: .facebook,
            tokens: tokens,
            targets: [.init(name: property.name, type: property.type, sync: sync)]
        )
        return try await store.login(
            write(subject, [value], hash: hash, previous: previous),
            by: statement,
            deadline: .now + .seconds(5)
        ).get()
    }

    func write(
        _ subject: String,
        _ values: [PropertyValue?],
        clearing cleared: [PropertyName] = [],
        dynamic: JSONObject = [:],
        hash: [UInt8] = Tenant.randomHash(),
        previous: [UInt8]? = nil,
        token: EncryptedToken? = nil,
        once: SingleUse? = nil,
        bringing claim: InvitationClaim? = nil,
        refreshToken: NewRefreshSecret? = nil
    ) throws -> LoginWrite {
        write(
            as: try Self.key(subject),
            values,
            clearing: cleared,
            dynamic: dynamic,
            hash: hash,
            previous: previous,
            token: token,
            once: once,
            bringing: claim,
            refreshToken: refreshToken
        )
    }

    func write(
        as identity: IdentityKey,
        _ values: [PropertyValue?],
        clearing cleared: [PropertyName] = [],
        dynamic: JSONObject = [:],
        hash: [UInt8] = Tenant.randomHash(),
        previous: [UInt8]? = nil,
        token: EncryptedToken? = nil,
        once: SingleUse? = nil,
        bringing claim: InvitationClaim? = nil,
        refreshToken: NewRefreshSecret? = nil
    ) -> LoginWrite {
        LoginWrite(
            verified: VerifiedIdentity(
                identity: identity,
                profile: [:],
                scopes: ["email"],
                dataAccessExpiresAt: 1_900_000_000
            ),
            banHash: Self.hash(identity),
            freshID: ObjectID(UUID()),
            tokenHash: hash,
            previousTokenHash: previous,
            sessionSeconds: 3600,
            values: values,
            cleared: cleared,
            dynamic: dynamic,
            token: token,
            once: once,
            invitation: claim,
            refreshToken: refreshToken
        )
    }

    /// Runs `sql` in another transaction, and commits once the closure waits for it.
    func whileWaiting(behind sql: String, _ body: @escaping @Sendable () async throws -> Void) async throws {
        let waiter = try await database.whileLocked(sql) {
            let waiter = Task { try await body() }
            try await eventually("somebody waits") {
                try await database.psql(
                    "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
                ).count == 1
            }
            return waiter
        }
        try await waiter.value
    }

    /// Locks a user's row and runs `sql` in another transaction, and commits once the closure waits for the row.
    func whileWaiting(
        for user: ObjectID,
        _ sql: String,
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await whileWaiting(
            behind: "select from \(Self.users) where object_id = '\(user)' for update; \(sql)",
            body
        )
    }

    func count(_ table: String) async throws -> String? {
        try await database.psql("select count(*) from \"tenant \"\"x\"\"\".\(table)").first?.first ?? nil
    }

    /// Returns the hash by which a ban knows an identity.
    @Sendable static func hash(_ identity: IdentityKey) -> [UInt8] {
        var hash = Array("\(identity.provider)/\(identity.app)/\(identity.subject)".utf8.prefix(32))
        hash += [UInt8](repeating: 0, count: 32 - hash.count)
        return hash
    }

    static func randomHash() -> [UInt8] { (0..<32).map { _ in UInt8.random(in: .min ... .max) } }

    static func named(_ text: String) -> PropertyName {
        guard let name = PropertyName(text) else { preconditionFailure("\(text) is no name") }
        return name
    }
}

/// Lends a store on the database of that URL while the closure runs.
func withStore<Result>(
    _ url: String,
    configure: (inout PostgresConfiguration) -> Void = { _ in },
    _ body: (Store) async throws -> Result
) async throws -> Result {
    try await withClient(url, configure: configure) { try await body(Store(postgres: $0)) }
}

/// Lends a client of the database of that URL while the closure runs.
func withClient<Result>(
    _ url: String,
    configure: (inout PostgresConfiguration) -> Void = { _ in },
    _ body: (PostgresClient) async throws -> Result
) async throws -> Result {
    var configuration = try PostgresConfiguration(url: url)
    // Other tests use the database server and the processors, too.
    (configuration.leaseTimeout, configuration.connectTimeout) = (.seconds(60), .seconds(60))
    (configuration.statementTimeout, configuration.idleInTransactionTimeout) = (.seconds(60), .seconds(60))
    configure(&configuration)
    let client = PostgresClient(configuration: configuration)
    async let life: Void = client.run()
    do {
        let result = try await body(client)
        client.shutdown()
        await life
        return result
    } catch {
        client.shutdown()
        await life
        throw error
    }
}

extension Failure: CustomTestStringConvertible {
    /// The reason, message and cause of an unexpected failure.
    package var testDescription: String { "\(reason): \(message) (\(cause ?? "no cause"))" }
}

extension User {
    func value(_ name: String) -> PropertyValue? {
        properties.first { $0.name.text == name }?.value
    }
}

extension ConfigurationChange {
    /// Changes the rules of a property; the type in the change is ignored.
    static func changeProperty(_ name: PropertyName, required: Bool, clientMappable: Bool) -> ConfigurationChange {
        .changeProperty(Property(name: name, type: .string, required: required, clientMappable: clientMappable))
    }
}
