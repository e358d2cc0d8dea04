import Postgres
package import Vocabulary

extension Store {
    /// The live sessions of a user, the newest first, at most 1000.
    ///
    /// - Parameters:
    ///   - id: The user.
    ///   - tokenHash: Of the session that asks.
    ///   - application: Whose user it is.
    /// - Returns: The sessions, that one among them.
    /// - Throws: `store_unavailable` and its like.
    package func ownSessions(
        of id: ObjectID,
        asking tokenHash: [UInt8],
        in application: Application
    ) async throws(Failure) -> [OwnSession] {
        let result = try await query(
            """
            select \(unsafeRaw: PersonReader.sessionID), created, last_seen, expires, provider, token_hash = \(tokenHash)
            from \(identifier: application.schema).sessions s
            where object_id = \(id.uuid) and \(unsafeRaw: application.isLive("s"))
            order by token_hash = \(tokenHash) desc, created desc, token_hash limit 1000
            """,
            of: application
        )
        return try read { () throws(PostgresError) in
            var sessions: [OwnSession] = []
            for row in result.rows {
                sessions.append(
                    OwnSession(
                        id: try row.decode(0, as: String.self),
                        created: try row.decode(1, as: Timestamp.self).milliseconds,
                        lastSeen: try row.decode(2, as: Timestamp.self).milliseconds,
                        expires: try row.decode(3, as: Timestamp.self).milliseconds,
                        provider: try row.decode(4, as: String?.self),
                        isCurrent: try row.decode(5, as: Bool.self)
                    )
                )
            }
            return sessions
        }
    }

    /// Ends all sessions of a user but the one that asks.
    ///
    /// The user is locked first, as by everybody who ends several sessions of one, so that no two wait for each other.
    ///
    /// - Returns: How many there were.
    package func endOtherSessions(
        of id: ObjectID,
        keeping tokenHash: [UInt8],
        in application: Application
    ) async throws(Failure) -> Int {
        try await transaction(of: application) { connection in
            _ = try await connection.query(
                "select from \(identifier: application.schema).users where object_id = \(id.uuid) for no key update"
            )
            return try await connection.endSessions(of: id, sparing: tokenHash, schema: application.schema)
        }
    }

    /// Ends one session of a user, by the id that the list names.
    ///
    /// - Returns: Whether the user had such a session.
    package func endOwnSession(
        _ session: String,
        of id: ObjectID,
        in application: Application
    ) async throws(Failure) -> Bool {
        let result = try await query(
            application.ending(
                sessions: """
                    s.object_id = \(id.uuid) and \(unsafeRaw: PersonReader.sessionID) = \(session)
                    and \(unsafeRaw: application.isLive("s"))
                    """
            ),
            of: application
        )
        return result.count == 1
    }
}
