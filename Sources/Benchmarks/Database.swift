import Foundation
import TestSupport

/// A database, asked by `psql`.
struct Database {
    let url: String

    /// The rows of what a statement answers, each as its fields.
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

    /// Bytes of the memory that each server process of a client has to itself; what all share (`shared_buffers`) is not
    /// in it.
    func backendMemory() async throws -> [Int] {
        try await rows(
            of: """
                select pid from pg_stat_activity
                where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
                """
        )
        .compactMap { row in row.first.flatMap { Int32($0) }.map(Self.anonymousMemory) }
    }

    private static func anonymousMemory(of pid: Int32) -> Int {
        guard let status = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("RssAnon:") })
        else { return 0 }
        return line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }.map { $0 * 1024 } ?? 0
    }
}
