import Foundation
import Testing

@testable import Postgres

/// Tests that need a server: one after the other, so that none of them is timed while another one is at work.
@Suite("With PostgreSQL", .serialized, .timeLimit(.minutes(2)))
struct WithPostgreSQL {}

/// Lends a client that runs, and ends its life.
func withClient<Result: Sendable>(
    _ url: String? = nil,
    _ configure: (inout PostgresConfiguration) -> Void = { _ in },
    _ body: @escaping @Sendable (PostgresClient) async throws -> Result
) async throws -> Result {
    // Whoever names a server needs none of this process's own, which takes a while to start.
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

/// Runs the closure while a session of another client holds the lock behind which ``held`` waits.
func whileHeld<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) async throws -> Result {
    try await withClient(nil, { $0.idleInTransactionTimeout = .seconds(60) }) { other in
        try await other.withTransaction(isRepeated: false) { connection in
            _ = try await connection.query("SELECT pg_advisory_xact_lock(4711)")
            return try await body()
        }
    }
}

/// A statement that goes on as long as ``whileHeld(_:)`` does, where limits allow it; see ``patient(_:)``.
let held: Statement = "SELECT pg_advisory_xact_lock_shared(4711)"

/// No statement is ended by a limit while a test needs it.
func patient(_ configuration: inout PostgresConfiguration) {
    configuration.statementTimeout = .seconds(60)
    configuration.lockTimeout = .seconds(60)
}

/// Waits until the condition holds; false if it does not within the limit.
func eventually(_ limit: Duration = .seconds(60), _ condition: () async throws -> Bool) async rethrows -> Bool {
    let end = ContinuousClock.now + limit
    while ContinuousClock.now < end {
        if try await condition() { return true }
        try? await Task.sleep(for: .milliseconds(10))
    }
    return try await condition()
}

/// The error that `body` throws, if it is one of the driver's.
func postgresError(_ body: () async throws -> Void) async -> PostgresError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? PostgresError
    }
}

/// Expects that the client serves statements and leases.
func expectServes(_ client: PostgresClient) async throws {
    #expect(try await client.query("SELECT 1").count == 1)
    #expect(try await client.withTransaction { try await $0.query("SELECT 1").count } == 1)
}

/// The number of open descriptors of this process, without the timers: the runtime makes another one now and then, and
/// keeps it.
func openDescriptors() -> Int {
    let folder = "/proc/self/fd"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.count { name in
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)"))?.hasSuffix("[timerfd]")
            != true
    }
}
