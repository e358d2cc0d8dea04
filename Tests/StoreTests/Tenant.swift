import FoundationEssentials
import Identity
import Postgres
import Store
import TestSupport
import Testing

/// An application with its own schema on a leased database, and a store to work on it.
struct Tenant {
    let store: Store
    let database: TestDatabase
    let application: Application

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
        try await withDatabase(.empty) { database in
            let client = PostgresClient(configuration: try PostgresConfiguration(url: database.url))
            async let life: Void = client.run()
            let store = Store(postgres: client)
            let application = Application(
                id: try #require(ApplicationID("tenant")),
                name: "Tenant",
                schema: "tenant \"x\"",
                revision: 1,
                settings: ApplicationSettings(),
                properties: properties,
                facebook: nil
            )
            do {
                try await store.migrate()
                try await store.apply(
                    ApplicationWrite(
                        id: application.id,
                        name: application.name,
                        schema: application.schema,
                        settings: .object([:]),
                        keys: [],
                        facebook: nil,
                        mapping: nil,
                        properties: properties,
                        actor: "test"
                    )
                )
                try await body(Tenant(store: store, database: database, application: application))
            } catch {
                client.shutdown()
                await life
                throw error
            }
            client.shutdown()
            await life
        }
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
        let property = try #require(Self.properties.first { $0.name.text == name })
        let statement = SignInStatement(
            application: application,
            targets: [.init(name: property.name, type: property.type, sync: sync)]
        )
        return try await store.signIn(
            write(subject, [value], hash: hash, previous: previous),
            by: statement,
            deadline: .now + .seconds(5)
        )
    }

    func write(
        _ subject: String,
        _ values: [PropertyValue?],
        hash: [UInt8] = Tenant.randomHash(),
        previous: [UInt8]? = nil
    ) throws -> SignInWrite {
        SignInWrite(
            person: VerifiedPerson(
                appID: try #require(FacebookAppID("42")),
                subject: try #require(Subject(subject)),
                profile: [:],
                scopes: ["email"],
                dataAccessExpiresAt: 1_900_000_000
            ),
            freshID: ObjectID(UUID()),
            tokenHash: hash,
            previousTokenHash: previous,
            sessionSeconds: 3600,
            values: values,
            dynamic: [:]
        )
    }

    func count(_ table: String) async throws -> String? {
        try await database.psql("select count(*) from \"tenant \"\"x\"\"\".\(table)").first?.first ?? nil
    }

    static func randomHash() -> [UInt8] { (0..<32).map { _ in UInt8.random(in: .min ... .max) } }

    static func named(_ text: String) -> PropertyName {
        guard let name = PropertyName(text) else { preconditionFailure("\(text) is no name") }
        return name
    }
}

extension User {
    /// The value of a property by its name.
    func value(_ name: String) -> PropertyValue? {
        properties.first { $0.name.text == name }?.value
    }
}
