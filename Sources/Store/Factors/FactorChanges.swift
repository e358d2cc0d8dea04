import FoundationEssentials
import Postgres
package import Vocabulary

/// What somebody who holds a session must have shown of late.
package struct FactorProofRule: Sendable {
    /// Seconds since the person was authenticated, and since a second factor was shown by who has one.
    let seconds: Int
    /// Factors that a user may have.
    let most: Int

    package init(seconds: Int, most: Int) {
        self.seconds = seconds
        self.most = most
    }
}

extension Store {
    /// Holds a session to what it must have shown of late.
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

    /// Adds a factor to the user of a live session, which has shown it by that.
    ///
    /// - Parameters:
    ///   - factor: The factor; of recovery codes, it takes the place of those that there are.
    ///   - codes: Recovery codes for who has none; nil where the application has none.
    ///   - tokenHash: SHA-256 of the session's token.
    ///   - rule: What must have been shown of late.
    ///   - announcement: What the user is told; nil when nobody can be told.
    ///   - application: Whose user it is.
    /// - Returns: Whether the recovery codes are the user's now.
    /// - Throws: `session_invalid`, `reauthentication_required`, `second_factor_reauthentication_required`,
    ///   `too_many_factors`, `factor_not_offered` for recovery codes without a factor that they stand in for,
    ///   `passkey_invalid` for one that is somebody's already, `conflict`; nothing has changed then.
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
                guard kinds.count < rule.most else { throw Failure.tooManyFactors(rule.most) }
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

    /// Takes a factor from the user of a live session; with the last one go the recovery codes.
    ///
    /// Nobody's device is trusted any more: it had shown one of the factors of before.
    ///
    /// - Throws: As `addFactor`; `not_found`, `last_factor` where the application requires one of the user,
    ///   `last_way_in` of the passkey that is the only login method.
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
            guard let kind = try found.first?.decode(0, as: String.self) else { throw Failure.noSuchFactor }
            let isLast = try await connection.isLastFactor(id, of: user.id, in: application)
            if isLast, try await connection.isFactorRequired(of: user.id, in: application) {
                throw Failure(
                    .lastFactor,
                    "This app asks everybody like this user for a second factor, and this is the only one. Enrol another first."
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

    /// Notes that the person of a session has just shown a second factor, and uses it up.
    ///
    /// - Parameters:
    ///   - factor: What was shown.
    ///   - guess: SHA-256 of that for which it was counted.
    ///   - isAuthentication: Whether it shows who the person is, too.
    ///   - user: Whose factor and session it is.
    ///   - tokenHash: SHA-256 of the session's token.
    ///   - application: Whose user it is.
    /// - Returns: Whether it counted: the same code counts once.
    /// - Throws: `store_unavailable` and its like.
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
    /// Adds it to a user; nothing happens when it, or its credential, is there already.
    ///
    /// Its moment is that of the statement: behind that of the link that takes it back, which is made before it.
    func insertion(for user: ObjectID, schema: String) -> Statement {
        insertion(for: user, into: "\(identifier: schema).factors")
    }

    /// The same, into a table of such columns.
    func insertion(for owner: ObjectID, into table: Statement) -> Statement {
        """
        insert into \(table) (id, object_id, kind, label, secret, secret_key_id, step, codes,
            credential_id, public_key, sign_count, backup_eligible, transports, used, created)
        values (
            \(id.uuid), \(owner.uuid), \(kind.rawValue), \(label), \(bind: secret.map { .bytes($0.bytes) } ?? .null(.bytes)),
            \(secret?.keyID), \(step ?? -1), \(codes),
            \(bind: passkey.map { .bytes($0.credentialID) } ?? .null(.bytes)),
            \(bind: passkey.map { .bytes($0.publicKey) } ?? .null(.bytes)), \(passkey?.signCount ?? 0),
            \(passkey?.isBackupEligible ?? false), \(passkey?.transports ?? []),
            case when \(kind.standsAlone) then statement_timestamp() end, statement_timestamp()
        ) on conflict do nothing
        """
    }
}

extension PostgresConnection {
    /// Locks the user of a live session that has shown of late who its person is.
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

    /// Holds the removal of a passkey to what remains to log in by.
    ///
    /// - Throws: `last_way_in`.
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
        var kinds: [FactorKind] = []
        for row in result.rows {
            if let kind = FactorKind(rawValue: try row.decode(0, as: String.self)) { kinds.append(kind) }
        }
        return kinds
    }

    /// Takes factors from a user who is locked; a reversal may bring them back for a week.
    ///
    /// Sessions end that were opened by a passkey that goes, but for the one that is told.
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
        let ids = try removed.rows.map { row throws(PostgresError) in ObjectID(try row.decode(0, as: UUID.self)) }
        try await endTrust(of: user, without: ids, sparing: tokenHash, schema: schema)
    }

    /// Ends what hangs on factors of a user who is locked and has them no more: the trust in all devices, each of which
    /// has shown one of the factors of before, and the sessions that were opened by a passkey among them.
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

    /// Removes rows of factors of a user who is locked, for good, with what hangs on them.
    ///
    /// - Returns: What the audit log gets of each.
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
        var (ids, factors): ([ObjectID], [JSONValue]) = ([], [])
        for row in deleted.rows {
            let id = ObjectID(try row.decode(0, as: UUID.self))
            ids.append(id)
            factors.append(
                .object(["id": .string(id.description), "kind": .string(try row.decode(1, as: String.self))])
            )
        }
        try await endTrust(of: user, without: ids, sparing: [], schema: schema)
        return factors
    }

    /// Whether a user has no other factor that the application takes.
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
        return try result.first?.decode(0, as: Bool.self) ?? false
    }

    /// Whether the application requires a factor of a user.
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
        "Recovery codes stand in for another factor, and this user has none. Enrol one first."
    )

    static func tooManyFactors(_ most: Int) -> Failure {
        Failure(.tooManyFactors, "A user has \(most) factors at most. Remove one first.")
    }

    static let factorTaken = Failure(
        .passkeyInvalid,
        "This has been enrolled already. GET users/factors lists the factors of this user."
    )
}
