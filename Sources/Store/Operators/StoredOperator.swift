package import Domain
import FoundationEssentials
import Postgres

/// An operator as stored.
package struct StoredOperator: Sendable {
    package let name: OperatorName
    package let role: OperatorRole
    package let created: Int64
    /// The unexpired tokens, the newest first.
    package fileprivate(set) var tokens: [Token]

    /// A bearer token; its text is not stored.
    package struct Token: Sendable {
        /// The id of the token in commands and paths: 16 random hex digits.
        package let id: String
        package let created: Int64
        /// The expiry of the token, in milliseconds since 1970; nil if the token never expires.
        package let expires: Int64?
        /// The time of the token's last use, in milliseconds since 1970; nil if the token was never used.
        ///
        /// The time is accurate to the minute.
        package let lastUsed: Int64?
        /// Whether the token belongs to a program, not to a human.
        package let isMachine: Bool
        package let purpose: OperatorTokenPurpose
    }
}

extension Store {
    /// Returns operators in the order of their names, starting after `after`.
    package func operators(after: OperatorName?, limit: Int) async throws(Failure) -> [StoredOperator] {
        let result = try await query(
            StoredOperator.statement(
                "select * from federation.operators where name > \(after?.text ?? "") order by name limit \(limit)"
            )
        )
        return StoredOperator.joined(try result.all(by: StoredOperator.init))
    }

    /// Returns an operator; nil when there is none of this name.
    package func `operator`(_ name: OperatorName) async throws(Failure) -> StoredOperator? {
        let result = try await query(StoredOperator.statement(name))
        return StoredOperator.joined(try result.all(by: StoredOperator.init)).first
    }
}

extension StoredOperator {
    static func statement(_ name: OperatorName) -> Statement {
        statement("select * from federation.operators where name = \(name.text)")
    }

    /// Returns the statement that reads operators with their tokens: a row per token, or one row without tokens.
    fileprivate static func statement(_ operators: Statement) -> Statement {
        """
        select o.name, o.role, o.created, t.id, t.purpose, t.created, t.expires, t.last_used, t.machine
        from (\(operators)) o
        left join federation.operator_tokens t on t.operator = o.name and (t.expires is null or t.expires > now())
        order by o.name, t.created desc, t.id
        """
    }

    /// Reads an operator with one token, or none, from a row of `statement(_:)`.
    ///
    /// The result is nil if the name or the role is malformed.
    init?(_ row: inout Row) throws(PostgresError) {
        let (name, role) = (OperatorName(try row.next(String.self)), OperatorRole(rawValue: try row.next()))
        created = try row.next(Timestamp.self).milliseconds
        tokens = try Token(&row).map { [$0] } ?? []
        guard let name, let role else { return nil }
        (self.name, self.role) = (name, role)
    }

    /// Combines the rows of `statement(_:)`, one for each token, into operators with all of their tokens.
    static func joined(_ rows: [StoredOperator]) -> [StoredOperator] {
        rows.reduce(into: []) { operators, row in
            if operators.last?.name == row.name {
                operators[operators.count - 1].tokens += row.tokens
            } else {
                operators.append(row)
            }
        }
    }
}

extension PostgresConnection {
    /// Returns an operator; nil when there is none of this name.
    func storedOperator(_ name: OperatorName) async throws(PostgresError) -> StoredOperator? {
        StoredOperator.joined(try await query(StoredOperator.statement(name)).all(by: StoredOperator.init)).first
    }
}

extension StoredOperator.Token {
    /// Reads an operator's token from a row; nil if the operator has no token.
    fileprivate init?(_ row: inout Row) throws(PostgresError) {
        guard let id = try row.next(String?.self), let purpose = OperatorTokenPurpose(rawValue: try row.next()) else {
            row.skipRest()
            return nil
        }
        self.init(
            id: id,
            created: try row.next(Timestamp.self).milliseconds,
            expires: try row.next(Timestamp?.self)?.milliseconds,
            lastUsed: try row.next(Timestamp?.self)?.milliseconds,
            isMachine: try row.next(),
            purpose: purpose
        )
    }
}

extension Store {
    /// Returns the operator of a valid token; nil when the token is unknown, expired or revoked.
    ///
    /// Records the token's use, at most once a minute. Of concurrent requests one records the use, and the others do
    /// not wait.
    package func `operator`(tokenHash: [UInt8]) async throws(Failure) -> CallingOperator? {
        let result = try await query(
            """
            with token as (
                select o.name, o.role, o.object_id, t.machine, t.factor_proved, t.purpose
                from federation.operator_tokens t join federation.operators o on o.name = t.operator
                where t.token_hash = \(tokenHash) and (t.expires is null or t.expires > now())
            ), used as (
                update federation.operator_tokens set last_used = now()
                where token_hash = (
                    select t.token_hash from federation.operator_tokens t, token
                    where t.token_hash = \(tokenHash)
                        and (t.last_used is null or t.last_used < now() - interval '1 minute')
                    for no key update of t skip locked
                )
            )
            select name, role, object_id, purpose, machine, exists (\(unsafeRaw: Self.standingFactor)),
                ceil(extract(epoch from now() - factor_proved))::bigint
            from token
            """
        )
        return try result.first { row throws(PostgresError) in
            let (name, role) = (OperatorName(try row.next(String.self)), OperatorRole(rawValue: try row.next()))
            let (id, purpose) = (try row.next(ObjectID.self), OperatorTokenPurpose(rawValue: try row.next()))
            guard let name, let role, let purpose else { return nil }
            return CallingOperator(
                name: name,
                role: role,
                id: id,
                tokenHash: tokenHash,
                purpose: purpose,
                isMachine: try row.next(),
                hasFactor: try row.next(),
                factorShownAgo: try row.next()
            )
        }
    }

    /// The SQL query for the second factors, other than recovery codes, of the operator in the row `token`.
    private static let standingFactor =
        "select from federation.operator_factors f where f.object_id = token.object_id and f.kind <> 'recoveryCode'"
}
