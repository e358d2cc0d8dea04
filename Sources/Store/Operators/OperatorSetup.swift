import Postgres
package import Vocabulary

/// How the first owner is made where there is no operator: by a link, once.
extension Store {
    /// Whether there is an operator.
    package func hasOperators() async throws(Failure) -> Bool {
        let result = try await query("select exists (select from federation.operators)")
        return try read { () throws(PostgresError) in try result.first?.decode(0, as: Bool.self) ?? false }
    }

    /// Keeps the token of a link, in place of the one before.
    ///
    /// - Parameters:
    ///   - hash: SHA-256 of the token.
    ///   - expires: When the link ends, in milliseconds since 1970.
    ///   - actor: Who made the link.
    /// - Returns: Whether it was kept; not while there is an operator.
    /// - Throws: `store_unavailable` and its like.
    package func beginSetup(_ hash: [UInt8], expires: Int64, by actor: Actor) async throws(Failure) -> Bool {
        try await transaction { connection in
            let kept = try await connection.query(
                """
                insert into federation.operator_setup (token_hash, expires)
                select \(hash), \(Timestamp(milliseconds: expires))
                where not exists (select from federation.operators)
                on conflict (is_only) do update set token_hash = excluded.token_hash, expires = excluded.expires
                """
            )
            guard kept.affectedRows == 1 else { return false }
            let entry = AuditRecord(
                application: nil,
                action: "operator.setup.link",
                target: nil,
                from: nil,
                to: .object(["expires": .integer(expires)])
            )
            try await connection.record([entry], by: actor)
            return true
        }
    }

    /// Whether the first owner can be made by a token.
    package func canSetUp(by hash: [UInt8]) async throws(Failure) -> Bool {
        let result = try await query(
            """
            select from federation.operator_setup
            where token_hash = \(hash) and expires > now() and not exists (select from federation.operators)
            """
        )
        return result.first != nil
    }

    /// Makes the first owner with a token, and uses the link up by that: of two who follow it one makes an owner.
    ///
    /// - Parameters:
    ///   - name: The owner's.
    ///   - hash: SHA-256 of the link's token.
    ///   - token: Adds the owner's token.
    ///   - actor: For the audit log.
    /// - Returns: The owner; nil when the link does not count, and nothing was made then.
    /// - Throws: `store_unavailable` and its like.
    package func setUp(
        _ name: OperatorName,
        by hash: [UInt8],
        adding token: OperatorChange,
        by actor: Actor
    ) async throws(Failure) -> StoredOperator? {
        try await transaction { connection in
            // The row is locked by the first who comes; the next one finds none.
            let used = try await connection.query(
                """
                delete from federation.operator_setup
                where token_hash = \(hash) and expires > now() and not exists (select from federation.operators)
                """
            )
            guard used.affectedRows == 1 else { return nil }
            try await connection.lockOperator(name)
            for change in [.create(role: .owner), token] {
                guard let entry = try await change.carryOut(on: name, connection) else { continue }
                try await connection.record([entry], by: actor)
            }
            return try StoredOperator.all(in: try await connection.query(StoredOperator.statement(name))).first
        }
    }
}
