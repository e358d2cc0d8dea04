package import Domain
import Encodings
import FoundationEssentials
import Postgres

extension Store {
    /// Returns an operator's second factors, the oldest first, and the database's time in milliseconds since 1970.
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
        let rows = try result.all { row throws(PostgresError) in
            (now: try row.next(Int64.self), factor: try StoredFactor(&row))
        }
        return (rows.compactMap(\.factor), rows.first?.now ?? 0)
    }

    /// Returns the id that an operator's factors refer to; nil when there is no such operator.
    package func operatorID(_ name: OperatorName) async throws(Failure) -> ObjectID? {
        try await query("select object_id from federation.operators where name = \(name.text)").first(ObjectID.self)
    }

    /// Counts a guess at an operator's factors, across all instances, before the guess is checked.
    ///
    /// - Returns: Nil when the guess is allowed.
    package func countGuess(of count: AttemptCount) async throws(Failure) -> AttemptRefusal? {
        try await query(Self.counting([count], inSchema: Self.federation)).first(by: AttemptRefusal.init)
    }

    /// Adds a factor to the operator of a token, and marks the token as verified by that factor.
    ///
    /// - Parameters:
    ///   - factor: The factor; recovery codes replace the existing ones.
    ///   - codes: Recovery codes to add if the operator has none.
    ///   - caller: The operator and the token of the call.
    ///   - rule: How recently the token must have been verified by a factor when the operator already has one.
    ///   - actor: The author of the change, for the audit log.
    /// - Returns: Whether `codes` were added.
    /// - Throws: `second_factor_reauthentication_required`, `too_many_factors`, `factor_not_offered` for recovery codes
    ///   without a factor that they stand in for, `passkey_invalid` for a passkey that is enrolled already.
    package func addFactor(
        _ factor: NewFactor,
        with codes: NewFactor?,
        to caller: CallingOperator,
        by rule: FactorProofRule,
        actor: ChangeAuthor
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
                guard kinds.count < rule.max else { throw Failure.tooManyFactors(rule.max) }
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

    /// Removes one factor or all factors of an operator.
    ///
    /// The recovery codes are removed with the last other factor.
    ///
    /// The counted guesses are deleted too, since the removal is meant to restore access.
    ///
    /// - Returns: Whether a factor was removed.
    package func removeFactors(
        only factor: ObjectID?,
        ofOperator name: OperatorName,
        forgetting attemptKeys: @escaping @Sendable (ObjectID) -> [[UInt8]],
        by actor: ChangeAuthor
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
            ).all(ObjectID.self, String.self)
            if try await !connection.operatorFactorKinds(of: id).contains(where: \.standsAlone) {
                removed += try await connection.query(
                    "delete from federation.operator_factors where object_id = \(id.uuid) returning id, kind"
                ).all(ObjectID.self, String.self)
            }
            guard !removed.isEmpty else { return false }
            for key in attemptKeys(id) {
                _ = try await connection.query("delete from federation.attempts where key = \(key)")
            }
            let factors = removed.map { id, kind in
                JSONValue.object(["id": .string(id.description), "kind": .string(kind)])
            }
            let entry = AuditRecord(
                "operator.factor.remove",
                of: name.text,
                from: .object(["factors": .array(factors)])
            )
            try await connection.record([entry], by: actor)
            return true
        }
    }

    /// Records that a token was verified by a second factor, and uses the factor's code up.
    ///
    /// - Parameters:
    ///   - factor: The verified factor.
    ///   - caller: The operator and the token of the call.
    ///   - begun: When the factor was asked for, in milliseconds since 1970 by the database's clock. Only one response
    ///     to that challenge is accepted, even from an authenticator without a signature counter.
    ///   - attemptKey: The key that the guess was counted for; nil where nothing was guessed.
    ///   - actor: The author of the change, for the audit log.
    /// - Returns: Whether the factor was accepted.
    /// - Throws: `store_unavailable` and similar failures.
    package func noteFactor(
        _ factor: ShownFactor,
        of caller: CallingOperator,
        askedAt begun: Int64,
        attemptKey: [UInt8]?,
        by actor: ChangeAuthor
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
            guard let kind = try proved.first(String.self) else { return false }
            let entry = AuditRecord(
                "operator.factor.show",
                of: caller.name.text,
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
            "operator.factor.add",
            of: name.text,
            to: .object(["id": .string(factor.id.description), "kind": .string(factor.kind.rawValue)])
        )
    }
}

extension PostgresConnection {
    /// Makes other changes of the same operator wait until the end of this transaction.
    ///
    /// This is an advisory lock for two reasons: the serving role may not lock the operator's row, and transactions
    /// that revoke several tokens would lock the rows of the tokens in different orders.
    func lockOperator(_ name: OperatorName) async throws(PostgresError) {
        _ = try await query(
            "select pg_advisory_xact_lock(hashtextextended(\("federation operator " + name.text), 0))"
        )
    }

    fileprivate func operatorFactorKinds(of id: ObjectID) async throws(PostgresError) -> [FactorKind] {
        let result = try await query("select kind from federation.operator_factors where object_id = \(id.uuid)")
        return try result.all(String.self).compactMap(FactorKind.init)
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
    /// The failure of a call whose operator token must be verified by a second factor first.
    package static let operatorFactorRequired = Failure(
        .factorReauthenticationRequired,
        "This needs a recent second factor. Start with POST /admin/v1/operator/secondFactor/start."
    )
}
