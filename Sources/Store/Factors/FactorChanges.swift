package import Domain
import Encodings
import FoundationEssentials
import Postgres

/// The requirements for a change of a user's second factors: a recent authentication, and a maximum number of factors.
package struct FactorProofRule: Sendable {
    /// The maximum age of the user's authentication, in seconds.
    ///
    /// A user who has a second factor must have presented one within the same time.
    let seconds: Int
    /// The maximum number of factors of a user.
    let max: Int

    package init(seconds: Int, max: Int) {
        self.seconds = seconds
        self.max = max
    }
}

extension Store {
    /// Checks that a session satisfies a step-up rule.
    ///
    /// - Throws: `session_invalid`, `reauthentication_required`, `second_factor_reauthentication_required`.
    package func requireProofs(
        ofSession tokenHash: [UInt8],
        by rule: FactorProofRule,
        in application: Application
    ) async throws(Failure) {
        try await transaction(of: application) { connection in
            _ = try await connection.lockUser(ofSession: tokenHash, provedBy: rule, in: application)
        }
    }

    /// Checks that the user of a session has no second factor, or has verified one within the last `seconds`.
    ///
    /// - Throws: `session_invalid`, `second_factor_reauthentication_required`.
    package func requireFactor(
        ofSession tokenHash: [UInt8],
        within seconds: Int,
        in application: Application
    ) async throws(Failure) {
        try await transaction(of: application) { connection in
            guard let user = try await connection.lockUser(ofSession: tokenHash, of: application) else {
                throw Failure.sessionInvalid
            }
            try user.requireFactor(within: seconds)
        }
    }

    /// Adds a factor to the user of a valid session.
    ///
    /// The session counts as one in which the user has presented the factor, unless the factor is a set of recovery
    /// codes.
    ///
    /// - Parameters:
    ///   - factor: The factor; recovery codes replace existing ones.
    ///   - codes: Recovery codes for a user who has none; nil if the application offers none.
    ///   - tokenHash: SHA-256 of the session's token.
    ///   - rule: The required step-up.
    ///   - announcement: The notices to the user; nil if the user cannot be notified.
    ///   - application: The user's application.
    /// - Returns: Whether `codes` were stored.
    /// - Throws: `session_invalid`, `reauthentication_required`, `second_factor_reauthentication_required`,
    ///   `too_many_factors`, `factor_not_offered` for recovery codes without a factor that they could replace,
    ///   `passkey_invalid` for a passkey that is enrolled already, `conflict`. Nothing has changed then.
    package func addFactor(
        _ factor: NewFactor,
        with codes: NewFactor?,
        toUserOf tokenHash: [UInt8],
        by rule: FactorProofRule,
        announcing announcement: Announcement?,
        in application: Application
    ) async throws(Failure) -> Bool {
        let schema = application.schema
        return try await transaction(of: application) { connection in
            let user = try await connection.lockUser(ofSession: tokenHash, provedBy: rule, in: application)
            let kinds = try await connection.factorKinds(of: user.id, schema: schema)
            if factor.kind == .recoveryCode {
                guard kinds.contains(where: \.standsAlone) else { throw Failure.nothingToRecover }
                try await connection.removeFactors(of: user.id, where: "kind = 'recoveryCode'", schema: schema)
            } else {
                guard kinds.count < rule.max else { throw Failure.tooManyFactors(rule.max) }
            }
            if let announcement { try await connection.announce(announcement, to: user.id, of: application) }
            let inserted = try await connection.query(factor.insertion(for: user.id, schema: schema))
            guard inserted.affectedRows == 1 else { throw Failure.factorTaken }
            guard factor.kind.standsAlone else { return false }
            _ = try await connection.query(
                """
                update \(identifier: schema).sessions
                set factor_kind = \(factor.kind.rawValue), factor_proved = now()
                where token_hash = \(tokenHash)
                """
            )
            guard let codes, !kinds.contains(.recoveryCode) else { return false }
            _ = try await connection.query(codes.insertion(for: user.id, schema: schema))
            return true
        }
    }

