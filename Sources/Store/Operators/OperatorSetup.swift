package import Domain
import Encodings
import Postgres

/// Creates the first owner by a single-use link, while there is no operator.
extension Store {
    /// Returns whether there is an operator.
    package func hasOperators() async throws(Failure) -> Bool {
        try await query("select exists (select from federation.operators)").first(Bool.self) ?? false
    }

    /// Stores the token of a setup link in place of the former one.
    ///
    /// - Parameters:
    ///   - hash: SHA-256 of the token.
    ///   - expires: The expiry of the link, in milliseconds since 1970.
    ///   - actor: The creator of the link.
    /// - Returns: Whether the token was stored; false when there is an operator.
    /// - Throws: `store_unavailable` and similar failures.
    package func beginSetup(_ hash: [UInt8], expires: Int64, by actor: ChangeAuthor) async throws(Failure) -> Bool {
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
            let entry = AuditRecord("operator.setup.link", to: .object(["expires": .integer(expires)]))
            try await connection.record([entry], by: actor)
            return true
        }
    }

    /// Returns whether a token can create the first owner.
    package func canSetUp(by hash: [UInt8]) async throws(Failure) -> Bool {
        let result = try await query(
            """
            select from federation.operator_setup
            where token_hash = \(hash) and expires > now() and not exists (select from federation.operators)
            """
        )
        return result.count > 0
    }

    /// Creates the first owner by the single-use token of a setup link.
    ///
    /// Of two concurrent uses of the token, one succeeds.
    ///
    /// - Parameters:
    ///   - name: The name of the owner.
    ///   - hash: SHA-256 of the link's token.
    ///   - token: The change that adds the owner's token.
    ///   - actor: The author of the change, for the audit log.
    /// - Returns: The owner; nil when the link is invalid, and then nothing was created.
    /// - Throws: `store_unavailable` and similar failures.
    package func setUp(
        _ name: OperatorName,
        by hash: [UInt8],
        adding token: OperatorChange,
        by actor: ChangeAuthor
    ) async throws(Failure) -> StoredOperator? {
        try await transaction { connection in
            // The first use locks and deletes the row. A concurrent use waits for the lock and then finds no row.
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
            return try await connection.storedOperator(name)
        }
    }
}
