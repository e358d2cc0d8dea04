package import Domain
import FoundationEssentials
import Postgres

extension Store {
    /// Returns the account that a new user may claim, because it has the new user's e-mail address.
    ///
    /// - Parameters:
    ///   - email: The address of the new user.
    ///   - newcomer: The new user.
    ///   - moment: If not nil, only accounts count that were created before this time, in milliseconds since 1970 UTC,
    ///     or that nobody has logged in to.
    ///   - application: The application of both.
    /// - Returns: The account; nil if there is none. Of several, ``account(withAddress:if:in:)`` says which.
    /// - Throws: `store_unavailable` and similar failures.
    package func claimableUser(
        withAddress email: String,
        of newcomer: ObjectID,
        before moment: Int64?,
        in application: Application
    ) async throws(Failure) -> User? {
        let isOld: Statement =
            moment.map { moment in
                "(u.last_login is null or u.created < \(bind: .timestamp(Timestamp(milliseconds: moment))))"
            } ?? "true"
        let isOther: Statement = "u.object_id <> \(newcomer.uuid) and \(isOld)"
        return try await account(withAddress: email, if: isOther, in: application)?.account
    }

    /// Returns the account that has the e-mail address of a login whose identity no user has yet.
    ///
    /// - Returns: The account, and the time by the database's clock; nil if there is none, or if a user has the
    ///   identity.
    /// - Throws: `store_unavailable` and similar failures.
    package func account(
        withAddress email: String,
        unlessKnown identity: IdentityKey,
        in application: Application
    ) async throws(Failure) -> (account: User, now: StoreMoment)? {
        try await account(
            withAddress: email,
            if: """
                not exists (
                    select from \(identifier: application.schema).identities where \(identity.condition)
                )
                """,
            in: application
        )
    }

    /// Returns an account with an e-mail address and a further condition.
    ///
    /// Addresses are compared without regard to case. Guests and disabled users are no accounts here. Of several
    /// accounts, the result is one whose address is confirmed, and then the oldest.
    private func account(
        withAddress email: String,
        if condition: Statement,
        in application: Application
    ) async throws(Failure) -> (account: User, now: StoreMoment)? {
        let columns = UserColumns(application: application)
        let found = try await query(
            """
            select now(), \(unsafeRaw: columns.list(of: "u")) from \(identifier: application.schema).users u
            where lower(u.email) = lower(\(email)) and u.user_status in ('ENABLED', 'EMAIL_CONFIRMATION_PENDING')
                and \(condition)
            order by u.email_verified desc, u.created, u.object_id limit 1
            """,
            of: application
        )
        return try found.first { row throws(PostgresError) in
            let now = try row.next(Timestamp.self)
            return (account: try columns.user(in: &row), now: now.storeMoment)
        }
    }

    /// Deletes the link of a claim whose address belongs to somebody else than the new user.
    ///
    /// - Returns: The account and the new user; nil for an invalid link.
    package func refuseClaim(
        byLink tokenHash: [UInt8],
        in application: Application
    ) async throws(Failure) -> (account: ObjectID, newcomer: ObjectID)? {
        let result = try await query(
            """
            delete from \(identifier: application.schema).email_proofs e where \(Self.counts(tokenHash, .claim))
            returning e.object_id, e.other_user
            """,
            of: application
        )
        return try result.first(ObjectID.self, ObjectID.self).map { (account: $0, newcomer: $1) }
    }
}

extension PostgresConnection {
    /// Uses up the link of a claim, and confirms the address of the account.
    ///
    /// Both users must be locked.
    ///
    /// - Returns: What ``confirmAddress(of:keeping:showing:schema:)`` returns; nil for an invalid link. Nothing has
    ///   changed then.
    func takeClaim(
        _ claim: UserMerge.Claim,
        of merge: UserMerge,
        in application: Application
    ) async throws -> [KeptIdentity]? {
        let (schema, account) = (application.schema, merge.survivor.uuid)
        let link = try await query(
            """
            delete from \(identifier: schema).email_proofs e using \(identifier: schema).users u,
                \(identifier: schema).users n
            where \(Store.counts(claim.tokenHash, .claim)) and e.object_id = \(account)
                and e.other_user = \(merge.merged.uuid) and u.object_id = e.object_id and u.email = e.email
                and u.user_status <> 'DISABLED' and n.object_id = e.other_user and n.user_status <> 'DISABLED'
                and lower(n.email) = lower(e.email)
            returning e.email
            """
        )
        guard let email = try link.first(String.self) else { return nil }
        guard try await !canBeTakenBack(merge.survivor, butBy: email, schema: schema) else { throw Failure.contested }
        try await takeFactor(claim.factor, of: merge.survivor, at: nil, in: application)
        return try await confirmAddress(
            of: merge.survivor,
            keeping: claim.known,
            showing: claim.factor,
            schema: schema
        )
    }

    /// Confirms the address of an account for somebody who has shown access to the mailbox.
    ///
    /// If the address was not confirmed before, somebody else may have made the account with this address, and could
    /// still log in (T-33). So the account loses everything that the reader of the mailbox has not shown to be their
    /// own: the password, the identities, and all factors but the presented one.
    ///
    /// The user must be locked.
    ///
    /// - Returns: The removed identities with their stored tokens.
    func confirmAddress(
        of account: ObjectID,
        keeping known: KnownMethods,
        showing factor: FactorProof?,
        schema: String
    ) async throws(PostgresError) -> [KeptIdentity] {
        let confirmed = try await query(
            """
            update \(identifier: schema).users set email_verified = true, user_status = 'ENABLED'
            where object_id = \(account.uuid) and not email_verified
            """
        )
        guard confirmed.affectedRows == 1 else { return [] }
        _ = try await query(
            """
            delete from \(identifier: schema).passwords
            where object_id = \(account.uuid) and hash is distinct from \(known.password?.bytes)
            """
        )
        // A passkey may be a login method that no factor is asked for.
        let shown: UUID? = if case .shown(let factor)? = factor?.evidence { factor.id.uuid } else { nil }
        _ = try await query(
            "delete from \(identifier: schema).factors where object_id = \(account.uuid) and id is distinct from \(shown)"
        )
        try await endSessions(of: account, schema: schema)
        try await endLinks(of: account, schema: schema)
        guard !known.hasIdentities else { return [] }
        let lost = try await keptIdentities(of: account, schema: schema)
        _ = try await query("delete from \(identifier: schema).identities where object_id = \(account.uuid)")
        return lost
    }
}

/// The login methods of an account with an unconfirmed address that the reader of its mailbox has shown to be their
/// own, or says are.
package struct KnownMethods: Sendable {
    /// The stored hash that the account's password was verified against; nil if the reader entered no password.
    let password: EncryptedSecret?
    /// Whether the reader says that the account's identities are their own.
    let hasIdentities: Bool

    package init(password: EncryptedSecret?, hasIdentities: Bool) {
        self.password = password
        self.hasIdentities = hasIdentities
    }
}
