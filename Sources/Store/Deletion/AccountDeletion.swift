package import Domain
import FoundationEssentials
import Postgres

/// A user's request for the deletion of the user's own account.
package struct AccountDeletion: Sendable {
    let code: String
    let hash: [UInt8]
    let days: Int64
    let notices: [Notice]

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - code: 26 random characters of `A`–`Z` and `2`–`7`.
    ///   - hash: A SHA-256 hash that is the same for all requests of one user.
    ///   - days: The delay of the erasure in days of 24 hours.
    ///   - notices: The mails to the user.
    package init(code: String, hash: [UInt8], days: Int64, notices: [Notice]) {
        self.code = code
        self.hash = hash
        self.days = days
        self.notices = notices
    }
}

extension Store {
    /// The SQL condition that the link `e` of the user `u` can still undo a change of the account, or was mailed to
    /// another address and can still undo a merge into it.
    static let contests = """
        e.expires > now() and (
            e.purpose = 'reversal' or e.purpose = 'mergeReversal' and lower(e.email) is distinct from lower(u.email)
        )
        """

    /// Returns for how many seconds a mailed link can still recover the account, or undo a merge into it.
    ///
    /// The link was mailed to another e-mail address than the user's. The result is 0 if no such link is valid.
    package func secondsToTakeBack(_ user: ObjectID, of application: Application) async throws(Failure) -> Int64 {
        let result = try await query(
            """
            select coalesce(extract(epoch from max(e.expires) - now())::bigint, 0)
            from \(identifier: application.schema).email_proofs e
            join \(identifier: application.schema).users u using (object_id)
            where object_id = \(user.uuid) and \(unsafeRaw: Self.contests)
            """,
            of: application
        )
        return try result.first(Int64.self) ?? 0
    }

    /// Stores a user's request for the deletion of the account, and revokes all sessions.
    ///
    /// - Parameters:
    ///   - deletion: The request. If the user has a stored request, that one stays as it is, with its code.
    ///   - tokenHash: SHA-256 of the session's token.
    ///   - seconds: The maximum age, in seconds, of the session's authentication. It does not apply to a guest, who has
    ///     no credential but the session.
    ///   - application: The user's application.
    /// - Returns: The stored request.
    /// - Throws: `session_invalid`, `reauthentication_required`, `store_unavailable` and similar failures. Nothing has
    ///   changed then.
    package func requestDeletion(
        _ deletion: AccountDeletion,
        bySession tokenHash: [UInt8],
        authenticatedWithin seconds: Int,
        of application: Application
    ) async throws(Failure) -> StoredDeletionRequest {
        try await transaction(in: tables(of: application)) { connection in
            guard let user = try await connection.lockUser(ofSession: tokenHash, of: application),
                user.status != .disabled
            else { throw Failure.sessionInvalid }
            guard user.status == .guest || user.authenticatedAgo <= seconds else {
                throw Failure.reauthenticationRequired
            }
            try user.requireFactor(within: seconds)
            let result = try await connection.query(
                """
                insert into federation.deletion_requests as d
                    (code, application_id, request_hash, call_hash, provider, object_id, issued, due)
                values (\(deletion.code), \(application.id.text), \(deletion.hash), \(deletion.hash),
                    \(ProviderName.password.text), \(user.id.uuid), now(),
                    now() + \(deletion.days) * interval '24 hours')
                on conflict (application_id, request_hash) do update set code = d.code
                returning \(unsafeRaw: StoredDeletionRequest.columns)
                """
            )
            guard let stored = try result.first(by: StoredDeletionRequest.init) else {
                throw Failure(.internal, "The deletion request could not be stored.")
            }
            try await connection.endSessions(of: user.id, schema: application.schema)
            for notice in deletion.notices { _ = try await connection.enqueue(notice, to: nil, of: application) }
            return stored
        }
    }
}
