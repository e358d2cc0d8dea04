import Postgres
package import Vocabulary

/// What can be done to an operator.
package enum OperatorChange: Sendable {
    /// Stands for a new operator only.
    case create(role: OperatorRole)
    case setRole(OperatorRole)
    /// Adds a token by the SHA-256 of its text; expired ones of the operator are removed. With too many tokens for
    /// calls it is refused; with too many of another purpose it ends the one that was not used for longest.
    case addToken(id: String, hash: [UInt8], expires: Int64?, isMachine: Bool, purpose: OperatorTokenPurpose)
    case revokeToken(id: String)
    case delete
}

extension Store {
    /// Changes an operator in one transaction: reads it under lock, asks what to do, does it, writes the audit log.
    ///
    /// - Parameters:
    ///   - name: The operator.
    ///   - actor: Who does it.
    ///   - plan: Gets the operator as it is, nil when there is none; what it throws passes through.
    /// - Returns: The operator as it is afterwards; nil when it was deleted or never was.
    /// - Throws: `conflict` when an operator is to be created who exists.
    package func change(
        _ name: OperatorName,
        by actor: Actor,
        plan: @escaping @Sendable (StoredOperator?) throws -> [OperatorChange]
    ) async throws -> StoredOperator? {
        do {
            return try await postgres.withTransaction { connection in
                try await connection.lockOperator(name)
                _ = try await connection.query(
                    "select from federation.operators where name = \(name.text) for update"
                )
                let before = try await connection.query(StoredOperator.statement(name))
                for change in try plan(try StoredOperator.all(in: before).first) {
                    guard let entry = try await change.carryOut(on: name, connection) else { continue }
                    try await connection.record([entry], by: actor)
                }
                let after = try await connection.query(StoredOperator.statement(name))
                return try StoredOperator.all(in: after).first
            }
        } catch let error as PostgresError {
            throw await failure(of: error, in: nil)
        }
    }
}

extension OperatorChange {
    /// Does what is to be done.
    ///
    /// - Returns: What the audit log gets; nil when nothing changed.
    func carryOut(
        on name: OperatorName,
        _ connection: PostgresConnection
    ) async throws -> AuditRecord? {
        func entry(_ action: String, from: JSONObject? = nil, to: JSONObject? = nil) -> AuditRecord {
            AuditRecord(
                application: nil,
                action: action,
                target: name.text,
                from: from.map(JSONValue.object),
                to: to.map(JSONValue.object)
            )
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
                throw Failure(.conflict, "There is an operator of this name already. Choose another name.")
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
            guard let before = try changed.first?.decode(0, as: String.self) else { return nil }
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
                guard try await connection.countTokens(of: name, for: purpose) < purpose.most else {
                    throw Failure(
                        .conflict,
                        "An operator has \(purpose.most) tokens at most. Revoke one that nobody uses any more first."
                    )
                }
            } else {
                _ = try await connection.endUnusedTokens(of: name, for: purpose, keeping: purpose.most - 1)
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
            guard let role = try deleted.first?.decode(0, as: String.self) else { return nil }
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
        ).first?.decode(0, as: Int.self) ?? 0
    }

    /// Ends all tokens of a purpose but those that were used last.
    ///
    /// Those whose person has shown a second factor stay before all others: whoever has stolen a token alone puts
    /// nobody out by making more.
    ///
    /// - Parameters:
    ///   - name: Whose they are.
    ///   - purpose: What they are for.
    ///   - kept: How many stay.
    ///   - fresh: The one that was just made, which stays in any case.
    /// - Returns: The ids of those that ended.
    /// - Throws: `PostgresError`.
    func endUnusedTokens(
        of name: OperatorName,
        for purpose: OperatorTokenPurpose,
        keeping kept: Int,
        with fresh: [UInt8]? = nil
    ) async throws(PostgresError) -> [String] {
        let ended = try await query(
            """
            delete from federation.operator_tokens where token_hash in (
                select token_hash from federation.operator_tokens
                where operator = \(name.text) and purpose = \(purpose.rawValue)
                order by token_hash is distinct from \(fresh), factor_proved is null, coalesce(last_used, created) desc, id offset \(kept)
            ) returning id
            """
        )
        var ids: [String] = []
        for row in ended.rows { ids.append(try row.decode(0, as: String.self)) }
        return ids
    }
}
