import FoundationEssentials
import Glibc
@testable import ServerTestSupport
import Testing
import TestSupport

/// The tests that break a dependency of the running service (docs/security.md#when-a-part-breaks).
///
/// The tests run one after the other, since each needs both processors and would feel another's faults.
@Suite("Faults", .serialized, .faulty())
struct FaultTests {}

/// The system under test: two instances of the service on one database, and one Graph simulator for both.
///
/// The tests' clients record in the ``ledger`` what responses promised, and ``checkInvariants(_:)`` checks the promises
/// after every fault. A test heals what it has broken; nothing is restarted between tests.
struct FaultDeployment: Sendable {
    /// The database, with its superuser's rights.
    let database: TestDatabase
    /// The database's server, if the suite has one of its own to break.
    let cluster: PostgresCluster?
    /// The simulator of Facebook, for both instances.
    let simulator: SimulatorProcess
    let instances: [Deployment]
    /// The sessions that clients received since the last check of the invariants.
    let ledger = Ledger()
    /// The memory and descriptors of the instances before the first fault.
    let baseline: [ProcessUsage]

    @TaskLocal fileprivate static var bound: FaultDeployment?

    /// The deployment of the running suite.
    static var current: FaultDeployment {
        get throws {
            guard let bound else { throw NoDeployment() }
            return bound
        }
    }

    /// The configuration, by which each login writes every property: a row that lacks one is half-written.
    static let document = Document(
        properties: #"{"givenName": {"type": "STRING"}}"#,
        mapping: #"{"email": "email", "first_name": "givenName"}"#
    )
}

// MARK: - Life cycle

/// Gives a suite its ``FaultDeployment``.
struct FaultDeploymentTrait: SuiteTrait, TestScoping {
    let hasOwnServer: Bool
    let disk: Int?
    let environment: [String: String]

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        guard hasOwnServer else {
            try await withDatabase { try await run(function, on: $0, of: nil) }
            return
        }
        // Keep the write-ahead log small where the disk is small.
        let settings = disk == nil ? [:] : ["max_wal_size": "48MB", "min_wal_size": "32MB"]
        try await withPostgresCluster(settings: settings, disk: disk) { cluster in
            try await run(function, on: try await cluster.createDatabase("faults"), of: cluster)
        }
    }

    private func run(
        _ function: @Sendable () async throws -> Void,
        on database: TestDatabase,
        of cluster: PostgresCluster?
    ) async throws {
        try await database.psql(Deployment.functions)
        try await FaultDeployment.document.apply(to: database)
        try await Document.witness.apply(to: database)
        let simulator = try await SimulatorProcess.start()
        try await simulator.put(apps: FaultDeployment.document.apps)
        let faults = try await FaultDeployment.start(
            on: database,
            of: cluster,
            simulator: simulator,
            environment: environment
        )
        try await FaultDeployment.$bound.withValue(faults) { try await function() }
        for instance in faults.instances { try await instance.end() }
        try await simulator.process.kill()
    }
}

extension Trait where Self == FaultDeploymentTrait {
    /// Gives a suite two instances.
    ///
    /// - Parameters:
    ///   - ownServer: Whether the instances use a PostgreSQL server of their own, which the tests break.
    ///   - disk: The size in mebibytes of a file system of its own for that server, which the tests fill.
    ///   - environment: Additional variables of both instances.
    /// - Returns: The trait.
    static func faulty(
        ownServer: Bool = false,
        disk: Int? = nil,
        environment: [String: String] = [:]
    ) -> FaultDeploymentTrait {
        FaultDeploymentTrait(hasOwnServer: ownServer, disk: disk, environment: environment)
    }
}

extension FaultDeployment {
    fileprivate static func start(
        on database: TestDatabase,
        of cluster: PostgresCluster?,
        simulator: SimulatorProcess,
        environment: [String: String]
    ) async throws -> FaultDeployment {
        var instances: [Deployment] = []
        for _ in 0..<2 {
            instances.append(try await .start(on: database, simulator: simulator, environment: environment))
        }
        // After first logins a process has all its threads, pools and caches.
        for instance in instances {
            for _ in 0..<20 { _ = try await instance.loggedIn(try await instance.newcomer(person)) }
        }
        let baseline = try instances.map { try $0.service.process.usage() }
        return FaultDeployment(
            database: database,
            cluster: cluster,
            simulator: simulator,
            instances: instances,
            baseline: baseline
        )
    }

