import FoundationEssentials
import Glibc

/// A PostgreSQL server for one test, which the test may break.
///
/// `scripts/postgres` manages it. Its files are deleted when the test process ends, whatever ends the process. A test
/// that needs only a database uses ``withDatabase(_:_:)``.
package struct PostgresCluster: Sendable {
    /// How the server stops.
    ///
    /// The mode decides what happens to the server's sessions, and to data that is not yet on disk.
    package enum StopMode: String, Sendable {
        /// The server ends all sessions, rolls back their transactions and writes all data.
        case fast
        /// The server ends without writing any data, as in a crash.
        ///
        /// The next start recovers the data.
        case immediate
    }

    /// The TCP port on 127.0.0.1.
    ///
    /// It stays the same after a restart.
    package let port: Int
    private let directory: String
    let server: DatabaseURL

    /// Creates and starts a cluster.
    ///
    /// - Parameters:
    ///   - settings: Server settings, such as `["max_connections": "10"]`.
    ///   - disk: The size in mebibytes of a file system for the cluster alone, which a test can fill. The test must
    ///     run as root.
    /// - Returns: The running cluster.
    /// - Throws: ``ProcessEnded`` with the output of `scripts/postgres`.
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

    /// Returns a database of this cluster.
    ///
    /// The database need not exist yet.
    package func database(_ name: String = "postgres") -> TestDatabase {
        TestDatabase(name: name, server: server)
    }

    /// Runs SQL in the database `postgres` as ``TestDatabase/psql(_:within:)`` does.
    @discardableResult
    package func psql(_ sql: String) async throws -> [[String?]] {
        try await database().psql(sql)
    }

    /// Creates a database, and fills it with the contents of the template.
    package func createDatabase(_ name: String, _ template: DatabaseTemplate = .schema) async throws -> TestDatabase {
        try await psql("CREATE DATABASE \"\(name)\"")
        let created = database(name)
        try await template.prepare(created)
        return created
    }

    // MARK: Faults

    /// Stops the server and waits for its end.
    ///
    /// Connections are refused afterwards.
    package func stop(_ mode: StopMode = .fast) async throws {
        try await Self.script(["stop", directory, mode.rawValue])
    }

    /// Starts a stopped or killed server on the same port and waits until it accepts connections.
    package func start() async throws {
        try await Self.script(["start", directory, "\(port)"])
    }

    package func restart(_ mode: StopMode = .fast) async throws {
        try await stop(mode)
        try await start()
    }

    /// Kills the server's main process (SIGKILL) and waits for its end.
    ///
    /// Its children then end by themselves.
    package func killPostmaster() async throws {
        let pid = try await postmaster()
        _ = kill(pid, SIGKILL)
        try await eventually("postmaster \(pid) is gone") { kill(pid, 0) != 0 }
    }

    /// Kills a session's process (SIGKILL).
    ///
    /// The server treats this as a crash: it ends all sessions and recovers the data.
    ///
    /// - Parameter pid: The process id, as in `pg_stat_activity.pid` or `pg_backend_pid()`.
    package func killBackend(_ pid: Int32) {
        _ = kill(pid, SIGKILL)
    }

    /// Suspends every process of the server (SIGSTOP).
    ///
    /// The kernel still accepts connections, and no process responds.
    package func freeze() async throws {
        try await signalAll(SIGSTOP)
    }

    /// Resumes a frozen server.
    package func thaw() async throws {
        try await signalAll(SIGCONT)
    }

    /// Fills the file system of the cluster to the last byte.
    package func fillDisk() async throws {
        // The command fails when the disk is full. This is its purpose here.
        let filling = try await run("dd", ["if=/dev/zero", "of=\(try ballast)", "bs=64k"])
        guard filling.standardError.contains("No space left on device") else { throw try await filling.ended() }
    }

    /// Deletes the file with which ``fillDisk()`` filled the file system.
    package func freeDisk() throws { unlink(try ballast) }

    private var ballast: String {
        get throws {
            let home = try String(contentsOfFile: "\(directory)/home", encoding: .utf8)
            return home.prefix { $0 != "\n" } + "/ballast"
        }
    }

    /// Returns the process id of the server's main process, for ``ProcessUsage``.
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

/// An error: `scripts/postgres pid` printed no process id.
package struct NotAProcessID: Error {
    package let text: String
}

/// Lends a cluster to a test and deletes the cluster afterwards.
///
/// - Parameters:
///   - settings: Server settings.
///   - disk: The size in mebibytes of a file system for the cluster alone. The test must run as root.
///   - isolation: The caller's isolation. The closure runs in it, too.
///   - body: Uses the cluster.
/// - Returns: The result of the body.
/// - Throws: The body's error; ``ProcessEnded`` if the cluster fails.
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
