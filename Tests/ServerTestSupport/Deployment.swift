import FoundationEssentials
import Glibc
import Testing
import TestSupport

/// The system under test of a suite: the built service, a PostgreSQL database and a Graph simulator.
///
/// The three processes talk over loopback sockets and are set up as an operator does it (`federation apply`). A suite
/// requests a deployment by its traits and finds it in `Deployment.current`:
///
/// ```swift
/// @Suite("Signing in", .serialized, .deployed(Document(mapping: #"{"email": "email"}"#)))
/// struct SigningInTests {
///     let deployment: Deployment
///     init() throws { deployment = try Deployment.current }
///
///     @Test("a user logs in")
///     func login() async throws {
///         let ann = try await deployment.newcomer(#"{"email": "ann.canary@example.com"}"#)
///         let signedIn = try await deployment.loggedIn(ann)
///         #expect(signedIn.created)
///     }
/// }
/// ```
///
/// The tests of a suite share the three processes, hence `.serialized`; suites run in parallel. A test creates its own
/// users (``newcomer(_:kind:scopes:app:)``) and removes its faults from the simulator. After the last test the
/// deployment checks what must hold after every attack (``checkAftermath()``).
struct Deployment: Sendable {
    /// The database, with its superuser's rights.
    let database: TestDatabase
    /// The simulator of Facebook.
    let simulator: SimulatorProcess
    let service: ServiceProcess
    /// The applications, in the order in which they were applied.
    let documents: [Document]
    /// The second database that documents may name, and its proxy; `nil` unless the suite has one.
    var own: OwnDatabase?
    /// The operators of the service.
    let operators = Operators()

    /// A second database behind a proxy that can disturb its connections.
    struct OwnDatabase: Sendable {
        static let variable = "SHOP_DATABASE_URL"

        let database: TestDatabase
        /// The proxy between the service and the database; commands connect directly.
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

    /// The environment of `federation` on a database, as in an operator's unit file.
    ///
    /// Rate limits of sources are off, since all requests of the tests come from one address at full speed.
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

/// An error: the running suite has no deployment.
struct NoDeployment: Error {}

// MARK: - Life cycle

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

    /// A database with the schema and one plain application, which no test changes.
    private static let template = DatabaseTemplate(name: "witness") { database in
        try await database.psql(file: PackageLayout.path("schema.sql"))
        try await database.psql(Deployment.functions)
        try await Document.witness.apply(to: database)
    }
}

extension Trait where Self == DeploymentTrait {
    /// A deployment with these applications.
    ///
    ///   - documents: The applications, the tests' default first.
    ///   - sql: SQL to run by `psql` after applying them, before the service starts.
    ///   - environment: Additional variables of the service.
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
    /// The variable with the database's direct URL, if there is a database.
    var environment: [String: String] { map { [Deployment.OwnDatabase.variable: $0.database.url] } ?? [:] }

    /// The variable with the database's URL through the proxy.
    var proxiedEnvironment: [String: String] {
        map { [Deployment.OwnDatabase.variable: $0.database.url(throughPort: $0.proxy.port)] } ?? [:]
    }
}

extension Deployment {
    /// Checks what must hold after every attack.
    ///
    /// The same process still runs and serves, and ends cleanly on request. Its output is one JSON object per line
    /// without secrets and personal values.
    fileprivate func checkAftermath() async throws {
        #expect(service.process.isRunning, "the service must survive every test")
        try await simulator.heal()
        let visitor = try await newcomer()
        let login = try await login(visitor, to: .witness)
        #expect(login.status == 200, "the service must serve as before: \(login.text)")
        try await end()
    }

    /// Ends the service as an operator does, and expects a clean end and clean output.
    func end() async throws {
        if service.process.isRunning {
            let end = try await service.process.terminate()
            #expect(end == .exited(0), "\(service.process.standardOutput.suffix(2000))\(service.process.standardError)")
        }
        expectCleanOutput()
    }

    /// Expects that the service's output is one JSON object per line without secrets.
    ///
    /// A killed service may have left an incomplete last line.
    func expectCleanOutput() {
        let output = service.process.standardOutput
        // Bytes and C functions: there are many lines, and a debug build is slow at searching characters.
        let lines = output.utf8.split(separator: UInt8(ascii: "\n"))
        let wasCut = service.process.exitStatus != .exited(0) && !output.hasSuffix("\n")
        for line in (wasCut ? lines.dropLast() : lines[...]).map({ String(Substring($0)) }) {
            #expect(JSON.object(line) != nil, "a log line that is no JSON object: \(line)")
            #expect(strstr(line.lowercased(), Canary.mark) == nil, "a secret in the log: \(line)")
            #expect(strstr(line, "fedop_") == nil, "an operator's token in the log: \(line)")
        }
        #expect(service.process.standardError == "")
    }
}
