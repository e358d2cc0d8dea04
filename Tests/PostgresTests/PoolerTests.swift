import Foundation
import Testing

@testable import Postgres

extension WithPostgreSQL {
    @Suite(
        "Behind PgBouncer in transaction mode",
        .enabled(if: Pooler.isInstalled, "pgbouncer is not installed: apt-get install pgbouncer")
    )
    struct BehindPooler {
        @Test("statements and transactions work without named statements")
        func working() async throws {
            let pooler = try await Pooler.start(try await Cluster.shared)
            try await withClient(pooler.url, { $0.preparedStatements = false }) { client in
                _ = try await client.query("DROP TABLE IF EXISTS pooled")
                _ = try await client.query("CREATE TABLE pooled (id bigint PRIMARY KEY, word text)")
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<300 {
                        group.addTask {
                            _ = try await client.query("INSERT INTO pooled VALUES (\(number), \("word \(number)"))")
                            let word = try await client.query("SELECT word FROM pooled WHERE id = \(number)").first(
                                String.self
                            )
                            #expect(word == "word \(number)")
                        }
                    }
                    try await group.waitForAll()
                }
                let duplicate = await postgresError { _ = try await client.query("INSERT INTO pooled VALUES (1, 'x')") }
                #expect(duplicate?.constraint == "pooled_pkey")
                let limits = try await client.withTransaction { connection in
                    _ = try await connection.query("DELETE FROM pooled WHERE id < \(100)")
                    return try await connection.query(
                        """
                        SELECT current_setting('statement_timeout'), current_setting('lock_timeout'),
                        current_setting('idle_in_transaction_session_timeout')
                        """
                    ).first(String.self, String.self, String.self)
                }
                #expect(limits.map { $0 == ("2s", "1s", "5s") } == true)
                let leaked = try await client.query("SELECT current_setting('statement_timeout')").first(String.self)
                #expect(leaked == "0")
                #expect(try await client.query("SELECT * FROM pooled").count == 200)
                #expect(try await client.query("SELECT * FROM pg_prepared_statements").count == 0)
                #expect(await client.status().connectionsLost == 0)
            }
        }

        @Test("a pooler that refuses startup options is no connection, and says so")
        func options() async throws {
            let pooler = try await Pooler.start(try await Cluster.shared)
            try await withClient(pooler.url, { $0.leaseTimeout = .milliseconds(500) }) { client in
                guard case .unavailable? = await postgresError({ _ = try await client.query("SELECT 1") }) else {
                    Issue.record("not unavailable")
                    return
                }
                #expect(await client.status().lastConnectFailure?.contains("options") == true)
            }
        }
    }
}

/// A private PgBouncer in front of a cluster, which ends with this process.
private struct Pooler {
    let port: Int

    var url: String { "postgres://postgres@127.0.0.1:\(port)/postgres" }

    static var isInstalled: Bool { access("/usr/sbin/pgbouncer", X_OK) == 0 }

    static func start(_ cluster: Cluster) async throws -> Pooler {
        let pooler = Pooler(port: freePort())
        let file = "\(cluster.folder)/pgbouncer-\(pooler.port)"
        let settings = """
            [databases]
            * = host=127.0.0.1 port=\(cluster.port)
            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = \(pooler.port)
            unix_socket_dir =
            auth_type = trust
            auth_file = \(file).users
            pool_mode = transaction
            default_pool_size = 3
            logfile = \(file).log
            pidfile = \(file).pid
            """
        try await run(
            asPostgres: """
                cat > '\(file).ini' <<'END'
                \(settings)
                END
                echo '"postgres" ""' > '\(file).users'
                pgbouncer -d '\(file).ini'
                """
        )
        return pooler
    }
}
