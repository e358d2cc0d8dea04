import FoundationEssentials
import Postgres
package import Vocabulary

/// A user's request to have the own account deleted.
package struct AccountDeletion: Sendable {
    let code: String
    let hash: [UInt8]
    let days: Int64
    let notices: [Notice]

    /// Collects a request.
    ///
    /// - Parameters:
    ///   - code: 26 random characters of `A`–`Z` and `2`–`7`.
    ///   - hash: SHA-256 that is the same for the same user.
    ///   - days: How long the erasure waits.
    ///   - notices: What the user is told by mail.
    package init(code: String, hash: [UInt8], days: Int64, notices: [Notice]) {
        self.code = code
        self.hash = hash
        self.days = days
        self.notices = notices
    }
}

extension Store {
    /// For how many seconds a link is out by which the reader of a former address takes the account back; 0 when there
    /// is none.
    package func secondsToTakeBack(_ user: ObjectID, of application: Application) async throws(Failure) -> Int64 {
        let result = try await query(
            """
            select coalesce(extract(epoch from max(expires) - now())::bigint, 0)
            from \(identifier: application.schema).email_proofs
            where object_id = \(user.uuid) and purpose = 'reversal' and expires > now()
            """,
            of: application
        )
        return try read { () throws(PostgresError) in try result.first?.decode(0, as: Int64.self) ?? 0 }
    }

    /// Writes a user's request for the deletion of the account down, and ends all sessions.
    ///
    /// - Parameters:
    ///   - deletion: The request; the code of an open one of the same user stays.
    ///   - tokenHash: SHA-256 of the session's token.
    ///   - seconds: How long ago the person of the session may have been authenticated; a guest has no other proof than
    ///     the session.
    ///   - application: Whose user it is.
    /// - Returns: The request as it is stored.
    /// - Throws: `session_invalid`, `reauthentication_required`, `store_unavailable` and their like; nothing has
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
            guard let stored = try result.first.map(StoredDeletionRequest.init) else {
                throw Failure(.internal, "The request for deletion could not be written down.")
            }
            try await connection.endSessions(of: user.id, schema: application.schema)
            for notice in deletion.notices { _ = try await connection.enqueue(notice, to: nil, of: application) }
            return stored
        }
    }
}
