import Foundation
import Testing

@testable import Postgres

/// Tests that need a server; they run one after the other, so that no test affects the timing of another.
@Suite("With PostgreSQL", .serialized, .timeLimit(.minutes(2)))
struct WithPostgreSQL {}

/// Runs a client, lends it to a closure, and shuts it down.
func withClient<Result: Sendable>(
    _ url: String? = nil,
    _ configure: (inout PostgresConfiguration) -> Void = { _ in },
    _ body: @escaping @Sendable (PostgresClient) async throws -> Result
) async throws -> Result {
    // A test with a server of its own does not need the shared one, which is slow to start.
    let address = if let url { url } else { try await Cluster.shared.url }
    var configuration = try PostgresConfiguration(url: address)
    configure(&configuration)
    let client = PostgresClient(configuration: configuration)
    return try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { await client.run() }
        let result = try await body(client)
        client.shutdown()
        return result
    }
}

/// Runs the closure while a session of another client holds the lock that ``held`` waits for.
func whileHeld<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) async throws -> Result {
    try await withClient(nil, { $0.idleInTransactionTimeout = .seconds(60) }) { other in
        try await other.withTransaction(isRepeated: false) { connection in
            _ = try await connection.query("SELECT pg_advisory_xact_lock(4711)")
            return try await body()
        }
    }
}

/// A statement that runs as long as ``whileHeld(_:)`` holds the lock, if limits allow it; see ``patient(_:)``.
let held: Statement = "SELECT pg_advisory_xact_lock_shared(4711)"

/// Raises the limits, so that none of them ends a statement during a test.
func patient(_ configuration: inout PostgresConfiguration) {
    configuration.statementTimeout = .seconds(60)
    configuration.lockTimeout = .seconds(60)
}

/// Waits until the condition holds; returns false if it does not hold within the limit.
func eventually(_ limit: Duration = .seconds(60), _ condition: () async throws -> Bool) async rethrows -> Bool {
    let end = ContinuousClock.now + limit
    while ContinuousClock.now < end {
        if try await condition() { return true }
        try? await Task.sleep(for: .milliseconds(10))
    }
    return try await condition()
}

/// Returns the error that `body` throws, if it is an error of the driver.
func postgresError(_ body: () async throws -> Void) async -> PostgresError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? PostgresError
    }
}

/// Expects that the client runs statements and transactions.
func expectServes(_ client: PostgresClient) async throws {
    #expect(try await client.query("SELECT 1").count == 1)
    #expect(try await client.withTransaction { try await $0.query("SELECT 1").count } == 1)
}

/// Returns the number of open descriptors of this process, without timers.
///
/// The runtime makes a further timer now and then, and keeps it.
func openDescriptors() -> Int {
    let folder = "/proc/self/fd"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.count { name in
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)"))?.hasSuffix("[timerfd]")
            != true
    }
}
