import Postgres
package import Vocabulary

/// A session of the console that is opened.
package struct NewOperatorSession: Sendable {
    package let id: String
    /// SHA-256 of the token that the browser gets.
    package let hash: [UInt8]
    /// When it ends at the latest, in milliseconds since 1970.
    package let expires: Int64

    package init(id: String, hash: [UInt8], expires: Int64) {
        self.id = id
        self.hash = hash
        self.expires = expires
    }
}

extension Store {
    /// Opens a session of the console for the operator of a token; a link is used up by that.
    ///
    /// What the person has shown of a second factor by the token counts for the session as well. It ends with the
    /// token, if that ends earlier; the time of a link is how long it may be followed. An operator who has as many
    /// sessions as there may be loses the one that was not used for longest.
    ///
    /// - Returns: When it ends, in milliseconds since 1970; nil when it was not opened, since the token has ended
    ///   meanwhile or somebody else has used the link.
    package func openSession(
        _ session: NewOperatorSession,
        of caller: CallingOperator,
        by actor: Actor
    ) async throws(Failure) -> Int64? {
        try await transaction { connection in
            // Sessions that are opened at once are counted one after the other.
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
            guard let ends = try opened.first?.decode(0, as: Timestamp.self) else { return nil }
            _ = try await connection.query(
                "delete from federation.operator_tokens where operator = \(caller.name.text) and expires <= now()"
            )
            let purpose = OperatorTokenPurpose.session
            let surplus = try await connection.endUnusedTokens(
                of: caller.name,
                for: purpose,
                keeping: purpose.most,
                with: session.hash
            )
            let entry = AuditRecord(
                application: nil,
                action: "operator.session.open",
                target: caller.name.text,
                from: nil,
                to: .object(["id": .string(session.id), "by": .string(caller.purpose.rawValue)])
            )
            try await connection.record(surplus.map { .endOfSession($0, of: caller) } + [entry], by: actor)
            return ends.milliseconds
        }
    }

    /// Ends a session of the console.
    ///
    /// - Parameters:
    ///   - id: Its id; nil for the one whose token calls.
    ///   - caller: Whose it is.
    ///   - actor: For the audit log.
    /// - Returns: Whether there was one.
    /// - Throws: `store_unavailable` and its like.
    package func endSession(
        _ id: String?,
        of caller: CallingOperator,
        by actor: Actor
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
            guard let ended = try ended.first?.decode(0, as: String.self) else { return false }
            try await connection.record([.endOfSession(ended, of: caller)], by: actor)
            return true
        }
    }
}

extension AuditRecord {
    fileprivate static func endOfSession(_ id: String, of caller: CallingOperator) -> AuditRecord {
        AuditRecord(
            application: nil,
            action: "operator.session.end",
            target: caller.name.text,
            from: .object(["id": .string(id)]),
            to: nil
        )
    }
}
