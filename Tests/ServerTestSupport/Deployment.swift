import FoundationEssentials
import TestSupport
import Testing
import Vocabulary

/// What the tests of a suite run against: the built service, a PostgreSQL database and a Graph simulator, three
/// separate processes that talk over loopback sockets, set up as an operator does it (`federation apply`).
///
/// A suite asks for one by its traits and finds it in `Deployment.current`:
///
/// ```swift
/// @Suite("Signing in", .serialized, .deployed(Document(mapping: #"{"email": "email"}"#)))
/// struct SigningInTests {
///     let deployment: Deployment
///     init() throws { deployment = try Deployment.current }
///
///     @Test("a person logs in")
///     func login() async throws {
///         let ann = try await deployment.newcomer(#"{"email": "ann.canary@example.com"}"#)
///         let signedIn = try await deployment.signIn(ann)
///         #expect(signedIn.created)
///     }
/// }
/// ```
///
/// Its tests share the three processes, hence `.serialized`; suites run side by side. A test makes people of its own
/// (``newcomer(_:kind:scopes:app:)``) and takes back every fault that it orders from the simulator. When the last test
/// has ended, the deployment checks what must hold after every attack (``checkAftermath()``).
struct Deployment: Sendable {
    /// The database, as its superuser sees it.
    let database: TestDatabase
    /// Facebook.
    let simulator: SimulatorProcess
    /// The service.
    let service: ServiceProcess
    /// The applications, in the order in which they were applied.
    let documents: [Document]
    /// The database of their own that documents may name, and the way to it; nil unless the suite has one.
    var own: OwnDatabase?
    /// Who administers it.
    let operators = Operators()

    /// A second database, on the way to which things happen.
    struct OwnDatabase: Sendable {
        static let variable = "SHOP_DATABASE_URL"

        let database: TestDatabase
        /// Between the service and the database; commands go straight.
        let proxy: FaultyProxy
    }

    @TaskLocal fileprivate static var bound: Deployment?

    /// The deployment of the running suite.
    static var current: Deployment {
        get throws {
            guard let bound else { throw NoDeployment() }
            return bound
        }
    }

    /// The client of the public listener.
    var client: HTTPClient { service.client }

    /// The environment of `federation` on a database: what an operator would put into a unit file, and no limit of
    /// rate, since all that tests do comes from one address, as fast as the machine is.
    static func environment(database: TestDatabase) -> [String: String] {
        [
            "FEDERATION_DATABASE_URL": database.url, "FEDERATION_MASTER_KEY": Canary.masterKey,
            "FEDERATION_TRUSTED_PROXIES": "0",
            "FEDERATION_LIMIT_LOGIN_SOURCE": "off", "FEDERATION_LIMIT_PASSWORD_SOURCE": "off",
            "FEDERATION_LIMIT_REGISTRATION_SOURCE": "off", "FEDERATION_LIMIT_MAIL_SOURCE": "off",
            "FEDERATION_LIMIT_QUERY_SOURCE": "off", "FEDERATION_LIMIT_ADMINISTRATION_SOURCE": "off",
        ]
    }
}

/// A test asks for a deployment that its suite has none of.
struct NoDeployment: Error {}

// MARK: - Life

