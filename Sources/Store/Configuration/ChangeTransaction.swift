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
    /// Where the application has a database of its own, there are two transactions, which are committed one behind the
    /// other: see ``ChangeTransaction``. An empty database is given its tables before it gets its first application.
    ///
    /// Locks are taken in one order by everybody: the application's row, the users table, the application's other
    /// tables, and last the row of `federation.configuration`, which all applications share.
    ///
    /// - Parameters:
    ///   - id: The application.
    ///   - actor: Who does it.
    ///   - keyID: The master key that secrets of the steps are sealed under; nil where none is.
    ///   - plan: Gets the application as it is, nil when there is none, and the columns of its live users table. What
    ///     it throws passes through, and nothing has changed then. No steps: nothing is written.
    /// - Returns: The application as it is afterwards; nil when it was deleted or never was.
    /// - Throws: `conflict`, `constraint_violation` or `value_not_convertible` with what stands in the way,
    ///   `store_unavailable` and its like, `provider_misconfigured` for a master key that the database does not know,
    ///   and what `plan` throws; nothing has changed then.
    package func change(
        _ id: ApplicationID,
        by actor: Actor,
        sealing keyID: String? = nil,
        plan: @escaping @Sendable (StoredApplication?, [LiveColumn]) throws -> [PlannedChange]
    ) async throws -> StoredApplication? {
        var validated: [Requirement] = []
        do {
            while true {
                do {
                    let (changed, left) = try await withShortLocks { connection in
                        // Before any other lock, or it could deadlock with the end of a rotation, which forgets keys.
                        if let keyID { try await connection.hold(masterKey: keyID) }
                        return try await change(id, by: actor, plan: plan, on: connection)
                    }
                    if let left { try await leave(left) }
                    return changed
                } catch let unprepared as UnpreparedDatabase {
                    try await prepare(unprepared)
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

    /// - Returns: The application as it is then, and the place of its own that its users are not in any more.
    private func change(
        _ id: ApplicationID,
        by actor: Actor,
        plan: @Sendable (StoredApplication?, [LiveColumn]) throws -> [PlannedChange],
        on connection: PostgresConnection
    ) async throws -> (changed: StoredApplication?, left: ApplicationPlace?) {
        try await Self.lock(id, on: connection)
        // A statement of its own: the one that waits for the lock sees the other tables as they were before the wait.
        let stored = try StoredApplication.all(in: try await connection.query(StoredApplication.statement(for: id)))
            .first
        if let column = stored?.unreadable.first { throw Failure.unreadable(column) }
        let planned = try plan(stored, try await columns(of: stored, on: connection))
        guard !planned.isEmpty else { return (stored, nil) }
        let work = ChangeWork(
            application: id,
            actor: actor,
            stored: stored,
            planned: planned,
            isCitus: try await databases.sharding.isThere()
        )
        guard planned.contains(where: { $0.change.touchesUsers(of: stored) }),
            let variable = planned.lazy.compactMap(\.change.otherDatabase).first ?? stored?.database
        else {
            let detour = try await tables(of: stored?.place).detour()
            try await work.carryOut(on: connection, connection.taking(detour))
            return (try await work.conclude(on: connection), nil)
        }
        let comes = planned.contains { $0.change.otherDatabase != nil }
        if comes, let stored, try await tables(of: stored).shards() != nil {
            throw Failure(
                .conflict,
                """
                Citus has the tables of \(stored.id). Take them back by citus_schema_undistribute (docs/citus.md) \
                before they are copied to another database.
                """
            )
        }
        try await withTables(
            at: variable,
            holding: comes ? nil : stored?.id,
            copied: comes ? stored?.schema : nil
        ) { tables in
            try await work.carryOut(on: connection, tables) { entries in
                try await databases.record(entries, by: actor)
            }
        }
        let changed: StoredApplication?
        do {
            try await connection.execute(script: "set local lock_timeout = '\(Self.patienceForRevision)'")
            changed = try await work.conclude(on: connection)
        } catch {
            // The users' commit is behind us. Nothing runs again by itself, or its entries would be written again.
            throw Failure(
                .storeUnavailable,
                """
                The change is made where the users of \(id) are, and the configuration does not say so yet, since \
                another change holds it or the main database is away. Repeat the change to finish it.
                """,
                retryAfter: 2,
                cause: "\(error)"
            )
        }
        return (changed, planned.contains(where: \.change.leavesOwnDatabase) ? stored?.place : nil)
    }

    /// The columns of the users table; none where there is none, and of a database that is away: what is not about
    /// users can be changed all the same.
    private func columns(
        of stored: StoredApplication?,
        on connection: PostgresConnection
    ) async throws -> [LiveColumn] {
        guard let stored else { return [] }
        let statement = LiveColumn.statement(ofSchema: stored.schema)
        guard stored.database != nil else { return try LiveColumn.all(in: try await connection.query(statement)) }
        do throws(PostgresError) {
            return try LiveColumn.all(in: try await tables(of: stored).query(statement))
        } catch {
            // Away, whether that is known already or not.
            guard error.handling == .wait || error.handling == .dropConnection else { throw error }
            return []
        }
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
    /// How long a change waits for the configuration's revision whose users are committed already.
    private static let patienceForRevision = "5s"
    /// How often a change is tried before it gives up: for eight seconds in all.
    private static let tries = 20

    /// What a transaction of a change sets for itself.
    ///
    /// A deferred constraint of the operator's own would leave the users table with pending events, and so
    /// unchangeable.
    static var changeSettings: String {
        """
        set local lock_timeout = '\(Self.lockPatience)'; set local client_min_messages = warning;
        set local timezone = 'UTC'; set local datestyle = 'ISO, MDY'; set local extra_float_digits = 1;
        set constraints all immediate
        """
    }

    /// Runs a transaction that waits only shortly for each lock, all of it anew until it has got them all.
    ///
    /// Texts of dates, moments and numbers are read and written in one form, whatever the role or the database has set.
    ///
    /// - Throws: `conflict` when the locks were not to be had; what the closure throws, and `PostgresError`.
    func withShortLocks<Result: Sendable>(
        in tables: Tables? = nil,
        _ body: @Sendable (PostgresConnection) async throws -> Result
    ) async throws -> Result {
        let tables = tables ?? configuration
        for attempt in 1...Self.tries {
            do {
                return try await tables.withTransaction { connection in
                    try await connection.execute(script: Self.changeSettings)
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

/// The steps of one change, with all that is written beside them.
private struct ChangeWork: Sendable {
    let application: ApplicationID
    let actor: Actor
    let stored: StoredApplication?
    let planned: [PlannedChange]
    let isCitus: Bool

    /// Does the steps, and writes the audit log.
    ///
    /// - Parameters:
    ///   - connection: In a transaction of the main database.
    ///   - tables: In one of the database that the application's users are in; the same where that is the main one.
    ///   - record: Commits the entries of the audit log by itself: where there are two transactions the users' one ends
    ///     first, and nothing happens to users without its entry. Nil where one transaction has all.
    /// - Throws: What a step throws, and `PostgresError`.
    func carryOut(
        on connection: PostgresConnection,
        _ tables: PostgresConnection,
        recordingBy record: (([AuditRecord]) async throws -> Void)? = nil
    ) async throws {
        var adopted: String?
        if let stored, stored.database == nil { adopted = try await connection.adoptedTable(ofSchema: stored.schema) }
        var transaction = ChangeTransaction(
            connection: connection,
            tables: tables,
            application: application,
            actor: actor,
            stored: stored,
            adopted: adopted,
            isCitus: isCitus
        )
        for step in planned { try await transaction.perform(step.change) }
        let entries = planned.map { step in
            AuditRecord(
                application: application,
                action: step.action,
                target: step.target,
                from: step.from,
                to: step.to
            )
        }
        if let record { try await record(entries) } else { try await connection.record(entries, by: actor) }
    }

    /// Raises the revision, whose row is everybody's: behind the commit of the users' transaction where that is one of
    /// its own, so that a database that hangs there holds up nobody's configuration but its applications'.
    ///
    /// - Returns: The application as it is then.
    func conclude(on connection: PostgresConnection) async throws(PostgresError) -> StoredApplication? {
        let result = try await connection.query(StoredApplication.statement(for: application))
        var changed = try StoredApplication.all(in: result).first
        let raised = try await connection.raiseRevision(of: [application])
        changed?.revision = raised.revision
        changed?.updated = raised.moment.milliseconds
        return changed
    }
}

/// The transaction of one change: what its steps need to know of the application and of each other.
///
/// Within a step the rows of `federation` are written first and the users table is touched last, since logins wait from
/// then on until the commit.
struct ChangeTransaction {
    /// In the main database.
    let connection: PostgresConnection
    /// In the database that the application's users are in; the same one where that is the main database.
    ///
    /// Its transaction is committed when that of `connection` has done all but to raise the revision and its commit.
    /// When the service dies between both, the users table is ahead of the configuration: so every step about it does
    /// no harm twice.
    let tables: PostgresConnection
    let application: ApplicationID
    let actor: Actor
    /// The application as it was before; nil when there was none.
    let stored: StoredApplication?
    /// Where the application's users are; nil while there is no application.
    var place: ApplicationPlace?
    /// The table that they are in where it was there before the application.
    private let adopted: String?
    /// Whether a new application's tables in the main database are given to Citus.
    let isCitus: Bool
    let dynamicNames: Set<PropertyName>
    /// Whether this transaction has made the application, so that nobody logs in to it yet.
    var isNew = false
    /// Properties that this transaction has declared.
    var declared: Set<PropertyName> = []
    /// When logins will have waited for as long as they may.
    private var waitEnds: ContinuousClock.Instant?

    /// How long logins may be kept waiting by a change: they give up after a second.
    private static let loginsWait = Duration.milliseconds(800)

    init(
        connection: PostgresConnection,
        tables: PostgresConnection,
        application: ApplicationID,
        actor: Actor,
        stored: StoredApplication?,
        adopted: String?,
        isCitus: Bool
    ) {
        self.connection = connection
        self.tables = tables
        self.application = application
        self.actor = actor
        self.stored = stored
        self.adopted = adopted
        self.isCitus = isCitus
        place = stored?.place
        dynamicNames = stored?.dynamicNames ?? []
    }

    /// Does one step.
    mutating func perform(_ change: ConfigurationChange) async throws {
        if case .create(let name, let schema, let database, let settings) = change {
            let place = ApplicationPlace(id: application, schema: schema, database: database)
            return try await create(name: name, at: place, settings: settings)
        }
        let users = try users()
        switch change {
        case .create: break
        case .rename(let name): try await rename(to: name)
        case .changeSettings(let settings): try await changeSettings(settings)
        case .nameVariables(let names): try await nameVariables(names)
        case .move(let database): try await move(to: database, from: users)
        case .delete: try await delete(users.place)
        case .addKey(let label, let hash, let server): try await addKey(label: label, hash: hash, server: server)
        case .replaceKey(let label, let hash): try await replaceKey(label: label, hash: hash)
        case .relabelKey(let from, let to): try await relabelKey(from: from, to: to)
        case .changeKey(let label, let server): try await changeKey(label: label, server: server)
        case .revokeKey(let label): try await revokeKey(label: label)
        case .setProvider(let provider, let kind, let enabled, let options):
            try await setProvider(provider, kind: kind, enabled: enabled, options: options)
        case .setProviderApps(let provider, let apps): try await setApps(apps, of: provider)
        case .removeProvider(let provider): try await removeProvider(provider)
        case .declareProperty(let property): try await declare(property, in: users)
        case .renameProperty(let from, let to): try await renameProperty(from: from, to: to, in: users)
        case .widenProperty(let name, let type): try await widen(name, to: type, in: users)
        case .changeProperty(let property): try await changeProperty(property, in: users)
        case .indexProperty(let name, let indexed): try await indexProperty(name, indexed)
        case .removeProperty(let name): try await removeProperty(name, in: users)
        case .orderProperties(let names): try await orderProperties(names)
        case .setMapping(let provider, let document): try await setMapping(document, for: provider)
        }
    }

    private func users() throws(Failure) -> UsersTable {
        guard let place else { throw Failure(.notFound, "There is no application \(application).") }
        return UsersTable(of: place, adopted: adopted)
    }

    /// Runs commands that keep logins waiting: those that lock the users table, or many of its rows, until the commit.
    ///
    /// - Parameters:
    ///   - script: The commands.
    ///   - property: What they are about.
    ///   - advice: What to do when the table is too large for them.
    /// - Throws: A failure about the property, or `PostgresError`.
    mutating func exclusively(_ script: String, for property: PropertyName, orElse advice: String) async throws {
        try await exclusively(property, orElse: advice) { connection throws(PostgresError) in
            try await connection.execute(script: script)
        }
    }

    /// The same for one statement that writes rows.
    mutating func exclusively(_ rows: Statement, for property: PropertyName, orElse advice: String) async throws {
        try await exclusively(property, orElse: advice) { connection throws(PostgresError) in
            _ = try await connection.query(rows)
        }
    }

    private mutating func exclusively(
        _ property: PropertyName,
        orElse advice: String,
        _ body: (PostgresConnection) async throws(PostgresError) -> Void
    ) async throws {
        var limit: String?
        if !isNew {
            let now = ContinuousClock.now
            let end = waitEnds ?? now + Self.loginsWait
            waitEnds = end
            // At least 1, since 0 is no limit at all.
            limit = "set local statement_timeout = \(max(1, Int((end - now) / .milliseconds(1))))"
        }
        try await explaining(property, orElse: advice) { [limit] connection throws(PostgresError) in
            // By itself: of a script Citus would hand all to the nodes.
            if let limit { try await connection.execute(script: limit) }
            try await body(connection)
        }
    }

    /// Whether a question about a property is answered by a row.
    func exists(_ question: Statement, for property: PropertyName, orElse advice: String) async throws -> Bool {
        try await explaining(property, orElse: advice) { connection throws(PostgresError) in
            try await connection.query(question).count > 0
        }
    }

    /// Turns what PostgreSQL refuses into words about the property.
    private func explaining<Value>(
        _ property: PropertyName,
        orElse advice: String,
        _ body: (PostgresConnection) async throws(PostgresError) -> Value
    ) async throws -> Value {
        do { return try await body(tables) } catch {
            throw Self.refusal(of: error, about: property, in: try users(), advice: advice)
        }
    }

    /// Runs a statement that has to find what it changes: the plan was made from what it finds, under lock.
    func expectOne(_ statement: Statement, _ what: String) async throws {
        let result = try await connection.query(statement)
        guard result.affectedRows == 1 else {
            throw Failure(.internal, "The change does not fit the application: there is no \(what).")
        }
    }
}
