import FoundationEssentials
import Postgres
import Store
import TestSupport
import Testing
import Vocabulary

/// An application with its own schema on a leased database, and a store to work on it.
struct Tenant {
    let store: Store
    let database: TestDatabase
    var application: Application
    /// How the tests' logins keep the provider's tokens.
    var tokens: TokenKeeping?

    /// The users table, as SQL names it.
    static let users = schema + ".users"
    static let schema = "\"tenant \"\"x\"\"\""
    static let actor = Actor(name: "ann", source: "10.0.0.1")

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

    /// The same application as an instance sees it that knows of this property, instead of those names.
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

    /// Does steps as one change of the application.
    @discardableResult
    func change(_ steps: ConfigurationChange...) async throws -> StoredApplication? {
        try await change(steps)
    }

    /// Does steps as one change of the application, or of another one.
    @discardableResult
    func change(_ steps: [ConfigurationChange], of id: ApplicationID? = nil) async throws -> StoredApplication? {
        try await store.change(id ?? application.id, by: Self.actor) { _, _ in
            steps.map { PlannedChange($0, action: "test", target: nil, from: nil, to: nil) }
        }
    }

    /// What a change that fails says.
    func refusal(_ steps: ConfigurationChange..., sourceLocation: SourceLocation = #_sourceLocation) async -> Failure? {
        await #expect(throws: Failure.self, sourceLocation: sourceLocation) { try await change(steps) }
    }

    /// Everything of the configuration and of the users table's shape, to see that nothing has changed.
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

    /// One login that writes one property, or nothing when the profile lacks it.
    func signIn(
        _ subject: String = "1001",
        writing value: PropertyValue?,
        to name: String,
        _ sync: SyncMode,
        previous: [UInt8]? = nil,
        hash: [UInt8] = Tenant.randomHash()
    ) async throws -> WrittenSignIn {
        let property = try #require(application.properties.first { $0.name.text == name })
        let statement = SignInStatement(
            application: application,
            provider: .facebook,
            tokens: tokens,
            targets: [.init(name: property.name, type: property.type, sync: sync)]
        )
        return try await store.signIn(
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
        token: SealedToken? = nil,
        once: SingleUse? = nil,
        bringing claim: InvitationClaim? = nil
    ) throws -> SignInWrite {
        write(
            as: try Self.key(subject),
            values,
            clearing: cleared,
            dynamic: dynamic,
            hash: hash,
            previous: previous,
            token: token,
            once: once,
            bringing: claim
        )
    }

    func write(
        as identity: IdentityKey,
        _ values: [PropertyValue?],
        clearing cleared: [PropertyName] = [],
        dynamic: JSONObject = [:],
        hash: [UInt8] = Tenant.randomHash(),
        previous: [UInt8]? = nil,
        token: SealedToken? = nil,
        once: SingleUse? = nil,
        bringing claim: InvitationClaim? = nil
    ) -> SignInWrite {
        SignInWrite(
            person: VerifiedPerson(
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
            invitation: claim
        )
    }

    /// Does `sql` in another transaction, and ends that once the closure has begun to wait for it.
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

    /// The same, where the closure waits for a user's row.
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

    /// By what identities are known when they are banned.
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

/// A store on the database of that URL, for as long as the closure runs.
func withStore<Result>(
    _ url: String,
    configure: (inout PostgresConfiguration) -> Void = { _ in },
    _ body: (Store) async throws -> Result
) async throws -> Result {
    try await withClient(url, configure: configure) { try await body(Store(postgres: $0)) }
}

/// Connections to the database of that URL, for as long as the closure runs.
func withClient<Result>(
    _ url: String,
    configure: (inout PostgresConfiguration) -> Void = { _ in },
    _ body: (PostgresClient) async throws -> Result
) async throws -> Result {
    var configuration = try PostgresConfiguration(url: url)
    // Other tests want the server, too, and whatever else is at work the processors.
    (configuration.leaseTimeout, configuration.connectTimeout) = (.seconds(60), .seconds(60))
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
    /// What an unexpected failure is about.
    package var testDescription: String { "\(reason): \(message) (\(cause ?? "no cause"))" }
}

extension User {
    /// The value of a property by its name.
    func value(_ name: String) -> PropertyValue? {
        properties.first { $0.name.text == name }?.value
    }
}

extension ConfigurationChange {
    /// Changes the rules of a property; its type plays no part in that.
    static func changeProperty(_ name: PropertyName, required: Bool, clientMappable: Bool) -> ConfigurationChange {
        .changeProperty(Property(name: name, type: .string, required: required, clientMappable: clientMappable))
    }
}
