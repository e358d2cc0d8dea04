package import Domain
import Encodings
import Postgres

/// A change that an operator makes to a user.
package enum UserChange: Sendable {
    /// Sets the user's status; disabling also revokes the user's sessions.
    case setStatus(UserStatus)
    /// Sets properties other than the e-mail address and the login name.
    ///
    /// Those two have a change of their own (``UserUpdate``).
    case setProperties(GivenProperties)
    case endSessions
    case endSession(id: String)
    /// Gives the user an identity that no user has, and that is not banned by this hash.
    case link(IdentityKey, banHash: [UInt8])
    /// Removes an identity that the user has, and revokes the sessions that it opened.
    case unlink(provider: String, app: String, subject: String)
    /// Removes one second factor, or all.
    ///
    /// No reversal link can restore the factors. The notices are queued in the same transaction. Recovery codes are
    /// removed with the last other factor.
    case removeFactors(only: ObjectID?, telling: [Notice])
    case giveRole(String)
    case takeRole(String)
    /// Makes the changes of a Firebase administrator beyond the record.
    case setAccount(AccountSettings)
    /// Deletes the user with all dependent rows, and bans the identities of a disabled user by their hashes.
    ///
    /// The notices are sent although the user is deleted.
    case erase(banningBy: IdentityHasher, telling: [Notice] = [])
}

/// A function that returns the changes of a user as stored, in the order in which they are made.
///
/// If the function throws, nothing is changed, and the error is rethrown.
package typealias UserChangePlan = @Sendable (StoredUser) throws -> [UserChange]

/// A user after a change.
package struct ChangedUser: Sendable {
    /// The user with all stored data after the change; nil if the user was erased.
    package let stored: StoredUser?
    /// The removed identities with their stored tokens.
    ///
    /// A token can be used once more, to remove the app's permissions.
    package let tokens: [KeptIdentity]
    /// Whether the change was written to the audit log; false if nothing changed.
    package let isRecorded: Bool
}

extension Store {
    /// Changes a user in one transaction: locks and reads the user, applies the plan, writes the audit log.
    ///
    /// The user's row is locked before dependent rows, as in a login (see `LoginStatement`). So a login of the user has
    /// finished before the lock is acquired, or it waits and sees the outcome.
    ///
    /// - Parameters:
    ///   - id: The user.
    ///   - application: The application of the user.
    ///   - actor: The author of the change, for the audit log.
    ///   - plan: Returns the change for the user as stored; nil for no change. Its errors are rethrown, and nothing is
    ///     changed.
    /// - Returns: The user after the change, and the removed tokens.
    /// - Throws: `not_found` when there is no such user, `conflict` when rows of other tables forbid the erasure,
    ///   `identity_taken` and `conflict` for an identity that the user cannot get, `property_missing`,
    ///   `constraint_violation` and similar failures when the table rejects a property's value.
    package func change(
        _ id: ObjectID,
        of application: Application,
        by actor: ChangeAuthor,
        plan: @escaping @Sendable (StoredUser) throws -> UserChange?
    ) async throws -> ChangedUser {
        try await change(id, of: application, by: actor, plans: [{ try plan($0).map { [$0] } ?? [] }])
    }

