import Foundation
import TestSupport

/// A database, queried through `psql`.
struct Database {
    let url: String

    /// Runs a statement and returns its rows, each as its fields.
    @discardableResult
    func rows(of sql: String) async throws -> [[String]] {
        let psql = try await run(
            "psql",
            ["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--dbname", url, "--command", sql],
            within: .seconds(600)
        )
        guard psql.exitStatus == .exited(0) else {
            throw WrongReplies(name: "psql", replies: [:], output: psql.standardError)
        }
        return psql.standardOutput.split(separator: "\n").map { $0.split(separator: "|").map(String.init) }
    }

    /// Returns the private memory of each client's server process in bytes, without shared memory (`shared_buffers`).
    func backendMemory() async throws -> [Int] {
        try await rows(
            of: """
                select pid from pg_stat_activity
                where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
                """
        )
        .compactMap { row in row.first.flatMap { Int32($0) }.map(Self.anonymousMemory) }
    }

    /// Delays each commit of the cluster by some milliseconds before it is flushed to disk, as on a slower disk.
    func delayCommits(milliseconds: Int) async throws {
        try await rows(of: "alter system set commit_siblings = 0")
        try await rows(of: "alter system set commit_delay = \(milliseconds * 1000)")
        try await rows(of: "select pg_reload_conf()")
    }

    /// Returns the end of the cluster's write-ahead log; every acknowledged commit is before it.
    func logPosition() async throws -> String {
        try await rows(of: "create extension if not exists pg_walinspect")
        return try await rows(of: "select pg_current_wal_flush_lsn()").first?.first ?? ""
    }

    /// Returns the bytes of records, and of full-page images in them, written to the cluster's write-ahead log.
    ///
    /// Only a superuser may run this, and only for a part of the log that no checkpoint has removed (`wal_keep_size`).
    func logged(since position: String) async throws -> (records: Double, pageImages: Double) {
        let sums = try await rows(
            of: """
                select coalesce(sum(record_size), 0), coalesce(sum(fpi_size), 0)
                from (select pg_current_wal_flush_lsn() as position) now,
                    lateral pg_get_wal_stats('\(position)', now.position)
                where now.position > '\(position)'
                """
        )
        let numbers = sums.first?.compactMap(Double.init) ?? []
        guard numbers.count == 2 else { return (0, 0) }
        return (numbers[0], numbers[1])
    }

    private static func anonymousMemory(of pid: Int32) -> Int {
        guard let status = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("RssAnon:") })
        else { return 0 }
        return line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }.map { $0 * 1024 } ?? 0
    }
}