    fileprivate static let person = #"{"email": "ann.canary@example.com", "first_name": "Ann"}"#

    /// Lends an additional instance on the same database to a test and ends it as an operator does.
    ///
    /// - Parameters:
    ///   - environment: Additional variables, such as another `FEDERATION_GRAPH_URL`.
    ///   - url: The URL of the database, if not its own.
    ///   - body: Uses the instance.
    /// - Throws: The body's error; `ProcessEnded` when the instance does not start.
    func withInstance(
        _ environment: [String: String] = [:],
        database url: String? = nil,
        _ body: (Deployment) async throws -> Void
    ) async throws {
        var environment = environment
        environment["FEDERATION_DATABASE_URL"] = url ?? database.url
        let instance = try await Deployment.start(
            on: database,
            simulator: simulator,
            environment: environment
        )
        do {
            try await body(instance)
        } catch {
            try? await instance.service.process.kill()
            throw error
        }
        try await instance.end()
    }
}

extension Deployment {
    /// Starts an instance of the fault tests.
    static func start(
        on database: TestDatabase,
        simulator: SimulatorProcess,
        program: String? = nil,
        environment: [String: String]
    ) async throws -> Deployment {
        let service = try await ServiceProcess.start(
            program: program,
            environment: Deployment.environment(database: database)
                .merging(simulator.environment) { _, new in new }
                .merging(environment) { _, new in new }
        )
        return Deployment(
            database: database,
            simulator: simulator,
            service: service,
            documents: [FaultDeployment.document]
        )
    }
}

/// Lends an executable script that consists of one shell line.
///
/// - Parameters:
///   - line: The line, such as `exec prlimit --nofile=256:256 federation "$@"`.
///   - body: Receives the script's path.
/// - Throws: The body's error.
func withProgram(_ line: String, _ body: (String) async throws -> Void) async throws {
    let path = "/tmp/federation-program-\(UUID())"
    try "#!/bin/sh\n\(line)\n".write(toFile: path, atomically: false, encoding: .utf8)
    defer { try? FileManager.default.removeItem(atPath: path) }
    chmod(path, 0o700)
    try await body(path)
}

// MARK: - Users

extension FaultDeployment {
    /// Creates Facebook users who have never logged in to the service, each with a token.
    func newcomers(_ count: Int) async throws -> [Visitor] {
        try await Self.newcomers(count, at: simulator)
    }

    /// Creates such users at a simulator of the test's own.
    static func newcomers(_ count: Int, at simulator: SimulatorProcess) async throws -> [Visitor] {
        try await simulator.control.withConnection { control in
            var visitors: [Visitor] = []
            for _ in 0..<count {
                let id = String(UInt64.random(in: 10_000_000_000_000_000...99_999_999_999_999_999))
                let visitor = Visitor(key: "person-\(id)", id: id, token: "EAAcanary\(id)ZD")
                let person = """
                    {"email": "\(id).canary@example.com", "first_name": "Ann", "ids": {"1234567890": "\(id)"}}
                    """
                let token = """
                    {"kind": "long", "person": "\(visitor.key)", "app": "1234567890", "text": "\(visitor.token)"}
                    """
                for (method, path, body) in [("PUT", "/people/\(visitor.key)", person), ("POST", "/tokens", token)] {
                    let reply = try await control.send(method, path, body: Array(body.utf8))
                    try #require((200...299).contains(reply.status), "\(path): \(reply.text)")
                }
                visitors.append(visitor)
            }
            return visitors
        }
    }

    /// Creates Facebook users who have logged in to the service before.
    func regulars(_ count: Int) async throws -> [Visitor] {
        let visitors = try await newcomers(count)
        expectAllLoggedIn(try await logIn(visitors))
        return visitors
    }
}