    /// Makes several changes of a user in one transaction.
    ///
    /// Each plan gets the user as the former plans have left it. See ``change(_:of:by:plan:)``.
    package func change(
        _ id: ObjectID,
        of application: Application,
        by actor: ChangeAuthor,
        plans: [UserChangePlan]
    ) async throws -> ChangedUser {
        let reader = UserReader(application: application)
        let work = UserChangeWork(id: id, application: application)
        do {
            let tables = tables(of: application)
            return try await tables.withTransaction { connection in
                @Sendable func current() async throws -> StoredUser? {
                    try await Answer(result: connection.query(reader.statement(for: id))).first(by: reader.stored)
                }
                _ = try await connection.query(work.lock)
                guard let before = try await current() else { throw Failure.noSuchUser }
                var changed = ChangedUser(stored: before, tokens: [], isRecorded: false)
                var entries: [AuditRecord] = []
                for plan in plans {
                    guard let planned = try changed.stored.map(plan) else { break }
                    for change in planned {
                        guard let stored = changed.stored else { break }
                        let tokens = try await work.tokens(lostBy: change, connection)
                        let former =
                            change.isErasure
                            ? try await connection.mergedUsers(into: [id], schema: application.schema) : []
                        guard let entry = try await work.carryOut(change, on: stored, connection) else { continue }
                        changed = ChangedUser(
                            stored: try await current(),
                            tokens: changed.tokens + tokens,
                            isRecorded: true
                        )
                        if changed.stored == nil {
                            try await tables.forgetLogins(of: [id] + former, in: application.id, with: connection)
                        }
                        entries.append(entry)
                    }
                }
                if !entries.isEmpty { try await tables.record(entries, by: actor, with: connection) }
                return changed
            }
        } catch let error as PostgresError {
            if case .server(let refusal) = error, ["23503", "23001"].contains(refusal.sqlState) {
                throw Self.stillReferred(by: refusal)
            }
            if let failure = await userWriteFailure(of: error, in: application) { throw failure }
            throw await failure(of: error, in: application)
        }
    }

    /// Returns the failure of an erasure if rows of another table, such as one of the operator's, refer to the user.
    private static func stillReferred(by refusal: ServerError) -> Failure {
        let table = [refusal.schema, refusal.table].compactMap(\.self).joined(separator: ".")
        return Failure(
            .conflict,
            """
            Rows of the table \(table) refer to this user. Delete them, or let their foreign key do so, and try again.
            """,
            details: ["table": .string(table), "constraint": .string(refusal.constraint ?? "")]
        )
    }
}

extension Failure {
    /// The failure for every id that is no user of the application, whatever else has this id (T-117).
    package static let noSuchUser = Failure(.notFound, "This user does not exist in this application.")
}

/// Carries out one change of a user.
private struct UserChangeWork: Sendable {
    let id: ObjectID
    let application: Application

    private var schema: String { application.schema }

    var lock: Statement {
        "select from \(identifier: schema).users where object_id = \(id.uuid) for update"
    }

    /// Returns the provider tokens stored with the identities that a change removes.
    func tokens(
        lostBy change: UserChange,
        _ connection: PostgresConnection
    ) async throws(PostgresError) -> [KeptIdentity] {
        switch change {
        case .setStatus, .setProperties, .endSessions, .endSession, .link, .removeFactors, .giveRole, .takeRole,
            .setAccount:
            return []
        case .unlink(let provider, let app, let subject):
            let identity = IdentityKey(provider: provider, app: app, subject: subject)
            return try await connection.keptIdentities(of: id, schema: schema).filter { $0.key == identity }
        case .erase: return try await connection.keptIdentities(of: id, schema: schema)
        }
    }

