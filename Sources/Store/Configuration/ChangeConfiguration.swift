import Postgres
package import Vocabulary

extension Store {
    /// Changes an application in one transaction: reads it under lock, asks what to do, does it, writes one entry of
    /// the audit log for each step and raises the revision, which every instance hears of.
    ///
    /// Locks are waited for only shortly, so that logins never queue behind a change of the users table; when they are
    /// not to be had the whole transaction runs again, `plan` included, and at last fails with `conflict`. A step that
    /// would keep logins waiting for long, because the users table is large, fails with `conflict`, too, and says what
    /// to do instead.
    ///
    /// Locks are taken in one order by everybody: the application's row, the users table, the application's other
    /// tables, and last the row of `federation.configuration`, which all applications share.
    ///
    /// - Parameters:
    ///   - id: The application.
    ///   - actor: Who does it.
    ///   - plan: Gets the application as it is, nil when there is none, and the columns of its live users table. What
    ///     it throws passes through, and nothing has changed then. No steps: nothing is written.
    /// - Returns: The application as it is afterwards; nil when it was deleted or never was.
    /// - Throws: `conflict`, `constraint_violation` or `value_not_convertible` with what stands in the way,
    ///   `store_unavailable` and its like, and what `plan` throws; nothing has changed then.
    package func change(
        _ id: ApplicationID,
        by actor: Actor,
        plan: @escaping @Sendable (StoredApplication?, [LiveColumn]) throws -> [PlannedChange]
    ) async throws -> StoredApplication? {
        var validated: [Requirement] = []
        do {
            while true {
                do {
                    return try await withShortLocks { connection in
                        try await Self.change(id, by: actor, plan: plan, on: connection)
                    }
                } catch let requirement as Requirement where !validated.contains(requirement) {
                    validated.append(requirement)
                    try await validate(requirement)
                }
            }
        } catch {
            await withdraw(validated)
            throw await changeFailure(of: error)
        }
    }

    private static func change(
        _ id: ApplicationID,
        by actor: Actor,
        plan: @Sendable (StoredApplication?, [LiveColumn]) throws -> [PlannedChange],
        on connection: PostgresConnection
    ) async throws -> StoredApplication? {
        try await lock(id, on: connection)
        // A statement of its own: the one that waits for the lock sees the other tables as they were before the wait.
        let stored = try StoredApplication.all(in: try await connection.query(StoredApplication.statement(for: id)))
            .first
        var columns: [LiveColumn] = []
        if let stored {
            if let column = stored.unreadable.first { throw Failure.unreadable(column) }
            columns = try LiveColumn.all(in: try await connection.query(LiveColumn.statement(ofSchema: stored.schema)))
        }
        let planned = try plan(stored, columns)
        guard !planned.isEmpty else { return stored }

        var transaction = ChangeTransaction(connection: connection, application: id, actor: actor, stored: stored)
        for step in planned { try await transaction.perform(step.change) }
        try await connection.log(planned, of: id, by: actor)
        var changed = try StoredApplication.all(in: try await connection.query(StoredApplication.statement(for: id)))
            .first
        let raised = try await connection.raiseRevision(of: [id])
        changed?.revision = raised.revision
        changed?.updated = raised.moment.milliseconds
        return changed
    }

    /// Locks the application's row; where there is none, its id against others who would make one.
    private static func lock(_ id: ApplicationID, on connection: PostgresConnection) async throws {
        let row: Statement = "select from federation.applications where id = \(id.text) for update"
        guard try await connection.query(row).count == 0 else { return }
        _ = try await connection.query(
            "select pg_advisory_xact_lock(hashtextextended(\("federation application " + id.text), 0))"
        )
        _ = try await connection.query(row)
    }
}

extension PostgresConnection {
    /// Writes one entry of the audit log for each step.
    fileprivate func log(
        _ planned: [PlannedChange],
        of application: ApplicationID,
        by actor: Actor
    ) async throws(PostgresError) {
        let entries = planned.map { step in
            AuditRecord(
                application: application,
                action: step.action,
                target: step.target,
                from: step.from,
                to: step.to
            )
        }
        try await record(entries, by: actor)
    }

    /// Raises the configuration's revision, which every instance hears of at the commit, and notes it with the
    /// applications.
    ///
    /// The last statement of its transaction: until the commit nobody else can change any application.
    func raiseRevision(
        of applications: [ApplicationID]
    ) async throws(PostgresError) -> (revision: Int64, moment: Timestamp) {
        let ids = applications.map(\.text)
        let raised = try await query(
            """
            with raised as (
                update federation.configuration set revision = revision + 1 returning revision
            ), noted as (
                update federation.applications a set revision = raised.revision, updated = now()
                from raised where a.id = any (\(ids))
            )
            select revision, now() from raised
            """
        )
        guard let row = raised.first else { return (0, Timestamp(microseconds: 0)) }
        return (try row.decode(0, as: Int64.self), try row.decode(1, as: Timestamp.self))
    }
}

extension Store {
    /// How long a change waits for one lock.
    ///
    /// Logins queue behind whoever waits for an exclusive lock on their table, and give up after a second.
    private static let lockPatience = "300ms"
    /// How often a change is tried before it gives up: for eight seconds in all.
    private static let tries = 20

    /// Runs a transaction that waits only shortly for each lock, all of it anew until it has got them all.
    ///
    /// Texts of dates, moments and numbers are read and written in one form, whatever the role or the database has set.
    ///
    /// - Throws: `conflict` when the locks were not to be had; what the closure throws, and `PostgresError`.
    func withShortLocks<Result: Sendable>(
        _ body: @Sendable (PostgresConnection) async throws -> Result
    ) async throws -> Result {
        // A deferred constraint of the operator's own would leave the users table with pending events, and so
        // unchangeable.
        let settings = """
            set local lock_timeout = '\(Self.lockPatience)'; set local client_min_messages = warning;
            set local timezone = 'UTC'; set local datestyle = 'ISO, MDY'; set local extra_float_digits = 1;
            set constraints all immediate
            """
        for attempt in 1...Self.tries {
            do {
                return try await postgres.withTransaction { connection in
                    try await connection.execute(script: settings)
                    return try await body(connection)
                }
            } catch let error as PostgresError where error.sqlState == "55P03" {
                guard attempt < Self.tries else { break }
                // Meanwhile the logins that queued go on. Two changes that met shall not meet again.
                try await Task.sleep(for: .milliseconds(Int.random(in: 50...150)))
            }
        }
        throw Failure(
            .conflict,
            """
            The application or its users table is in use: another change, a long transaction, a backup or a vacuum holds it. \
            Nothing has changed. Try again when that has ended.
            """
        )
    }
}
