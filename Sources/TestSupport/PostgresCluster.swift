import FoundationEssentials
import Glibc

/// A PostgreSQL server of a test's own, to be broken at will; `scripts/postgres` does the work.
///
/// Its files are deleted when the test process ends, however it ends. A test that only needs a database leases one with
/// ``withDatabase(_:_:)`` instead.
package struct PostgresCluster: Sendable {
    /// How sessions end when the server stops.
    package enum StopMode: String, Sendable {
        /// Sessions are ended, transactions rolled back, everything written.
        case fast
        /// As in a crash: nothing is written, the next start recovers.
        case immediate
    }

    /// TCP port on 127.0.0.1, the same over restarts.
    package let port: Int
    private let directory: String
    let server: DatabaseURL

    /// Creates and starts a cluster.
    ///
    /// - Parameters:
    ///   - settings: Server settings, such as `["max_connections": "10"]`.
    ///   - disk: Mebibytes of a file system of its own, which can be filled; for root alone.
    /// - Returns: The running cluster.
    /// - Throws: ``ProcessEnded`` with what `scripts/postgres` says.
    package static func start(settings: [String: String] = [:], disk: Int? = nil) async throws -> PostgresCluster {
        let directory = "/tmp/federation-test-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        let port = try freePort()
        try await script(
            ["start", directory, "\(port)", "--fast", "--owner", "\(getpid())"]
                + (disk.map { ["--disk", "\($0)"] } ?? []) + settings.flatMap { ["--set", "\($0.key)=\($0.value)"] }
        )
        let url = try await script(["url", directory])
        return PostgresCluster(port: port, directory: directory, server: try DatabaseURL(url))
    }

    /// A database of this cluster, which need not exist yet.
    package func database(_ name: String = "postgres") -> TestDatabase {
        TestDatabase(name: name, server: server)
    }

    /// Runs SQL in the database `postgres`; see ``TestDatabase/psql(_:within:)``.
    @discardableResult
    package func psql(_ sql: String) async throws -> [[String?]] {
        try await database().psql(sql)
    }

    /// Creates a database and fills it.
    package func createDatabase(_ name: String, _ template: DatabaseTemplate = .schema) async throws -> TestDatabase {
        try await psql("CREATE DATABASE \"\(name)\"")
        let created = database(name)
        try await template.prepare(created)
        return created
    }

    // MARK: Faults

    /// Stops the server and waits until it has ended; connections are refused then.
    package func stop(_ mode: StopMode = .fast) async throws {
        try await Self.script(["stop", directory, mode.rawValue])
    }

    /// Starts a stopped or killed server on the same port and waits until it takes connections.
    package func start() async throws {
        try await Self.script(["start", directory, "\(port)"])
    }

    /// Stops and starts the server.
    package func restart(_ mode: StopMode = .fast) async throws {
        try await stop(mode)
        try await start()
    }

    /// Kills the server's main process (SIGKILL) and waits until it is gone; its children notice and end by themselves.
    package func killPostmaster() async throws {
        let pid = try await postmaster()
        _ = kill(pid, SIGKILL)
        try await eventually("postmaster \(pid) is gone") { kill(pid, 0) != 0 }
    }

    /// Kills the process behind one session (SIGKILL); the server takes that for a crash and restarts all of them.
    ///
    /// - Parameter pid: As in `pg_stat_activity.pid` or `pg_backend_pid()`.
    package func killBackend(_ pid: Int32) {
        _ = kill(pid, SIGKILL)
    }

    /// Stops every process of the server from running (SIGSTOP): connections are still accepted by the kernel, and
    /// nothing answers.
    package func freeze() async throws {
        try await signalAll(SIGSTOP)
    }

    /// Lets a frozen server run on.
    package func thaw() async throws {
        try await signalAll(SIGCONT)
    }

    /// Fills the disk that the cluster was given, to its last byte.
    package func fillDisk() async throws {
        // It ends when there is no room for more, which it calls a failure.
        let filling = try await run("dd", ["if=/dev/zero", "of=\(try ballast)", "bs=64k"])
        guard filling.standardError.contains("No space left on device") else { throw try await filling.ended() }
    }

    /// Gives back what ``fillDisk()`` has taken.
    package func freeDisk() throws { unlink(try ballast) }

    private var ballast: String {
        get throws {
            let home = try String(contentsOfFile: "\(directory)/home", encoding: .utf8)
            return home.prefix { $0 != "\n" } + "/ballast"
        }
    }

    /// Process id of the server's main process, for ``ProcessUsage``.
    package func postmaster() async throws -> Int32 {
        let text = try await Self.script(["pid", directory])
        guard let pid = Int32(text) else { throw NotAProcessID(text: text) }
        return pid
    }

    /// Stops the server and removes its files.
    package func delete() async throws {
        try await Self.script(["delete", directory])
    }

    private func signalAll(_ signal: Int32) async throws {
        let pid = try await postmaster()
        _ = kill(pid, signal)
        let children = try String(contentsOfFile: "/proc/\(pid)/task/\(pid)/children", encoding: .utf8)
        for child in children.split(separator: " ").compactMap({ Int32($0) }) { _ = kill(child, signal) }
    }

    @discardableResult
    private static func script(_ arguments: [String]) async throws -> String {
        let output = try await runSuccessfully(PackageLayout.path("scripts/postgres"), arguments)
        return String(output.prefix { $0 != "\n" })
    }
}

/// `scripts/postgres pid` printed something else.
package struct NotAProcessID: Error {
    package let text: String
}

/// Lends a cluster of its own to a test and deletes it afterwards.
///
/// - Parameters:
///   - settings: Server settings.
///   - disk: Mebibytes of a file system of its own; for root alone.
///   - isolation: The caller's, where the closure runs too.
///   - body: What to do with it.
/// - Returns: What the body returns.
/// - Throws: What the body throws; ``ProcessEnded`` when the cluster fails.
package func withPostgresCluster<Result>(
    settings: [String: String] = [:],
    disk: Int? = nil,
    isolation: isolated (any Actor)? = #isolation,
    _ body: (PostgresCluster) async throws -> Result
) async throws -> Result {
    let cluster = try await PostgresCluster.start(settings: settings, disk: disk)
    do {
        let result = try await body(cluster)
        try await cluster.delete()
        return result
    } catch {
        try? await cluster.delete()
        throw error
    }
}
