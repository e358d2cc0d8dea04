package import Domain
import Encodings
import Postgres

/// One change of a stored operator: creation, deletion, or a change of role or tokens.
package enum OperatorChange: Sendable {
    /// Creates the operator, who must not exist yet.
    case create(role: OperatorRole)
    case setRole(OperatorRole)
    /// Adds a token by the SHA-256 of its text, and deletes the operator's expired tokens.
    ///
    /// If the operator already has the maximum number of tokens of this purpose, a further token for API calls is
    /// refused. A token of any other purpose replaces an older one: the least recently used token without a verified
    /// second factor or, if all have one, the least recently used token.
    case addToken(id: String, hash: [UInt8], expires: Int64?, isMachine: Bool, purpose: OperatorTokenPurpose)
    case revokeToken(id: String)
    case delete
}

extension Store {
    /// Changes an operator in one transaction: locks and reads the operator, applies the plan, writes the audit log.
    ///
    /// - Parameters:
    ///   - name: The operator.
    ///   - actor: The author of the change, for the audit log.
    ///   - plan: Returns the changes for the operator as stored; the operator is nil if there is none of this name. The
    ///     errors of the plan are rethrown.
    /// - Returns: The operator after the change; nil when the operator was deleted or never existed.
    /// - Throws: `conflict` when the operator to be created exists.
    package func change(
        _ name: OperatorName,
        by actor: ChangeAuthor,
        plan: @escaping @Sendable (StoredOperator?) throws -> [OperatorChange]
    ) async throws -> StoredOperator? {
        do {
            return try await postgres.withTransaction { connection in
                try await connection.lockOperator(name)
                _ = try await connection.query(
                    "select from federation.operators where name = \(name.text) for update"
                )
                for change in try plan(try await connection.storedOperator(name)) {
                    guard let entry = try await change.carryOut(on: name, connection) else { continue }
                    try await connection.record([entry], by: actor)
                }
                return try await connection.storedOperator(name)
            }
        } catch let error as PostgresError {
            throw await failure(of: error, in: nil)
        }
    }
}

extension OperatorChange {
    /// Carries out the change on an operator within a transaction.
    ///
    /// - Returns: The audit log's entry; nil when nothing changed.
    func carryOut(
        on name: OperatorName,
        _ connection: PostgresConnection
    ) async throws -> AuditRecord? {
        func entry(_ action: String, from: JSONObject? = nil, to: JSONObject? = nil) -> AuditRecord {
            AuditRecord(action, of: name.text, from: from.map(JSONValue.object), to: to.map(JSONValue.object))
        }
        switch self {
        case .create(let role):
            let created = try await connection.query(
                """
                insert into federation.operators (name, role) values (\(name.text), \(role.rawValue))
                on conflict do nothing
                """
            )
            guard created.affectedRows == 1 else {
                throw Failure(.conflict, "An operator with this name already exists. Choose another name.")
            }
            return entry("operator.create", to: ["role": .string(role.rawValue)])

        case .setRole(let role):
            let changed = try await connection.query(
                """
                update federation.operators o set role = \(role.rawValue) from federation.operators before
                where o.name = \(name.text) and before.name = o.name and o.role <> \(role.rawValue)
                returning before.role
                """
            )
            guard let before = try changed.first(String.self) else { return nil }
            return entry(
                "operator.role",
                from: ["role": .string(before)],
                to: ["role": .string(role.rawValue)]
            )

        case .addToken(let id, let hash, let expires, let isMachine, let purpose):
            _ = try await connection.query(
                "delete from federation.operator_tokens where operator = \(name.text) and expires <= now()"
            )
            if purpose == .calls {
                guard try await connection.countTokens(of: name, for: purpose) < purpose.max else {
                    throw Failure(
                        .conflict,
                        "An operator can have at most \(purpose.max) tokens. Revoke an unused one first."
                    )
                }
            } else {
                _ = try await connection.endUnusedTokens(of: name, for: purpose, keeping: purpose.max - 1)
            }
            _ = try await connection.query(
                """
                insert into federation.operator_tokens (token_hash, id, operator, expires, machine, purpose)
                values (
                    \(hash), \(id), \(name.text), \(expires.map { Timestamp(milliseconds: $0) }), \(isMachine),
                    \(purpose.rawValue)
                )
                """
            )
            let token: JSONObject = [
                "id": .string(id), "expires": expires.map(JSONValue.integer) ?? .null, "machine": .bool(isMachine),
                "purpose": .string(purpose.rawValue),
            ]
            return entry("operator.token.create", to: token)

        case .revokeToken(let id):
            let revoked = try await connection.query(
                "delete from federation.operator_tokens where operator = \(name.text) and id = \(id)"
            )
            return revoked.affectedRows == 1 ? entry("operator.token.revoke", from: ["id": .string(id)]) : nil

        case .delete:
            let deleted = try await connection.query(
                "delete from federation.operators where name = \(name.text) returning role"
            )
            guard let role = try deleted.first(String.self) else { return nil }
            return entry("operator.delete", from: ["role": .string(role)])
        }
    }
}

extension PostgresConnection {
    fileprivate func countTokens(of name: OperatorName, for purpose: OperatorTokenPurpose) async throws(PostgresError)
        -> Int
    {
        try await query(
            """
            select count(*) from federation.operator_tokens
            where operator = \(name.text) and purpose = \(purpose.rawValue)
            """
        ).first(Int.self) ?? 0
    }

    /// Revokes all tokens of a purpose except the most recently used ones.
    ///
    /// Tokens verified by a second factor are kept before all others, so that an attacker who has only stolen a token
    /// cannot push out other sessions by creating more.
    ///
    /// - Parameters:
    ///   - name: The operator of the tokens.
    ///   - purpose: The purpose of the tokens.
    ///   - kept: The number of tokens to keep.
    ///   - fresh: The token that was just created, which is kept in any case.
    /// - Returns: The ids of the revoked tokens.
    /// - Throws: `PostgresError`.
    func endUnusedTokens(
        of name: OperatorName,
        for purpose: OperatorTokenPurpose,
        keeping kept: Int,
        with fresh: [UInt8]? = nil
    ) async throws(PostgresError) -> [String] {
        try await query(
            """
            delete from federation.operator_tokens where token_hash in (
                select token_hash from federation.operator_tokens
                where operator = \(name.text) and purpose = \(purpose.rawValue)
                order by token_hash is distinct from \(fresh), factor_proved is null, coalesce(last_used, created) desc, id offset \(kept)
            ) returning id
            """
        ).all(String.self)
    }
}
