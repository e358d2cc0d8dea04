package import Domain
import Encodings
import FoundationEssentials
import Postgres

/// The result of the erasure for a deletion request.
package enum Erasure: Sendable {
    /// Another instance is processing the request, or the request is done or not due.
    case notOurs
    /// Nothing to erase: the user or the identity is gone, or the identity is newer than the request.
    case nobody
    /// The identity and its sessions were deleted.
    ///
    /// The user still has another login method.
    case identity(of: ObjectID, tokens: [KeptIdentity])
    /// The user was deleted: there was no other login method.
    case user(ObjectID, tokens: [KeptIdentity])
    /// An obstacle prevented the erasure, and nothing has changed.
    ///
    /// The string names the obstacle: a table whose rows refer to the user, an operator's rule that forbids the
    /// deletion, or a reversal link that can still recover the account.
    case blocked(by: String)
}

extension Store {
    /// Carries out a due deletion request in one transaction, and removes the user's data from the request.
    ///
    /// Only one of several instances does it. The identities of a disabled user are banned. If there is an obstacle, it
    /// is stored, and the request stays open. Each new obstacle gets an audit log entry.
    ///
    /// - Parameters:
    ///   - code: The code of the request.
    ///   - application: The request's application.
    ///   - hash: Computes the hash by which a banned identity is recognized.
    ///   - notices: The mails that are sent if the user is deleted.
    ///   - actor: The requester, for the audit log.
    /// - Returns: The result.
    /// - Throws: `store_unavailable` and similar failures. Nothing is erased then.
    package func erase(
        code: String,
        of application: Application,
        banningBy hash: @escaping IdentityHasher,
        telling notices: [Notice] = [],
        by actor: ChangeAuthor
    ) async throws(Failure) -> Erasure {
        let tables = tables(of: application)
        let work = ErasureWork(
            code: code,
            application: application,
            tables: tables,
            hash: hash,
            notices: notices
        )
        do {
            return try await tables.withTransaction { try await work.carryOut(on: $0, by: actor) }
        } catch let error as PostgresError {
            guard let obstacle = error.obstacle else {
                // The request waits for its next attempt, since its error must not delay the requests behind it.
                if case .server = error { try await transaction(in: tables) { try await work.noteAttempt(on: $0) } }
                throw await failure(of: error, in: application)
            }
            try await transaction(in: tables) { try await work.note(obstacle, on: $0, by: actor) }
            return .blocked(by: obstacle)
        } catch let contested as Contested {
            try await transaction(in: tables) { try await work.note(contested.obstacle, on: $0, by: actor) }
            return .blocked(by: contested.obstacle)
        } catch let error as Failure {
            throw error
        } catch {
            throw Failure.databaseFault(cause: "\(error)")
        }
    }
}

extension PostgresError {
    /// The obstacle to a user's deletion that this error reports: a table whose rows refer to the user, or a trigger of
    /// the operator's.
    ///
    /// It is nil for every other error.
    var obstacle: String? {
        guard case .server(let refusal) = self else { return nil }
        if refusal.sqlState == "P0001" { return "a rule of the users table" }
        guard handling == .constraintViolation else { return nil }
        return [refusal.schema, refusal.table].compactMap(\.self).joined(separator: ".")
    }
}

/// The error that a user must not be erased yet, because a reversal link can still recover the account.
///
/// The link was mailed to a former e-mail address of the user. A thief may have changed the address and then requested
/// the deletion. So the erasure waits until the link expires.
private struct Contested: Error {
    let obstacle = "a link that takes the account back"
}

/// Carries out the erasure for one deletion request.
private struct ErasureWork: Sendable {
    let code: String
    let application: Application
    let tables: Tables
    let hash: IdentityHasher
    let notices: [Notice]

    func carryOut(on connection: PostgresConnection, by actor: ChangeAuthor) async throws -> Erasure {
        let request = try await connection.query(
            """
            select object_id, provider, provider_app, subject, extract(epoch from issued)::bigint
            from federation.deletion_requests
            where code = \(code) and application_id = \(application.id.text) and done is null and due <= now()
            for update skip locked
            """
        )
        guard var row = request.first else { return .notOurs }
        var erasure = Erasure.nobody
        var isBanned = false
        if let user = try row.next(ObjectID?.self) {
            (erasure, isBanned) = try await erase(user, on: connection)
        } else if let identity = try IdentityKey(&row) {
            (erasure, isBanned) = try await erase(identity, from: try row.next(Int64.self), on: connection)
        }
        _ = try await connection.query(
            """
            update federation.deletion_requests
            set done = now(), provider_app = null, subject = null, object_id = null, hindrance = null
            where code = \(code)
            """
        )
        if case .user = erasure {
            for notice in notices { _ = try await connection.enqueue(notice, to: nil, of: application) }
        }
        if let entry = entry(for: erasure, isBanned: isBanned) {
            try await tables.record([entry], by: actor, with: connection)
        }
        return erasure
    }

