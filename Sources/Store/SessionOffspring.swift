import Postgres
package import Vocabulary

extension Store {
    /// Opens a session beside a live one, of the same user: it has been opened by the same login method and has shown
    /// what that one has.
    ///
    /// The user is locked first, so a session that comes while all others of the user end is one of them or is not
    /// there. No other one ends for it, but the oldest of whoever has as many as anybody may (``SessionEnding``).
    ///
    /// - Parameters:
    ///   - tokenHash: Of the new session.
    ///   - former: Of the live one.
    ///   - seconds: How long it lasts at most; never longer than the live one.
    ///   - application: Whose user it is.
    /// - Returns: The user.
    /// - Throws: `session_invalid` when that one has ended, `account_disabled`; `store_unavailable` and its like.
    package func openSession(
        _ tokenHash: [UInt8],
        beside former: [UInt8],
        seconds: Int64,
        in application: Application
    ) async throws(Failure) -> ObjectID {
        try await transaction(of: application) { connection in
            guard let user = try await connection.lockUser(ofSession: former, of: application) else {
                throw Failure.sessionInvalid
            }
            guard user.status != .disabled else { throw Self.accountDisabled }
            _ = try await connection.query(
                """
                insert into \(identifier: application.schema).sessions (
                    token_hash, object_id, expires, provider, provider_app, subject, proved, factor_kind, factor_proved
                )
                select \(tokenHash), object_id, least(expires, now() + make_interval(secs => \(seconds))), provider,
                    provider_app, subject, proved, factor_kind, factor_proved
                from \(identifier: application.schema).sessions where token_hash = \(former)
                """
            )
            _ = try await connection.query(
                """
                delete from \(identifier: application.schema).sessions where token_hash = any (array(
                    select token_hash from \(identifier: application.schema).sessions
                    where object_id = \(user.id.uuid) and token_hash <> \(tokenHash) and token_hash <> \(former)
                    order by created desc offset \(SessionEnding<Never>.mostOfAll - 2)
                ))
                """
            )
            return user.id
        }
    }
}
