import Accounts
import Administration
import AuthorizationServers
import Curl
import Domain
import Encodings
import Facebook
import FoundationEssentials
import Logging
import OpenID
import Postgres
import Providers
import Secrets
import SignedTokens
import Store
import Testing
import TestSupport
import Twitter

/// The administration of a database of its own with an application `demo`; Graph is out of reach.
struct Office {
    let administration: Administration
    let database: TestDatabase
    let store: Store
    private let kinds: ProviderKinds

    static let actor = ChangeAuthor(name: "ann", source: "192.0.2.7")
    static let oldKey = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
    static let newKey = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="

    static func lend(_ body: (Office) async throws -> Void) async throws {
        try await withDatabase(.schema) { database in
            var configuration = try PostgresConfiguration(url: database.url)
            // Other tests use the database server and the processors, too.
            (configuration.leaseTimeout, configuration.connectTimeout) = (.seconds(60), .seconds(60))
            (configuration.statementTimeout, configuration.idleInTransactionTimeout) = (.seconds(60), .seconds(60))
            let client = PostgresClient(configuration: configuration)
            async let life: Void = client.run()
            do {
                let store = Store(postgres: client)
                let kinds = try ProviderKinds.outOfReach()
                let office = Office(
                    administration: try Self.administration(store, kinds, keys: [oldKey]),
                    database: database,
                    store: store,
                    kinds: kinds
                )
                let demo = try json(#"{"application": "demo"}"#)
                _ = try await office.administration.applications.create(demo, by: actor)
                try await body(office)
            } catch {
                client.shutdown()
                await life
                throw error
            }
            client.shutdown()
            await life
        }
    }

    /// Returns the administration with other master keys, the current one first.
    func with(keys: [String]) throws -> Administration { try Self.administration(store, kinds, keys: keys) }

    private static func administration(
        _ store: Store,
        _ kinds: ProviderKinds,
        keys: [String]
    ) throws -> Administration {
        let keys = try keys.map { try MasterKey(base64: Secret($0)) }
        let current = try #require(keys.first)
        let masterKeys = MasterKeys(current: current, previous: Array(keys.dropFirst()))
        return Administration(
            store: store,
            kinds: kinds,
            masterKeys: masterKeys,
            clock: .system,
            random: .system
        )
    }

    /// Returns the entries of the audit log, as `action target`.
    func audit() async throws -> [String] {
        try await database.psql("select concat_ws(' ', action, target) from federation.audit_log order by id")
            .compactMap { $0.first ?? nil }
    }
}

/// Returns the failure of a use case; nil when it succeeds.
///
/// Do not call this inside `#expect`: Swift 6.3 takes a closure there for another closure of the same function.
func failure<Value>(_ body: () async throws -> Value) async throws -> Failure? {
    do {
        _ = try await body()
        return nil
    } catch let failure as Failure {
        return failure
    }
}

extension Failure {
    /// The places of a document's problems.
    var pointers: [String] {
        (details["problems"]?.array ?? []).compactMap { $0.object?["pointer"]?.string }
    }
}

/// Parses a JSON text.
func json(_ text: String) throws -> JSONValue { try JSONParser.parse(text, limits: .document) }

extension FacebookKind {
    /// Returns the provider kind with an address at which nothing listens.
    static func outOfReach(_ curl: CurlClient? = nil) throws -> FacebookKind {
        let graph = GraphClient(
            curl: try curl ?? CurlClient(configuration: CurlConfiguration()),
            configuration: try GraphConfiguration(baseURL: "http://127.0.0.1:9")
        )
        let keys = SigningKeys(issuer: "Facebook", logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }) {
            (deadline) throws(Failure) in
            try await graph.signingKeys(deadline: deadline)
        }
        return FacebookKind(graph: graph, keys: keys, clock: .system)
    }
}

extension ProviderKinds {
    /// Returns the provider kinds of the service, with addresses at which nothing listens.
    static func outOfReach() throws -> ProviderKinds {
        let curl = try CurlClient(configuration: CurlConfiguration())
        let twitter = TwitterClient(
            curl: curl,
            configuration: try TwitterConfiguration(baseURL: "http://127.0.0.1:9"),
            clock: .system,
            random: .system
        )
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let openID = OpenIDClient(curl: curl, configuration: CallConfiguration(), logger: logger)
        return ProviderKinds([
            try FacebookKind.outOfReach(curl), TwitterKind(client: twitter), OpenIDKind(client: openID, clock: .system),
        ])
    }
}

extension FacebookProvider {
    /// Returns a provider without apps and options.
    static func outOfReach() throws -> any DialogOffering {
        let setup = ProviderSetup(
            name: .facebook,
            application: try #require(ApplicationID("demo")),
            isEnabled: true,
            apps: [],
            options: .object([:])
        )
        return try #require(try FacebookKind.outOfReach().provider(setup) as? any DialogOffering)
    }
}
