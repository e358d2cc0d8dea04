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
        let isOther: Statement = """
            u.object_id <> \(newcomer.uuid) and \(isOld) and \(Self.hasOwnAddress("u", schema: application.schema))
            """
        return try await account(withAddress: email, if: isOther, in: application)?.account
    }

    /// Returns the account that has the e-mail address of a login whose identity no user has yet.
    ///
    /// - Parameters:
    ///   - email: The address.
    ///   - identity: The identity of the login.
    ///   - banHash: The hash by which a ban of the identity is found.
    ///   - application: The application.
    /// - Returns: The account, and the time by the database's clock; nil if there is none, if a user has the identity,
    ///   or if the identity is banned.
    /// - Throws: `store_unavailable` and similar failures.
    package func account(
        withAddress email: String,
        unlessKnown identity: IdentityKey,
        orBanned banHash: [UInt8],
        in application: Application
    ) async throws(Failure) -> (account: User, now: StoreMoment)? {
        let schema = application.schema
        let isNew: Statement = """
            not exists (select from \(identifier: schema).identities where \(identity.condition))
                and not exists (
                    select from \(identifier: schema).single_use
                    where kind = 'banned' and hash = \(banHash) and expires > now()
                )
            """
        return try await account(withAddress: email, if: isNew, in: application)
    }

    /// Returns whether a code or an offer may be mailed to the address of an account, so that its reader opens it.
    ///
    /// - Throws: `store_unavailable` and similar failures.
    package func hasOwnAddress(_ account: ObjectID, in application: Application) async throws(Failure) -> Bool {
        let schema = application.schema
        let found = try await query(
            """
            select from \(identifier: schema).users u
            where u.object_id = \(account.uuid) and \(Self.hasOwnAddress("u", schema: schema))
            """,
            of: application
        )
        return found.count == 1
    }

    /// The SQL condition that the e-mail address of the user `alias` was given by the user, and not only by a provider.
    ///
    /// It is confirmed, or the login name of the password, or the user has no identity. Any other address may be that
    /// of another human, who must not get the account by reading its mail (decision D6).
    fileprivate static func hasOwnAddress(_ alias: String, schema: String) -> Statement {
        """
        (\(unsafeRaw: alias).email_verified or exists (
            select from \(identifier: schema).passwords p
            where p.object_id = \(unsafeRaw: alias).object_id and p.login = lower(\(unsafeRaw: alias).email)
        ) or not exists (
            select from \(identifier: schema).identities i where i.object_id = \(unsafeRaw: alias).object_id
        ))
        """
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

    /// Requires that the reader of an account's mailbox may open the account; changes nothing.
    ///
    /// The transaction that writes the login decides by the same rule.
    ///
    /// - Throws: `account_disabled`, `conflict`, `second_factor_required`, `pending_login_invalid`; `store_unavailable`
    ///   and similar failures.
    package func requireOpening(
        of mailbox: LinkTarget.Mailbox,
        showing factor: FactorProof?,
        in application: Application
    ) async throws(Failure) {
        struct Rollback: Error {}
        try await translating(of: application) {
            do {
                try await tables(of: application).withTransaction { connection in
                    _ = try await connection.open(mailbox, showing: factor, in: application)
                    throw Rollback()
                }
            } catch is Rollback {}
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
                and lower(n.email) = lower(e.email) and \(Store.hasOwnAddress("u", schema: schema))
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

    /// Opens an account for the reader of its mailbox: locks the user's row, and confirms the address.
    ///
    /// Access to a mailbox is one factor. So a second one is required of each account that has one, even if logins by
    /// the provider are exempt: otherwise a thief of the mailbox could add an identity of their own (decision D18). The
    /// statement that writes the login uses a presented factor up.
    ///
    /// - Returns: The identities that the account loses, with their stored tokens.
    /// - Throws: `account_disabled`, `conflict`, `second_factor_required`; `pending_login_invalid` if the address is not
    ///   the user's any more.
    func open(
        _ mailbox: LinkTarget.Mailbox,
        showing factor: FactorProof?,
        in application: Application
    ) async throws -> [KeptIdentity] {
        let (schema, user) = (application.schema, mailbox.user)
        let locked = try await query(
            """
            select u.user_status, u.email_verified from \(identifier: schema).users u
            where u.object_id = \(user.uuid) and lower(u.email) = lower(\(mailbox.email))
                and \(Store.hasOwnAddress("u", schema: schema))
            for update
            """
        )
        guard let (status, isConfirmed) = try locked.first(String.self, Bool.self) else {
            throw FactorDemand.unusable.failure
        }
        guard status != UserStatus.disabled.rawValue else { throw Store.accountDisabled }
        try await requireNoDeletion(of: [user], in: application)
        guard try await !canBeTakenBack(user, butBy: mailbox.email, schema: schema) else { throw Failure.contested }
        // A factor that is being enrolled does not replace one that was enrolled meanwhile. Once the address is
        // confirmed, the statement that writes the login decides, since the client may repeat it.
        if factor == nil || factor?.enrolled != nil && !isConfirmed {
            try await takeFactor(nil, of: user, at: nil, in: application)
        }
        return try await confirmAddress(
            of: user,
            keeping: KnownMethods(password: nil, hasIdentities: mailbox.keepsIdentities),
            showing: factor,
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
