package import Domain
import Postgres

extension Store {
    /// Changes an application's configuration in one transaction.
    ///
    /// The transaction locks and reads the application, asks `plan` for the steps, carries them out, writes one entry
    /// of the audit log for each step and raises the revision, which notifies every instance.
    ///
    /// Lock timeouts are short, since logins queue behind a change that waits for the users table. After a lock timeout
    /// the whole transaction is retried, with a new call of `plan`. After the last attempt it fails with `conflict`. A
    /// step also fails with `conflict` if the users table is so large that logins would wait for long. The failure then
    /// says what to do instead.
    ///
    /// An application with a database of its own needs two transactions, which are committed one after the other: see
    /// ``ChangeTransaction``. An empty database gets its tables before it gets its first application.
    ///
    /// All code takes locks in one order: the application's row, the users table, the application's other tables, and
    /// last the row of `federation.configuration`, which all applications share.
    ///
    /// - Parameters:
    ///   - id: The application.
    ///   - actor: The author of the change.
    ///   - keyID: The master key that encrypts the secrets of the steps; nil if there are no secrets.
    ///   - plan: Returns the steps, given the present application (nil if there is none) and the columns of its users
    ///     table. Without steps, nothing is written.
    /// - Returns: The changed application; nil if it was deleted or never existed.
    /// - Throws: `conflict`, `constraint_violation` or `value_not_convertible` with the obstacle, `store_unavailable`
    ///   and similar failures, `provider_misconfigured` for a master key that the database does not know, and the
    ///   errors of `plan`. Nothing has changed then, unless the message says what has.
    package func change(
        _ id: ApplicationID,
        by actor: ChangeAuthor,
        masterKey keyID: String? = nil,
        plan: @escaping @Sendable (StoredApplication?, [LiveColumn]) throws -> [PlannedChange]
    ) async throws -> StoredApplication? {
        var validated: [Requirement] = []
        do {
            while true {
                do {
                    let (changed, left) = try await withShortLocks { connection in
                        // This lock comes before all others. Otherwise it could deadlock with the end of a rotation,
                        // which forgets keys.
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

    /// Makes one attempt at a configuration change, within a transaction of the main database.
    ///
    /// - Returns: The application after the change, and the place (database and schema) where its users were before. If
    ///   the users have left a database of the application's own, because they were deleted or moved to the main
    ///   database, the place is set; otherwise it is nil.
    private func change(
        _ id: ApplicationID,
        by actor: ChangeAuthor,
        plan: @Sendable (StoredApplication?, [LiveColumn]) throws -> [PlannedChange],
        on connection: PostgresConnection
    ) async throws -> (changed: StoredApplication?, left: ApplicationPlace?) {
        try await Self.lock(id, on: connection)
        // This is a separate statement, since the one that waits for the lock sees other tables as they were before the
        // wait.
        let stored = try await connection.query(StoredApplication.statement(for: id)).first(by: StoredApplication.init)
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
                The tables of \(stored.id) are distributed by Citus. Undistribute them with citus_schema_undistribute \
                (docs/citus.md) before you copy them to another database.
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
            try await connection.execute(script: "set local lock_timeout = '\(Self.timeoutForRevision)'")
            changed = try await work.conclude(on: connection)
        } catch {
            // The users' transaction is committed. A retry would write its audit log entries again.
            throw Failure(
                .storeUnavailable,
                """
                The change was made in the database of \(id), but not yet in the configuration, because another change \
                locks it or the main database is not reachable. Repeat the change to finish it.
                """,
                retryAfter: 2,
                cause: "\(error)"
            )
        }
        return (changed, planned.contains(where: \.change.leavesOwnDatabase) ? stored?.place : nil)
    }

    /// Returns the columns of the users table.
    ///
    /// The result is empty if there is no table or its database is unavailable. Changes that do not concern users
    /// remain possible then.
    private func columns(
        of stored: StoredApplication?,
        on connection: PostgresConnection
    ) async throws -> [LiveColumn] {
        guard let stored else { return [] }
        let statement = LiveColumn.statement(ofSchema: stored.schema)
        guard stored.database != nil else {
            return try await connection.query(statement).all(into: LiveColumn.init)
        }
        do throws(PostgresError) {
            return try await tables(of: stored).query(statement).all(into: LiveColumn.init)
        } catch {
            // These errors mean that the database is unavailable.
            guard error.handling == .wait || error.handling == .dropConnection else { throw error }
            return []
        }
    }

    /// Locks the application's row; if there is none, locks its id against concurrent creation.
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
    /// Raises the configuration's revision and stores the new revision in the changed applications.
    ///
    /// The commit notifies every instance. This must be the last statement of its transaction: it locks the row of the
    /// revision, and no other transaction can change any application until the commit.
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
        return try raised.first(Int64.self, Timestamp.self) ?? (0, Timestamp(microseconds: 0))
    }
}

extension Store {
    /// How long a change waits for one lock.
    ///
    /// Logins queue behind a transaction that waits for an exclusive lock on their table, and give up after a second.
    private static let lockTimeout = "300ms"
    /// How long a change waits for the lock on the configuration's revision, after the transaction in the application's
    /// own database was committed.
    private static let timeoutForRevision = "5s"
    /// The maximum number of attempts at a change.
    ///
    /// All attempts together take eight seconds.
    private static let tries = 20

    /// The SQL that sets the session parameters of a transaction that changes the configuration.
    ///
    /// It makes constraints immediate. A deferred constraint that an operator created would leave pending trigger
    /// events on the users table, and PostgreSQL alters no table with such events.
    static var changeSettings: String {
        """
        set local lock_timeout = '\(Self.lockTimeout)'; set local client_min_messages = warning;
        set local timezone = 'UTC'; set local datestyle = 'ISO, MDY'; set local extra_float_digits = 1;
        set constraints all immediate
        """
    }

    /// Runs a transaction with short lock timeouts, and retries the whole transaction until it gets all locks.
    ///
    /// Inside the transaction, the text form of dates, times and numbers does not depend on settings of the role or the
    /// database.
    ///
    /// - Throws: `conflict` if the locks were not available; the errors of the closure, and `PostgresError`.
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
                // Queued logins proceed meanwhile. The wait is random, so that two changes do not collide again.
                try await Task.sleep(for: .milliseconds(Int.random(in: 50...150)))
            }
        }
        throw Failure(
            .conflict,
            """
            The application or its users table is locked by another change, a long transaction, a backup or a vacuum. \
            Nothing was changed. Try again later.
            """
        )
    }
}

