import Postgres
package import Vocabulary

extension Application {
    /// A statement that ends sessions, and those that are beside them, which are found by their user whatever the
    /// statistics say.
    ///
    /// - Parameter condition: Which sessions `s` end.
    /// - Returns: It has a row for each that fits the condition.
    func ending(sessions condition: Statement) -> Statement {
        """
        with ended as (
            delete from \(identifier: schema).sessions s where \(condition) returning s.token_hash, s.object_id
        ), beside as (
            delete from \(identifier: schema).sessions
            where object_id = any (array(select object_id from ended))
                and beside = any (array(select token_hash from ended))
        )
        select true from ended
        """
    }
}

extension Store {
    /// Opens a session beside a live one, of the same user: it has been opened by the same login method and has shown
    /// what that one has.
    ///
    /// It is none of those that a user may have so many of (``SessionEnding``). There is one beside each: another ends
    /// for it, and so do those whose own session has ended.
    ///
    /// The user is locked first, so a session that comes while all others of the user end is one of them or is not
    /// there.
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
                    token_hash, object_id, expires, provider, provider_app, subject, proved, factor_kind, factor_proved,
                    beside
                )
                select \(tokenHash), object_id, least(expires, now() + make_interval(secs => \(seconds))), provider,
                    provider_app, subject, proved, factor_kind, factor_proved, coalesce(beside, token_hash)
                from \(identifier: application.schema).sessions where token_hash = \(former)
                """
            )
            _ = try await connection.query(
                """
                delete from \(identifier: application.schema).sessions s
                using \(identifier: application.schema).sessions opened
                where opened.token_hash = \(tokenHash) and s.object_id = opened.object_id
                    and s.token_hash <> opened.token_hash and (
                        s.beside = opened.beside or s.beside is not null and not exists (
                            select from \(identifier: application.schema).sessions own where own.token_hash = s.beside
                        )
                    )
                """
            )
            return user.id
        }
    }
}