/// Gives a suite its ``Deployment``.
struct DeploymentTrait: SuiteTrait, TestScoping {
    let documents: [Document]
    let sql: String
    let environment: [String: String]
    let hasOwnDatabase: Bool

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        try await withDatabase(Self.template) { database in
            guard hasOwnDatabase else { return try await deploy(to: database, nil, performing: function) }
            try await database.withNeighbour { neighbour in
                try await withFaultyProxy(to: neighbour.port) { proxy in
                    let own = Deployment.OwnDatabase(database: neighbour, proxy: proxy)
                    try await deploy(to: database, own, performing: function)
                }
            }
        }
    }

    private func deploy(
        to database: TestDatabase,
        _ own: Deployment.OwnDatabase?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        for document in documents { try await document.apply(to: database, own.environment) }
        if !sql.isEmpty { try await database.psql(sql) }
        let simulator = try await SimulatorProcess.start()
        try await simulator.put(apps: Set(documents.flatMap(\.apps)).union(Document.witness.apps))
        for consumer in Set(documents.flatMap(\.consumers)) { try await simulator.put(consumer: consumer) }
        let service = try await ServiceProcess.start(
            environment: Deployment.environment(database: database)
                .merging(simulator.environment) { _, new in new }
                .merging(own.proxiedEnvironment) { _, new in new }
                .merging(environment) { _, new in new }
        )
        let deployment = Deployment(
            database: database,
            simulator: simulator,
            service: service,
            documents: documents,
            own: own
        )
        try await Deployment.$bound.withValue(deployment) { try await function() }
        try await deployment.checkAftermath()
        try await simulator.process.kill()
    }

    /// The schema and one plain application, which no test touches.
    private static let template = DatabaseTemplate(name: "witness") { database in
        try await database.psql(file: PackageLayout.path("schema.sql"))
        try await database.psql(Deployment.functions)
        try await Document.witness.apply(to: database)
    }
}

extension Trait where Self == DeploymentTrait {
    /// A deployment with these applications.
    ///
    /// - Parameters:
    ///   - documents: The applications, the one that tests mean by default in front.
    ///   - sql: What the operator does by `psql` after applying them, before the service starts.
    ///   - environment: Further variables of the service.
    ///   - hasOwnDatabase: Whether there is a second database, which documents name by ``Deployment/OwnDatabase``.
    /// - Returns: The trait.
    static func deployed(
        _ documents: Document...,
        sql: String = "",
        environment: [String: String] = [:],
        hasOwnDatabase: Bool = false
    ) -> DeploymentTrait {
        DeploymentTrait(documents: documents, sql: sql, environment: environment, hasOwnDatabase: hasOwnDatabase)
    }
}

extension Deployment.OwnDatabase? {
    /// The variable that leads straight to it, if it is there.
    var environment: [String: String] { map { [Deployment.OwnDatabase.variable: $0.database.url] } ?? [:] }

    /// The variable that leads to it by way of the proxy.
    var proxiedEnvironment: [String: String] {
        map { [Deployment.OwnDatabase.variable: $0.database.url(throughPort: $0.proxy.port)] } ?? [:]
    }
}

extension Deployment {
    /// What holds after every attack: the same process still runs and serves, ends cleanly when told to, wrote one JSON
    /// object a line and nothing else, and no secret or personal value among them.
    fileprivate func checkAftermath() async throws {
        #expect(service.process.isRunning, "the service must survive every test")
        try await simulator.heal()
        let visitor = try await newcomer()
        let login = try await login(visitor, to: .witness)
        #expect(login.status == 200, "the service must serve as before: \(login.text)")
        try await end()
    }

    /// Ends the service as an operator does: it ends cleanly and has written nothing but JSON without secrets.
    func end() async throws {
        if service.process.isRunning {
            let end = try await service.process.terminate()
            #expect(end == .exited(0), "\(service.process.standardOutput.suffix(2000))\(service.process.standardError)")
        }
        expectCleanOutput()
    }

    /// What the service has written is one JSON object a line without a secret among them; killed, it may have left a
    /// line without its end.
    func expectCleanOutput() {
        let output = service.process.standardOutput
        let lines = output.split(separator: "\n")
        let wasCut = service.process.exitStatus != .exited(0) && !output.hasSuffix("\n")
        for line in wasCut ? lines.dropLast() : lines {
            #expect(JSON.object(String(line)) != nil, "a log line that is no JSON object: \(line)")
            #expect(!line.lowercased().contains(Canary.mark), "a secret in the log: \(line)")
            #expect(!line.contains("fedop_"), "an operator's token in the log: \(line)")
        }
        #expect(service.process.standardError == "")
    }
}
