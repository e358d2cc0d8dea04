import Postgres
package import Vocabulary

/// An operator as stored.
package struct StoredOperator: Sendable {
    package let name: OperatorName
    package let role: OperatorRole
    package let created: Int64
    /// The newest first; expired ones are not among them.
    package fileprivate(set) var tokens: [Token]

    /// A bearer token; its text is nowhere.
    package struct Token: Sendable {
        /// Names the token in commands and paths: 16 hex digits, made at random.
        package let id: String
        package let created: Int64
        /// Nil when it never expires.
        package let expires: Int64?
        /// To the minute.
        package let lastUsed: Int64?
        /// Whether a program has it.
        package let isMachine: Bool
        package let purpose: OperatorTokenPurpose
    }
}

extension Store {
    /// Operators in the order of their names: those behind `after`.
    package func operators(after: OperatorName?, limit: Int) async throws(Failure) -> [StoredOperator] {
        let result = try await query(
            StoredOperator.statement(
                "select * from federation.operators where name > \(after?.text ?? "") order by name limit \(limit)"
            )
        )
        return try read { () throws(PostgresError) in try StoredOperator.all(in: result) }
    }

    /// One operator; nil when there is none.
    package func `operator`(_ name: OperatorName) async throws(Failure) -> StoredOperator? {
        let result = try await query(StoredOperator.statement(name))
        return try read { () throws(PostgresError) in try StoredOperator.all(in: result).first }
    }
}

extension StoredOperator {
    static func statement(_ name: OperatorName) -> Statement {
        statement("select * from federation.operators where name = \(name.text)")
    }

    /// Operators with their tokens, a row for each token or for an operator without any.
    fileprivate static func statement(_ operators: Statement) -> Statement {
        """
        select o.name, o.role, o.created, t.id, t.created, t.expires, t.last_used, t.machine, t.purpose
        from (\(operators)) o
        left join federation.operator_tokens t on t.operator = o.name and (t.expires is null or t.expires > now())
        order by o.name, t.created desc, t.id
        """
    }

    static func all(in result: ResultSet) throws(PostgresError) -> [StoredOperator] {
        var operators: [StoredOperator] = []
        for row in result.rows {
            guard let name = OperatorName(try row.decode(0, as: String.self)),
                let role = OperatorRole(rawValue: try row.decode(1, as: String.self))
            else { continue }
            var stored = StoredOperator(
                name: name,
                role: role,
                created: try row.decode(2, as: Timestamp.self).milliseconds,
                tokens: []
            )
            if operators.last?.name == name, let earlier = operators.popLast() { stored = earlier }
            if let token = try token(in: row) { stored.tokens.append(token) }
            operators.append(stored)
        }
        return operators
    }

    private static func token(in row: Row) throws(PostgresError) -> Token? {
        guard let id = try row.decode(3, as: String?.self),
            let purpose = OperatorTokenPurpose(rawValue: try row.decode(8, as: String.self))
        else { return nil }
        return Token(
            id: id,
            created: try row.decode(4, as: Timestamp.self).milliseconds,
            expires: try row.decode(5, as: Timestamp?.self)?.milliseconds,
            lastUsed: try row.decode(6, as: Timestamp?.self)?.milliseconds,
            isMachine: try row.decode(7, as: Bool.self),
            purpose: purpose
        )
    }
}
