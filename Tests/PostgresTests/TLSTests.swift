import Testing

@testable import Postgres

extension WithPostgreSQL {
    @Suite("Over TLS")
    struct OverTLS {
        /// Starts a server with a certificate for `localhost`, signed by an authority of its own.
        private func cluster() async throws -> Cluster {
            let cluster = try await Cluster.start()
            try await run(
                asPostgres: """
                    cd '\(cluster.folder)' && exec 2>&1 &&
                    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=authority \
                    -keyout ca.key -out ca.pem &&
                    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost \
                    -keyout server.key -out server.csr &&
                    openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out server.pem &&
                    chmod 600 server.key
                    """
            )
            for (name, value) in [("ssl", "on"), ("ssl_cert_file", "server.pem"), ("ssl_key_file", "server.key")] {
                let path = value == "on" ? value : "\(cluster.folder)/\(value)"
                try await cluster.psql("ALTER SYSTEM SET \(name) = '\(path)'")
            }
            try await cluster.stop("fast")
            try await cluster.resume()
            return cluster
        }

        @Test("only a certificate that a trusted authority has signed for this name is taken")
        func verification() async throws {
            let cluster = try await cluster()
            let parameters = "postgres?sslmode=verify-full"
            let trusted =
                "postgres://postgres@localhost:\(cluster.port)/\(parameters)&sslrootcert=\(cluster.folder)/ca.pem"
            try await withClient(trusted) { client in
                let row = try await client.query("SELECT ssl, version FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
                    .first(Bool.self, String.self)
                #expect(row?.0 == true)
                #expect(row?.1 == "TLSv1.3")
                let sum = try await withThrowingTaskGroup(of: Int.self) { group in
                    for number in 1...200 {
                        group.addTask {
                            let text = String(repeating: "x", count: number * 100)
                            return try await client.query("SELECT length(\(text))::bigint").first(Int.self) ?? 0
                        }
                    }
                    return try await group.reduce(0, +)
                }
                #expect(sum == 2_010_000)
                try await expectServes(client)
            }
            let strangers = "postgres://postgres@localhost:\(cluster.port)/\(parameters)"
            let misnamed =
                "postgres://postgres@127.0.0.1:\(cluster.port)/\(parameters)&sslrootcert=\(cluster.folder)/ca.pem"
            for (url, reason) in [(strangers, "certificate verify failed"), (misnamed, "does not match host name")] {
                try await withClient(url, { $0.leaseTimeout = .milliseconds(500) }) { client in
                    guard case .unavailable? = await postgresError({ _ = try await client.query("SELECT 1") }) else {
                        Issue.record("connected to \(url)")
                        return
                    }
                    let isTold = await eventually { await client.status().lastConnectFailure?.contains(reason) == true }
                    let status = await client.status()
                    #expect(isTold, "\(status)")
                }
            }
            try await cluster.stop()
        }
    }
}