    /// Removes a factor of the user of a valid session.
    ///
    /// With the last factor, the recovery codes are removed, too. All trusted devices of the user lose their trust,
    /// since each became trusted by one of the former factors.
    ///
    /// - Throws: The errors of `requireProofs`; `conflict`; `not_found`, `last_factor` if the application requires a
    ///   factor of the user, `last_login_method` for a passkey that is the only login method.
    package func removeFactor(
        _ id: ObjectID,
        fromUserOf tokenHash: [UInt8],
        by rule: FactorProofRule,
        announcing announcement: Announcement?,
        in application: Application
    ) async throws(Failure) {
        let schema = application.schema
        try await transaction(of: application) { connection in
            let user = try await connection.lockUser(ofSession: tokenHash, provedBy: rule, in: application)
            let found = try await connection.query(
                """
                select kind from \(identifier: schema).factors
                where id = \(id.uuid) and object_id = \(user.id.uuid) and removed is null
                """
            )
            guard let kind = try found.first(String.self) else { throw Failure.noSuchFactor }
            let isLast = try await connection.isLastFactor(id, of: user.id, in: application)
            if isLast, try await connection.isFactorRequired(of: user.id, in: application) {
                throw Failure(
                    .lastFactor,
                    """
                    This app requires a second factor of this user, and this is the only one. Enroll another one first.
                    """
                )
            }
            if kind == FactorKind.passkey.rawValue {
                try await connection.requireWayIn(of: user.id, session: tokenHash, without: id, in: application)
            }
            if let announcement { try await connection.announce(announcement, to: user.id, of: application) }
            let others: Statement = isLast ? " or kind = 'recoveryCode'" : ""
            try await connection.removeFactors(
                of: user.id,
                where: "id = \(id.uuid)\(others)",
                sparing: tokenHash,
                schema: schema
            )
        }
    }

    /// Records that the user of a session has just presented a second factor, and uses the factor's code up.
    ///
    /// - Parameters:
    ///   - factor: The presented factor.
    ///   - guess: The key of the attempt counter, a SHA-256 hash.
    ///   - isAuthentication: Whether the factor also authenticates the user.
    ///   - user: The owner of the factor and the session.
    ///   - tokenHash: SHA-256 of the session's token.
    ///   - application: The user's application.
    /// - Returns: Whether the factor was accepted. Each code is single-use.
    /// - Throws: `store_unavailable` and similar failures.
    package func noteFactor(
        _ factor: ShownFactor,
        guess: [UInt8]?,
        isAuthentication: Bool,
        of user: ObjectID,
        session tokenHash: [UInt8],
        in application: Application
    ) async throws(Failure) -> Bool {
        typealias Shown = FactorProof
        let owner: SQL<Shown> = "(select owner.object_id from owner)"
        let step = FactorStep<Shown>(finishing: application, by: .shown, user: owner, proof: { $0 })
        let token = Parameter<Shown>("token_hash") { _ in .bytes(tokenHash) }
        let sessions: SQL<Shown> = "\(identifier: application.schema).sessions"
        let proved: SQL<Shown> = isAuthentication ? ", proved = now()" : ""
        let text: SQL<Shown> = """
            with owner as (
                select s.object_id from \(sessions) s where s.token_hash = \(token)
            ), \(step.expressions(if: [])), person as (
                update \(sessions) set
                    factor_kind = (select factor.kind from factor), factor_proved = now()\(proved)
                where token_hash = \(token) and exists (select from factor)
                returning object_id
            ), \(step.forgiving)
            select from person
            """
        let proof = FactorProof(user: user, evidence: .shown(factor), guess: guess)
        return try await query(text.bound(to: proof), of: application).count == 1
    }
}

extension NewFactor {
    /// Returns the statement that adds the factor to a user.
    ///
    /// The statement has no effect if the factor, or its credential, is stored already. As the factor's creation time
    /// it stores the time of this statement, not of the transaction. So the factor is younger than the reversal link
    /// that the same transaction has stored before, and cannot be used with that link.
    func insertion(for user: ObjectID, schema: String) -> Statement {
        insertion(for: user, into: "\(identifier: schema).factors")
    }

    /// Returns the statement that adds the factor to a table with the same columns as `factors`.
    func insertion(for owner: ObjectID, into table: Statement) -> Statement {
        """
        insert into \(table) (id, object_id, kind, label, secret, secret_key_id, step, codes,
            credential_id, public_key, sign_count, backup_eligible, transports, used, created)
        values (
            \(id), \(owner), \(kind.rawValue), \(label), \(secret?.bytes), \(secret?.keyID), \(step ?? -1), \(codes),
            \(passkey?.credentialID), \(passkey?.publicKey), \(passkey?.signCount ?? 0),
            \(passkey?.isBackupEligible ?? false), \(passkey?.transports ?? []),
            case when \(kind.standsAlone) then statement_timestamp() end, statement_timestamp()
        ) on conflict do nothing
        """
    }
}

extension PostgresConnection {
    /// Locks the row of the user of a live session, and checks that the session satisfies a step-up rule.
    fileprivate func lockUser(
        ofSession tokenHash: [UInt8],
        provedBy rule: FactorProofRule,
        in application: Application
    ) async throws -> SessionUser {
        guard let user = try await lockUser(ofSession: tokenHash, of: application), user.status != .disabled else {
            throw Failure.sessionInvalid
        }
        guard user.authenticatedAgo <= rule.seconds else { throw Failure.reauthenticationRequired }
        try user.requireFactor(within: rule.seconds)
        return user
    }