/// One configuration change, which carries out its steps, writes their audit log entries and raises the revision.
private struct ChangeWork: Sendable {
    let application: ApplicationID
    let actor: ChangeAuthor
    let stored: StoredApplication?
    let planned: [PlannedChange]
    let isCitus: Bool

    /// Carries the steps out and writes the audit log.
    ///
    /// - Parameters:
    ///   - connection: A transaction of the main database.
    ///   - tables: A transaction of the database of the application's users; the same one if that is the main database.
    ///   - record: Commits the audit log entries in a transaction of their own; nil if the users are in the main
    ///     database. The entries are committed before the change in the users' database, since no committed change may
    ///     lack its entry.
    /// - Throws: The errors of the steps, and `PostgresError`.
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
            AuditRecord(step.action, of: step.target, in: application, from: step.from, to: step.to)
        }
        if let record { try await record(entries) } else { try await connection.record(entries, by: actor) }
    }

    /// Raises the revision, and returns the changed application.
    ///
    /// All applications share the row of the revision. If the users are in another database, the row is locked only
    /// after the commit in that database. So a database that hangs delays only the changes of its own applications.
    func conclude(on connection: PostgresConnection) async throws(PostgresError) -> StoredApplication? {
        let result = try await connection.query(StoredApplication.statement(for: application))
        var changed = try result.first(by: StoredApplication.init)
        let raised = try await connection.raiseRevision(of: [application])
        changed?.revision = raised.revision
        changed?.updated = raised.moment.milliseconds
        return changed
    }
}