    /// Erases a user at the user's own request, with all identities and sessions.
    private func erase(
        _ user: ObjectID,
        on connection: PostgresConnection
    ) async throws -> (Erasure, isBanned: Bool) {
        let schema = application.schema
        let locked = try await connection.query(
            "select from \(identifier: schema).users where object_id = \(user.uuid) for update"
        )
        guard locked.count == 1 else { return (.nobody, false) }
        guard try await !connection.isContested(user, schema: schema) else { throw Contested() }
        let identities: Statement = """
            select provider, provider_app, subject from \(identifier: schema).identities
            where object_id = \(user.uuid)
            """
        let keys = try await connection.query(identities).all(by: IdentityKey.init)
        try await connection.forgetRemoval(of: keys, schema: schema)
        let isBanned = try await connection.ban(keys, of: user, in: application, by: hash)
        let tokens = try await connection.keptIdentities(of: user, schema: schema)
        try await connection.endAccess(of: identities, at: nil, schema: schema)
        try await delete(user, on: connection)
        return (.user(user, tokens: tokens), isBanned)
    }

    /// Erases an identity that is older than the request.
    ///
    /// The user is erased, too, if there is neither another identity nor a password.
    private func erase(
        _ identity: IdentityKey,
        from issued: Int64,
        on connection: PostgresConnection
    ) async throws -> (Erasure, isBanned: Bool) {
        // This statement goes first. An identity that is being restored concurrently is then found as an identity by
        // the next one.
        try await connection.forgetRemoval(of: [identity], schema: application.schema)
        guard let user = try await connection.lockUser(of: identity, schema: application.schema) else {
            try await connection.endAccess(of: identity.row, at: issued, schema: application.schema)
            return (.nobody, false)
        }
        // This is a separate statement, since the one that waits for the lock sees the identities as they were before
        // the wait.
        let found = try await connection.query(
            """
            select count(*) + (
                select count(*) from \(identifier: application.schema).passwords where object_id = \(user.uuid)
            ) > 1
            from \(identifier: application.schema).identities where object_id = \(user.uuid)
            having bool_or(\(identity.condition) and created < to_timestamp(\(issued)) + interval '1 second')
            """
        )
        guard let hasOthers = try found.first(Bool.self) else { return (.nobody, false) }
        if !hasOthers, try await connection.isContested(user, schema: application.schema) { throw Contested() }
        let isBanned = try await connection.ban([identity], of: user, in: application, by: hash)
        let tokens = try await connection.keptIdentities(of: user, schema: application.schema)
        try await connection.endAccess(of: identity.row, at: nil, schema: application.schema)
        guard hasOthers else {
            try await delete(user, on: connection)
            return (.user(user, tokens: tokens), isBanned)
        }
        // No undoing of a merge may bring back what came with the identity.
        _ = try await connection.query(
            """
            update \(identifier: application.schema).merged_users set record = null, record_key_id = null
            where survivor = \(user.uuid) and federation.identity_hash(
                \(identity.provider.text), \(identity.app.text), \(identity.subject.text)
            ) = any (identities)
            """
        )
        try await connection.endSessions(of: user, openedBy: identity, schema: application.schema)
        _ = try await connection.query(
            """
            delete from \(identifier: application.schema).identities
            where object_id = \(user.uuid) and \(identity.condition)
            """
        )
        let lost = tokens.filter { $0.key == identity }
        return (.identity(of: user, tokens: lost), isBanned)
    }

    /// Deletes a user's row with all dependent rows, and removes the user from the login log.
    private func delete(_ user: ObjectID, on connection: PostgresConnection) async throws {
        let schema = application.schema
        try await connection.forgetInvitations(of: user, schema: schema)
        let former = try await connection.mergedUsers(into: [user], schema: schema)
        try await tables.forgetLogins(of: [user] + former, in: application.id, with: connection)
        _ = try await connection.query("delete from \(identifier: schema).users where object_id = \(user.uuid)")
    }

    /// Stores the obstacle to the erasure, and writes an audit log entry if the previous obstacle was another one.
    func note(_ obstacle: String, on connection: PostgresConnection, by actor: ChangeAuthor) async throws {
        let noted = try await connection.query(
            """
            update federation.deletion_requests d set attempted = now(), hindrance = \(obstacle)
            from (select code, hindrance from federation.deletion_requests where code = \(code) for update) before
            where d.code = before.code and d.done is null
            returning before.hindrance is distinct from d.hindrance
            """
        )
        guard try noted.first(Bool.self) == true else { return }
        let entry = entry("deletion.blocked", target: nil, ["table": .string(obstacle)])
        try await tables.record([entry], by: actor, with: connection)
    }

    /// Stores the time of a failed attempt at the erasure, whatever the error was.
    func noteAttempt(on connection: PostgresConnection) async throws(PostgresError) {
        _ = try await connection.query(
            "update federation.deletion_requests set attempted = now() where code = \(code) and done is null"
        )
    }

    private func entry(for erasure: Erasure, isBanned: Bool) -> AuditRecord? {
        let more: JSONObject = isBanned ? ["banned": .bool(true)] : [:]
        return switch erasure {
        case .notOurs, .nobody, .blocked: nil
        case .identity(let user, _): entry("user.unlink", target: user, more)
        case .user(let user, _): entry("user.erase", target: user, more)
        }
    }

    /// Creates an audit log entry that names the request.
    ///
    /// It does not contain the subject (the user's id at the provider), since the log is kept for ever.
    private func entry(_ action: String, target: ObjectID?, _ more: JSONObject = [:]) -> AuditRecord {
        let request = JSONObject([.init("deletionRequest", .string(code))] + more.members)
        return AuditRecord(action, of: target?.description, in: application.id, to: .object(request))
    }
}
