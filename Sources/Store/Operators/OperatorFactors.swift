import FoundationEssentials
import Postgres
package import Vocabulary

extension Store {
    /// The second factors of an operator, from the oldest on, and the database's time in milliseconds since 1970.
    package func operatorFactors(
        of id: ObjectID
    ) async throws(Failure) -> (factors: [StoredFactor], now: Int64) {
        let result = try await query(
            """
            select floor(extract(epoch from clock_timestamp()) * 1000)::bigint, \(unsafeRaw: StoredFactor.columns)
            from (select) one left join federation.operator_factors f on f.object_id = \(id.uuid)
            order by f.created, f.kind = 'recoveryCode', f.id
            """
        )
        return try read { () throws(PostgresError) in
            var factors: [StoredFactor] = []
            for row in result.rows where try row.decode(1, as: UUID?.self) != nil {
                if let factor = try StoredFactor(row, from: 1) { factors.append(factor) }
            }
            return (factors, try result.first?.decode(0, as: Int64.self) ?? 0)
        }
    }

    /// What the factors of an operator hang on; nil when there is no such operator.
    package func operatorID(_ name: OperatorName) async throws(Failure) -> ObjectID? {
        let result = try await query("select object_id from federation.operators where name = \(name.text)")
        return try read { () throws(PostgresError) in
            try result.first.map { row throws(PostgresError) in ObjectID(try row.decode(0, as: UUID.self)) }
        }
    }

    /// Counts a guess at the factors of an operator before they are looked at, on whatever instance.
    ///
    /// - Returns: Nil when the guess may be made.
    package func countGuess(of count: AttemptCount) async throws(Failure) -> AttemptRefusal? {
        let result = try await query(Self.counting([count], inSchema: Self.federation))
        return try read { () throws(PostgresError) in try Self.refusal(in: result) }
    }

    /// Adds a factor to the operator of a token, which has shown it by that.
    ///
    /// - Parameters:
    ///   - factor: The factor; recovery codes take the place of those that there are.
    ///   - codes: Recovery codes, for who has none.
    ///   - caller: By which token it is done.
    ///   - rule: What that must have shown of late where there is a factor already.
    ///   - actor: For the audit log.
    /// - Returns: Whether the recovery codes are the operator's now.
    /// - Throws: `second_factor_reauthentication_required`, `too_many_factors`, `factor_not_offered` for recovery codes
    ///   without a factor that they stand in for, `passkey_invalid` for one that is enrolled already.
    package func addFactor(
        _ factor: NewFactor,
        with codes: NewFactor?,
        to caller: CallingOperator,
        by rule: FactorProofRule,
        actor: Actor
    ) async throws(Failure) -> Bool {
        try await transaction { connection in
            try await connection.lockOperator(caller.name)
            let kinds = try await connection.operatorFactorKinds(of: caller.id)
            if kinds.contains(where: \.standsAlone) {
                guard try await connection.hasProved(caller.tokenHash, within: rule.seconds) else {
                    throw Failure.operatorFactorRequired
                }
            }
            if factor.kind == .recoveryCode {
                guard kinds.contains(where: \.standsAlone) else { throw Failure.nothingToRecover }
                _ = try await connection.query(
                    """
                    delete from federation.operator_factors
                    where object_id = \(caller.id.uuid) and kind = \(FactorKind.recoveryCode.rawValue)
                    """
                )
            } else {
                guard kinds.count < rule.most else { throw Failure.tooManyFactors(rule.most) }
            }
            let inserted = try await connection.query(factor.insertion(for: caller.id, into: Self.operatorFactors))
            guard inserted.affectedRows == 1 else { throw Failure.factorTaken }
            try await connection.record([AuditRecord(factor: factor, of: caller.name)], by: actor)
            guard factor.kind.standsAlone else { return false }
            _ = try await connection.query(
                """
                update federation.operator_tokens set factor_proved = clock_timestamp()
                where token_hash = \(caller.tokenHash)
                """
            )
            guard let codes, !kinds.contains(.recoveryCode) else { return false }
            _ = try await connection.query(codes.insertion(for: caller.id, into: Self.operatorFactors))
            return true
        }
    }

    /// Takes a factor from an operator, or all; recovery codes go with the last one that they stand in for.
    ///
    /// The guesses of before are forgotten: whoever does this opens the way again.
    ///
    /// - Returns: Whether there was any.
    package func removeFactors(
        only factor: ObjectID?,
        ofOperator name: OperatorName,
        forgetting attemptKeys: @escaping @Sendable (ObjectID) -> [[UInt8]],
        by actor: Actor
    ) async throws(Failure) -> Bool {
        guard let id = try await operatorID(name) else { return false }
        return try await transaction { connection in
            try await connection.lockOperator(name)
            var removed = try await connection.query(
                """
                delete from federation.operator_factors
                where object_id = \(id.uuid) and (\(factor?.uuid)::uuid is null or id = \(factor?.uuid)::uuid)
                returning id, kind
                """
            ).rows.map { $0 }
            if try await !connection.operatorFactorKinds(of: id).contains(where: \.standsAlone) {
                removed += try await connection.query(
                    "delete from federation.operator_factors where object_id = \(id.uuid) returning id, kind"
                ).rows
            }
            guard !removed.isEmpty else { return false }
            for key in attemptKeys(id) {
                _ = try await connection.query("delete from federation.attempts where key = \(key)")
            }
            var factors: [JSONValue] = []
            for row in removed {
                let id = ObjectID(try row.decode(0, as: UUID.self))
                factors.append(
                    .object(["id": .string(id.description), "kind": .string(try row.decode(1, as: String.self))])
                )
            }
            let entry = AuditRecord(
                application: nil,
                action: "operator.factor.remove",
                target: name.text,
                from: .object(["factors": .array(factors)]),
                to: nil
            )
            try await connection.record([entry], by: actor)
            return true
        }
    }