    /// Carries out the change.
    ///
    /// - Returns: The audit log's entry; nil when nothing changed.
    func carryOut(
        _ change: UserChange,
        on stored: StoredUser,
        _ connection: PostgresConnection
    ) async throws -> AuditRecord? {
        switch change {
        case .setStatus(let status): return try await set(status, of: stored, connection)
        case .setProperties(let given):
            let assignments = UserAssignments(given)
            let set = try await connection.query(
                """
                update \(identifier: schema).users u set \(assignments.statement) where u.object_id = \(id.uuid)
                """
            )
            let names = given.values.map { JSONValue.string($0.property.name.text) }
            return entry("user.update", if: set, to: .object(["properties": .array(names)]))
        case .endSessions: return try await endSessions(of: stored, connection)
        case .endSession(let session):
            let ended = try await connection.query(
                application.ending(
                    sessions: "s.object_id = \(id.uuid) and \(unsafeRaw: UserReader.sessionID) = \(session)"
                )
            )
            return entry("user.session.end", if: ended, from: .object(["session": .string(session)]))
        case .link(let identity, let banHash):
            return try await link(identity, unlessBannedBy: banHash, to: stored, connection)
        case .unlink(let provider, let app, let subject):
            let way = StoredLoginMethod(provider: provider, app: app, subject: subject)
            guard try await connection.remove(way, of: id, sparing: [], schema: schema) else { return nil }
            return AuditRecord("user.unlink", of: id.description, in: application.id, from: way.json)
        case .removeFactors(let factor, let notices):
            return try await removeFactors(only: factor, telling: notices, connection)
        case .giveRole(let role):
            let given = try await connection.query(
                """
                insert into \(identifier: schema).user_roles (object_id, role) values (\(id.uuid), \(role))
                on conflict do nothing
                """
            )
            return entry("user.role.give", if: given, to: .string(role))
        case .takeRole(let role):
            let taken = try await connection.query(
                "delete from \(identifier: schema).user_roles where object_id = \(id.uuid) and role = \(role)"
            )
            return entry("user.role.take", if: taken, from: .string(role))
        case .setAccount(let settings):
            let names = try await connection.set(settings, of: id, in: application)
            guard !names.isEmpty else { return nil }
            let properties = JSONValue.array(names.map(JSONValue.string))
            return AuditRecord(
                "user.update",
                of: id.description,
                in: application.id,
                to: .object(["properties": properties])
            )
        case .erase(let hash, let notices):
            for notice in notices { _ = try await connection.enqueue(notice, to: nil, of: application) }
            let identities = stored.identities.compactMap(\.key)
            try await connection.forgetRemoval(of: identities, schema: schema)
            let isBanned = try await connection.ban(identities, of: id, in: application, by: hash)
            try await connection.endAccess(
                of: """
                    select provider, provider_app, subject from \(identifier: schema).identities
                    where object_id = \(id.uuid)
                    """,
                at: nil,
                schema: schema
            )
            try await connection.forgetInvitations(of: id, schema: schema)
            let erased = try await connection.query(
                "delete from \(identifier: schema).users where object_id = \(id.uuid)"
            )
            return entry("user.erase", if: erased, to: isBanned ? .object(["banned": .bool(true)]) : nil)
        }
    }

    private func set(
        _ status: UserStatus,
        of stored: StoredUser,
        _ connection: PostgresConnection
    ) async throws(PostgresError) -> AuditRecord? {
        guard status != stored.user.status else {
            // SQL may have disabled the user without an end of the sessions, which would be valid once the user is
            // enabled.
            return status == .disabled ? try await endSessions(of: stored, connection) : nil
        }
        let set = try await connection.query(
            "update \(identifier: schema).users set user_status = \(status.rawValue) where object_id = \(id.uuid)"
        )
        if status == .disabled {
            try await connection.endSessions(of: id, schema: schema)
        } else {
            // A user may have a ban of one identity, which was erased at its provider's request while another kept the
            // account.
            _ = try await connection.liftBans(of: id, schema: schema)
        }
        return entry(
            status == .disabled ? "user.disable" : "user.enable",
            if: set,
            from: .string(stored.user.status.rawValue),
            to: .string(status.rawValue)
        )
    }