/// The transaction of one configuration change, with the facts that its steps share.
///
/// A step writes the rows of `federation` first and touches the users table last, since logins wait from then on until
/// the commit.
struct ChangeTransaction {
    /// The transaction in the main database.
    let connection: PostgresConnection
    /// The transaction in the database of the application's users; the same one if that is the main database.
    ///
    /// It is committed just before `connection` raises the revision and commits. If the service dies between the two
    /// commits, the users table is ahead of the configuration. So every step on the users table must be idempotent.
    let tables: PostgresConnection
    let application: ApplicationID
    let actor: ChangeAuthor
    /// The application before the change; nil if there was none.
    let stored: StoredApplication?
    /// The database and schema of the application's users; nil while there is no application.
    var place: ApplicationPlace?
    /// The operator's table that holds the application's users; nil if the service's own table `users` holds them.
    private let adopted: String?
    /// Whether Citus distributes the tables of a new application in the main database.
    let isCitus: Bool
    let dynamicNames: Set<PropertyName>
    /// Whether this transaction has created the application.
    ///
    /// No user logs in to it before the commit.
    var isNew = false
    /// The properties that this transaction has declared.
    var declared: Set<PropertyName> = []
    /// The time until which this transaction may keep logins waiting; nil while it does not keep any waiting.
    private var waitEnds: ContinuousClock.Instant?

    /// How long a change may keep logins waiting.
    ///
    /// A login gives up after a second.
    private static let loginsWait = Duration.milliseconds(800)

    init(
        connection: PostgresConnection,
        tables: PostgresConnection,
        application: ApplicationID,
        actor: ChangeAuthor,
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

    /// Runs commands that keep logins waiting: they lock the users table, or many of its rows, until the commit.
    ///
    /// - Parameters:
    ///   - script: The commands.
    ///   - property: The property that the commands change.
    ///   - advice: What the operator can do if the table is too large for the commands.
    /// - Throws: A failure about the property, or `PostgresError`.
    mutating func exclusively(_ script: String, for property: PropertyName, orElse advice: String) async throws {
        try await exclusively(property, orElse: advice) { connection throws(PostgresError) in
            try await connection.execute(script: script)
        }
    }

    /// Runs a statement that writes rows and so keeps logins waiting.
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
            // At least 1, since 0 means no limit.
            limit = "set local statement_timeout = \(max(1, Int((end - now) / .milliseconds(1))))"
        }
        try await explaining(property, orElse: advice) { [limit] connection throws(PostgresError) in
            // This is sent separately, since Citus would pass a whole script on to the nodes.
            if let limit { try await connection.execute(script: limit) }
            try await body(connection)
        }
    }

    /// Returns whether a query about a property finds a row.
    ///
    /// If the query takes too long, the failure contains `advice`.
    func exists(_ question: Statement, for property: PropertyName, orElse advice: String) async throws -> Bool {
        try await explaining(property, orElse: advice) { connection throws(PostgresError) in
            try await connection.query(question).count > 0
        }
    }

    /// Runs a closure, and translates PostgreSQL's errors in it into failures about the property.
    private func explaining<Value>(
        _ property: PropertyName,
        orElse advice: String,
        _ body: (PostgresConnection) async throws(PostgresError) -> Value
    ) async throws -> Value {
        do { return try await body(tables) } catch {
            throw Self.refusal(of: error, about: property, in: try users(), advice: advice)
        }
    }

    /// Runs a statement that must affect exactly one row, and throws `internal` otherwise.
    ///
    /// The row exists, since the change was planned from it and the application's row has been locked since.
    func expectOne(_ statement: Statement, _ what: String) async throws {
        let result = try await connection.query(statement)
        guard result.affectedRows == 1 else {
            throw Failure(.internal, "The change does not fit the application: there is no \(what).")
        }
    }
}