    /// Refuses to remove a passkey that is the user's last login method.
    ///
    /// Another passkey counts as a login method only if it opened the session.
    ///
    /// - Throws: `last_login_method`.
    fileprivate func requireWayIn(
        of user: ObjectID,
        session tokenHash: [UInt8],
        without id: ObjectID,
        in application: Application
    ) async throws {
        guard application.settings.secondFactor.passkeys.isLoginMethod,
            try await !hasIdentityOrPassword(user, schema: application.schema)
        else { return }
        let other = try await passkey(ofSession: tokenHash, in: application)
        guard let other, other != id else { throw Failure.lastLoginMethod }
    }

    func factorKinds(of user: ObjectID, schema: String) async throws(PostgresError) -> [FactorKind] {
        let result = try await query(
            "select kind from \(identifier: schema).factors where object_id = \(user.uuid) and removed is null"
        )
        return try result.all(String.self).compactMap(FactorKind.init)
    }

    /// Removes factors of a user.
    ///
    /// The user's row must be locked. A reversal link can restore the factors for a week. Sessions that were opened by
    /// a removed passkey are revoked, except the one whose token has the hash `tokenHash`.
    func removeFactors(
        of user: ObjectID,
        where condition: Statement,
        sparing tokenHash: [UInt8] = [],
        schema: String
    ) async throws(PostgresError) {
        let removed = try await query(
            """
            update \(identifier: schema).factors set removed = clock_timestamp()
            where object_id = \(user.uuid) and removed is null and (\(condition)) returning id
            """
        )
        try await endTrust(of: user, without: try removed.all(ObjectID.self), sparing: tokenHash, schema: schema)
    }

    /// Ends the effects of a user's removed factors.
    ///
    /// The user's row must be locked. All trusted devices lose their trust, since each became trusted by one of the
    /// former factors. Sessions that were opened by a removed passkey are revoked, except the one whose token has the
    /// hash `tokenHash`.
    private func endTrust(
        of user: ObjectID,
        without factors: [ObjectID],
        sparing tokenHash: [UInt8],
        schema: String
    ) async throws(PostgresError) {
        _ = try await query("delete from \(identifier: schema).trusted_devices where object_id = \(user.uuid)")
        _ = try await query(
            """
            delete from \(identifier: schema).sessions
            where object_id = \(user.uuid) and provider = \(FactorKind.passkey.rawValue)
                and subject = any (\(factors.map(\.description))) and token_hash <> \(tokenHash)
            """
        )
    }

    /// Deletes factors of a user for good, and ends their effects.
    ///
    /// The user's row must be locked.
    ///
    /// - Returns: An entry for the audit log for each factor.
    func deleteFactors(
        of user: ObjectID,
        where condition: Statement,
        schema: String
    ) async throws(PostgresError) -> [JSONValue] {
        let deleted = try await query(
            """
            delete from \(identifier: schema).factors where object_id = \(user.uuid) and (\(condition))
            returning id, kind
            """
        )
        let factors = try deleted.all(ObjectID.self, String.self)
        try await endTrust(of: user, without: factors.map(\.0), sparing: [], schema: schema)
        return factors.map { id, kind in .object(["id": .string(id.description), "kind": .string(kind)]) }
    }

    /// Returns whether the factor is the user's last one of those that the application accepts.
    fileprivate func isLastFactor(
        _ id: ObjectID,
        of user: ObjectID,
        in application: Application
    ) async throws(PostgresError) -> Bool {
        let kinds = application.settings.secondFactor.factors.filter(\.standsAlone).map(\.rawValue)
        let result = try await query(
            """
            select (
                select kind = any (\(kinds)) from \(identifier: application.schema).factors where id = \(id.uuid)
            ) and not exists (
                select from \(identifier: application.schema).factors
                where object_id = \(user.uuid) and id <> \(id.uuid) and removed is null and kind = any (\(kinds))
            )
            """
        )
        return try result.first(Bool.self) ?? false
    }

    fileprivate func isFactorRequired(
        of user: ObjectID,
        in application: Application
    ) async throws(PostgresError) -> Bool {
        let owner = Parameter<ObjectID>("owner", as: "uuid") { .uuid($0.uuid) }
        guard let isRequired = FactorStep<ObjectID>.isRequired("\(owner)", in: application) else { return false }
        let text: SQL<ObjectID> = "select where \(isRequired)"
        return try await query(text.bound(to: user)).count == 1
    }
}

extension Failure {
    static let nothingToRecover = Failure(
        .factorNotOffered,
        "Recovery codes replace a lost factor, and this user has no factor. Enroll one first."
    )

    static func tooManyFactors(_ max: Int) -> Failure {
        Failure(.tooManyFactors, "A user can have at most \(max) factors. Remove one first.")
    }

    static let factorTaken = Failure(
        .passkeyInvalid,
        "This factor is already enrolled. GET users/factors lists the user's factors."
    )
}