    /// Gives the user an identity.
    ///
    /// As in an import, the identity is as old as its user. The author of the change has chosen it, so the undo of a
    /// later change must not take it for one that a thief has added (`restoreIdentities`).
    ///
    /// - Throws: `identity_taken` for the identity of another user; `conflict` for a guest, for a banned identity, and
    ///   for a second identity at one app. Nothing is changed then.
    private func link(
        _ identity: IdentityKey,
        unlessBannedBy banHash: [UInt8],
        to stored: StoredUser,
        _ connection: PostgresConnection
    ) async throws -> AuditRecord? {
        let own = stored.identities.compactMap(\.key)
        guard !own.contains(identity) else { return nil }
        guard stored.user.status != .guest else {
            throw Failure(.conflict, "This user is a guest. A guest gets an identity only by a login.")
        }
        let linked = try await connection.query(
            """
            insert into \(identifier: schema).identities
                (provider, provider_app, subject, object_id, created, last_used)
            select \(identity.provider.text), \(identity.app.text), \(identity.subject.text), u.object_id,
                coalesce(u.created, now()), coalesce(u.last_login, u.created, now())
            from \(identifier: schema).users u where u.object_id = \(id.uuid)
            on conflict (provider, provider_app, subject) do nothing
            """
        )
        guard let record = entry("user.link", if: linked, to: StoredLoginMethod(identity).json) else {
            throw Failure(.identityTaken, "This identity belongs to another user. Unlink it there first.")
        }
        guard try await !connection.isBanned(banHash, schema: schema) else {
            throw Failure(
                .conflict,
                "This identity is banned: a disabled user was erased here. An operator can lift the ban."
            )
        }
        guard !own.contains(where: { $0.provider == identity.provider && $0.app == identity.app }) else {
            throw Failure(.conflict, "This user has another identity of this provider. Unlink it first.")
        }
        return record
    }

    /// Deletes one factor or all for good, including removed ones that a reversal link could restore.
    ///
    /// Recovery codes are deleted with the last other factor, and reversal links are revoked.
    private func removeFactors(
        only factor: ObjectID?,
        telling notices: [Notice],
        _ connection: PostgresConnection
    ) async throws(PostgresError) -> AuditRecord? {
        let which: Statement = factor.map { "id = \($0.uuid)" } ?? "true"
        var removed = try await connection.deleteFactors(of: id, where: which, schema: schema)
        if try await !connection.factorKinds(of: id, schema: schema).contains(where: \.standsAlone) {
            removed += try await connection.deleteFactors(of: id, where: "removed is null", schema: schema)
        }
        guard !removed.isEmpty else { return nil }
        // A reversal link requires a factor that is older than the reversed change. Without such a factor it would
        // require none.
        _ = try await connection.query(
            "delete from \(identifier: schema).email_proofs where object_id = \(id.uuid) and purpose = 'reversal'"
        )
        for notice in notices { _ = try await connection.enqueue(notice, to: id, of: application) }
        return AuditRecord(
            "user.factor.remove",
            of: id.description,
            in: application.id,
            from: .object(["factors": .array(removed)])
        )
    }

    private func endSessions(
        of stored: StoredUser,
        _ connection: PostgresConnection
    ) async throws(PostgresError) -> AuditRecord? {
        guard try await connection.endSessions(of: id, schema: schema) > 0 else { return nil }
        return AuditRecord("user.sessions.end", of: id.description, in: application.id)
    }

    /// Returns an audit log entry, or nil if the statement changed nothing.
    private func entry(
        _ action: String,
        if result: ResultSet,
        from: JSONValue? = nil,
        to: JSONValue? = nil
    ) -> AuditRecord? {
        guard let rows = result.affectedRows, rows > 0 else { return nil }
        return AuditRecord(action, of: id.description, in: application.id, from: from, to: to)
    }
}

extension UserChange {
    fileprivate var isErasure: Bool { if case .erase = self { true } else { false } }
}

extension StoredLoginMethod {
    fileprivate init(_ identity: IdentityKey) {
        self.init(provider: identity.provider.text, app: identity.app.text, subject: identity.subject.text)
    }

    /// The login method in an entry of the audit log.
    fileprivate var json: JSONValue {
        .object(["provider": .string(provider), "appId": .string(app), "subject": .string(subject)])
    }
}

extension StoredUser.Identity {
    /// The identity's key; nil if the provider, the app or the subject is malformed.
    fileprivate var key: IdentityKey? { IdentityKey(provider: provider, app: app, subject: subject) }
}
