package import Domain
import Postgres

/// A node of Citus: the host name and the port under which Citus knows it.
package struct CitusNode: Sendable, Hashable {
    package let host: String
    package let port: Int

    init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Reads `host:port`; a host may be an IPv6 address in brackets.
    package init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (1...65_535).contains(port)
        else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty, host.utf8.count <= 255 else { return nil }
        self.host = String(host)
        self.port = port
    }
}

extension CitusNode: CustomStringConvertible {
    package var description: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }
}

extension Store {
    /// Returns whether an application's tables are distributed by Citus.
    package func isSharded(_ stored: StoredApplication) async throws(Failure) -> Bool {
        do { return try await tables(of: stored).shards() != nil } catch { throw await failure(of: error, in: nil) }
    }

    /// Checks that the node named for a new application accepts tables.
    ///
    /// - Throws: `conflict` with the names of the nodes that do.
    package func check(_ node: CitusNode) async throws(Failure) {
        let isCitus: Bool
        do { isCitus = try await databases.sharding.isThere() } catch { throw await failure(of: error, in: nil) }
        guard isCitus else {
            throw Failure(.conflict, "The main database is no coordinator of Citus, so there is no node to choose.")
        }
        let result = try await query(
            """
            select nodename, nodeport::bigint from pg_dist_node
            where isactive and shouldhaveshards and noderole = 'primary' order by 1, 2
            """
        )
        let nodes = try result.all(into: CitusNode.init(host:port:))
        guard nodes.contains(node) else {
            let known = nodes.map(\.description).joined(separator: ", ")
            throw Failure(
                .conflict,
                "Citus has no node \(node) that takes tables. There are: \(known.isEmpty ? "none" : known)."
            )
        }
    }

    /// Moves the tables of a new application to a node.
    ///
    /// - Throws: `store_unavailable` and similar failures. The application exists even then, on the node that Citus has
    ///   chosen.
    package func place(_ stored: StoredApplication, on node: CitusNode) async throws(Failure) {
        do {
            try await postgres.withConnection { connection in
                try await connection.execute(script: "set statement_timeout = 0; set lock_timeout = '1min'")
                _ = try await connection.query(
                    """
                    select citus_schema_move(to_regnamespace(quote_ident(\(stored.schema))), \(node.host),
                        \(node.port)::integer, 'block_writes')
                    where not exists (
                        select from citus_shards s join pg_class c on c.oid = s.table_name
                        where c.relnamespace = to_regnamespace(quote_ident(\(stored.schema)))
                            and s.nodename = \(node.host) and s.nodeport = \(node.port)
                    )
                    """
                )
            }
        } catch {
            throw Failure(
                .storeUnavailable,
                """
                The application \(stored.id) is there, but not on \(node): Citus has not moved it. See its log, and \
                move the schema \(stored.schema) by citus_schema_move.
                """,
                cause: "\(error)"
            )
        }
    }
}