    /// Notes that the person of a token has shown a factor, and uses it up.
    ///
    /// - Parameters:
    ///   - factor: What was shown.
    ///   - caller: By which token.
    ///   - begun: When it was asked for, in milliseconds since 1970 by the database: what was shown for it counts once,
    ///     also with an authenticator that does not count.
    ///   - attemptKey: For what the guess was counted; nil where nothing was guessed.
    ///   - actor: For the audit log.
    /// - Returns: Whether it counted.
    /// - Throws: `store_unavailable` and its like.
    package func noteFactor(
        _ factor: ShownFactor,
        of caller: CallingOperator,
        askedAt begun: Int64,
        attemptKey: [UInt8]?,
        by actor: Actor
    ) async throws(Failure) -> Bool {
        try await transaction { connection in
            try await connection.lockOperator(caller.name)
            let proved = try await connection.query(
                """
                with factor as (
                    update federation.operator_factors f set
                        used = now(), step = greatest(f.step, \(factor.step)),
                        sign_count = greatest(f.sign_count, \(factor.signCount)),
                        codes = array_remove(f.codes, \(factor.code))
                    where f.id = \(factor.id.uuid) and f.object_id = \(caller.id.uuid)
                        and (\(factor.step)::bigint is null or f.step < \(factor.step))
                        and (\(factor.code)::text is null or \(factor.code) = any (f.codes))
                        and (
                            \(factor.signCount)::bigint is null or f.sign_count < \(factor.signCount)
                            or f.sign_count = 0 and \(factor.signCount) = 0
                        )
                        and exists (
                            select from federation.operator_tokens t where t.token_hash = \(caller.tokenHash)
                                and coalesce(t.factor_proved < to_timestamp(\(begun)::bigint / 1000.0), true)
                        )
                    returning f.kind
                ), token as (
                    update federation.operator_tokens set factor_proved = clock_timestamp()
                    where token_hash = \(caller.tokenHash) and exists (select from factor)
                ), forgiven as (
                    update federation.attempts
                    set failures = 0, recent = greatest(recent - 1, 0), blocked_until = to_timestamp(0)
                    where key = \(attemptKey) and exists (select from factor)
                )
                select kind from factor
                """
            )
            guard let kind = try proved.first?.decode(0, as: String.self) else { return false }
            let entry = AuditRecord(
                application: nil,
                action: "operator.factor.show",
                target: caller.name.text,
                from: nil,
                to: .object(["id": .string(factor.id.description), "kind": .string(kind)])
            )
            try await connection.record([entry], by: actor)
            return true
        }
    }

    private static let federation = "federation"
    private static let operatorFactors: Statement = "federation.operator_factors"
}

extension AuditRecord {
    fileprivate init(factor: NewFactor, of name: OperatorName) {
        self.init(
            application: nil,
            action: "operator.factor.add",
            target: name.text,
            from: nil,
            to: .object(["id": .string(factor.id.description), "kind": .string(factor.kind.rawValue)])
        )
    }
}

extension PostgresConnection {
    /// Lets the changes of one operator come one after the other, until the transaction ends.
    ///
    /// An advisory lock, since the role that serves may not lock the operator's row, and since whoever ends some tokens
    /// would lock the rows of tokens in another order.
    func lockOperator(_ name: OperatorName) async throws(PostgresError) {
        _ = try await query(
            "select pg_advisory_xact_lock(hashtextextended(\("federation operator " + name.text), 0))"
        )
    }

    fileprivate func operatorFactorKinds(of id: ObjectID) async throws(PostgresError) -> [FactorKind] {
        let result = try await query("select kind from federation.operator_factors where object_id = \(id.uuid)")
        var kinds: [FactorKind] = []
        for row in result.rows {
            if let kind = FactorKind(rawValue: try row.decode(0, as: String.self)) { kinds.append(kind) }
        }
        return kinds
    }

    fileprivate func hasProved(_ tokenHash: [UInt8], within seconds: Int) async throws(PostgresError) -> Bool {
        try await query(
            """
            select from federation.operator_tokens
            where token_hash = \(tokenHash) and factor_proved > now() - make_interval(secs => \(seconds))
            """
        ).count == 1
    }
}

extension Failure {
    /// That the person of an operator's token has to show a second factor first.
    package static let operatorFactorRequired = Failure(
        .factorReauthenticationRequired,
        "This needs a second factor that was shown of late: POST /admin/v1/operator/secondFactor/start."
    )
}
