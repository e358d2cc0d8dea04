package import Domain
import Encodings
import Postgres

/// A new session of the console.
package struct NewOperatorSession: Sendable {
    package let id: String
    /// SHA-256 of the session token that the browser gets.
    package let hash: [UInt8]
    /// The time at which the session expires at the latest, in milliseconds since 1970.
    package let expires: Int64

    package init(id: String, hash: [UInt8], expires: Int64) {
        self.id = id
        self.hash = hash
        self.expires = expires
    }
}

extension Store {
    /// Opens a session of the console for the operator who presents a token.
    ///
    /// If the token comes from a login link, it is used up.
    ///
    /// A second factor verified with the token is valid for the session, too. The session expires no later than the
    /// token. The token of a link is an exception, since its expiry only limits when the link can be followed. If the
    /// operator then has more than the maximum number of sessions, the least recently used one is revoked.
    ///
    /// - Returns: The session's expiry, in milliseconds since 1970; nil when no session was opened, because the token
    ///   has expired meanwhile or the link was already used.
    package func openSession(
        _ session: NewOperatorSession,
        of caller: CallingOperator,
        by actor: ChangeAuthor
    ) async throws(Failure) -> Int64? {
        try await transaction { connection in
            // The lock serializes concurrent openings, so that each counts the sessions of the others.
            try await connection.lockOperator(caller.name)
            let used: Statement =
                caller.purpose == .link
                ? """
                delete from federation.operator_tokens
                where token_hash = \(caller.tokenHash) and expires > now()
                returning operator, factor_proved, null::timestamptz as expires
                """
                : """
                select operator, factor_proved, expires from federation.operator_tokens
                where token_hash = \(caller.tokenHash) and (expires is null or expires > now()) for key share
                """
            let opened = try await connection.query(
                """
                with used as (\(used))
                insert into federation.operator_tokens (
                    token_hash, id, operator, expires, machine, purpose, factor_proved, last_used
                )
                select \(session.hash), \(session.id), operator,
                    least(\(Timestamp(milliseconds: session.expires))::timestamptz, expires), false,
                    \(OperatorTokenPurpose.session.rawValue), factor_proved, now()
                from used
                returning expires
                """
            )
            guard let ends = try opened.first(Timestamp.self) else { return nil }
            _ = try await connection.query(
                "delete from federation.operator_tokens where operator = \(caller.name.text) and expires <= now()"
            )
            let purpose = OperatorTokenPurpose.session
            let surplus = try await connection.endUnusedTokens(
                of: caller.name,
                for: purpose,
                keeping: purpose.max,
                with: session.hash
            )
            let entry = AuditRecord(
                "operator.session.open",
                of: caller.name.text,
                to: .object(["id": .string(session.id), "by": .string(caller.purpose.rawValue)])
            )
            try await connection.record(surplus.map { .endOfSession($0, of: caller) } + [entry], by: actor)
            return ends.milliseconds
        }
    }

    /// Revokes a session of the console.
    ///
    /// - Parameters:
    ///   - id: The id of the session; nil for the session that makes the call.
    ///   - caller: The operator of the session.
    ///   - actor: The author of the change, for the audit log.
    /// - Returns: Whether the session existed.
    /// - Throws: `store_unavailable` and similar failures.
    package func endSession(
        _ id: String?,
        of caller: CallingOperator,
        by actor: ChangeAuthor
    ) async throws(Failure) -> Bool {
        try await transaction { connection in
            let which: Statement =
                if let id { "id = \(id)" } else { "token_hash = \(caller.tokenHash)" }
            let ended = try await connection.query(
                """
                delete from federation.operator_tokens
                where operator = \(caller.name.text) and purpose = \(OperatorTokenPurpose.session.rawValue) and \(which)
                returning id
                """
            )
            guard let ended = try ended.first(String.self) else { return false }
            try await connection.record([.endOfSession(ended, of: caller)], by: actor)
            return true
        }
    }
}

extension AuditRecord {
    fileprivate static func endOfSession(_ id: String, of caller: CallingOperator) -> AuditRecord {
        AuditRecord("operator.session.end", of: caller.name.text, from: .object(["id": .string(id)]))
    }
}
