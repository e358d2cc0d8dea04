package import Domain
import FoundationEssentials
import Postgres

extension Store {
    /// Returns the account that a new user may claim, because it has the new user's e-mail address.
    ///
    /// Addresses are compared without regard to case. Guests and disabled users cannot be claimed.
    ///
    /// - Parameters:
    ///   - email: The address of the new user.
    ///   - newcomer: The new user.
    ///   - moment: If not nil, only accounts count that were created before this time, in milliseconds since 1970 UTC,
    ///     or that nobody has logged in to.
    ///   - application: The application of both.
    /// - Returns: The account; of several, one whose address is confirmed, and then the oldest. Nil if there is none.
    /// - Throws: `store_unavailable` and similar failures.
    package func claimableUser(
        withAddress email: String,
        of newcomer: ObjectID,
        before moment: Int64?,
        in application: Application
    ) async throws(Failure) -> User? {
        let columns = UserColumns(application: application)
        let isOld: Statement =
            moment.map { moment in
                "(u.last_login is null or u.created < \(bind: .timestamp(Timestamp(milliseconds: moment))))"
            } ?? "true"
        let found = try await query(
            """
            select \(unsafeRaw: columns.list(of: "u")) from \(identifier: application.schema).users u
            where lower(u.email) = lower(\(email)) and u.object_id <> \(newcomer.uuid)
                and u.user_status in ('ENABLED', 'EMAIL_CONFIRMATION_PENDING') and \(isOld)
            order by u.email_verified desc, u.created, u.object_id limit 1
            """,
            of: application,
            isRare: true
        )
        return try found.first(by: columns.user)
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
    /// Uses up the link of a claim, and takes away from the account what its reader has not shown to be their own.
    ///
    /// The reader of the mail owns the address. If the account had not confirmed it, somebody else may have made the
    /// account with this address, and could still log in (T-33). So the password goes unless the reader knows it, and
    /// the identities go unless the reader has said that they are theirs.
    ///
    /// Both users must be locked.
    ///
    /// - Returns: False for an invalid link. Nothing has changed then.
    func takeClaim(_ claim: UserMerge.Claim, of merge: UserMerge, in application: Application) async throws -> Bool {
        let (schema, account) = (application.schema, merge.survivor.uuid)
        let link = try await query(
            """
            delete from \(identifier: schema).email_proofs e using \(identifier: schema).users u,
                \(identifier: schema).users n
            where \(Store.counts(claim.tokenHash, .claim)) and e.object_id = \(account)
                and e.other_user = \(merge.merged.uuid) and u.object_id = e.object_id and u.email = e.email
                and u.user_status <> 'DISABLED' and n.object_id = e.other_user and n.user_status <> 'DISABLED'
                and lower(n.email) = lower(e.email)
            returning u.email_verified, e.email
            """
        )
        guard let (isConfirmed, email) = try link.first(Bool.self, String.self) else { return false }
        guard try await !canBeTakenBack(merge.survivor, butBy: email, schema: schema) else { throw Failure.contested }
        try await takeFactor(claim.factor, of: merge.survivor, at: nil, in: application)
        guard !isConfirmed else { return true }
        _ = try await query(
            """
            delete from \(identifier: schema).passwords
            where object_id = \(account) and hash is distinct from \(claim.knownHash?.bytes)
            """
        )
        if !claim.keepsIdentities {
            _ = try await query("delete from \(identifier: schema).identities where object_id = \(account)")
        }
        // A passkey may be a login method that no factor is asked for.
        let shown: UUID? = if case .shown(let factor)? = claim.factor?.evidence { factor.id.uuid } else { nil }
        _ = try await query(
            "delete from \(identifier: schema).factors where object_id = \(account) and id is distinct from \(shown)"
        )
        _ = try await query(
            """
            update \(identifier: schema).users set email_verified = true, user_status = 'ENABLED'
            where object_id = \(account)
            """
        )
        return true
    }
}
