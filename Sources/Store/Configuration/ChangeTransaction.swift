import Postgres
package import Vocabulary

/// The transaction of one change: what its steps need to know of the application and of each other.
///
/// Within a step the rows of `federation` are written first and the users table is touched last, since logins wait from
/// then on until the commit.
struct ChangeTransaction {
    let connection: PostgresConnection
    let application: ApplicationID
    let actor: Actor
    /// The PostgreSQL schema of the application's users; nil while there is no application.
    var schema: String?
    let dynamicNames: Set<PropertyName>
    /// Whether this transaction has made the application, so that nobody logs in to it yet.
    var isNew = false
    /// Properties that this transaction has declared.
    var declared: Set<PropertyName> = []
    /// When logins will have waited for as long as they may.
    private var waitEnds: ContinuousClock.Instant?

    /// How long logins may be kept waiting by a change: they give up after a second.
    private static let loginsWait = Duration.milliseconds(800)

    init(connection: PostgresConnection, application: ApplicationID, actor: Actor, stored: StoredApplication?) {
        self.connection = connection
        self.application = application
        self.actor = actor
        schema = stored?.schema
        dynamicNames = stored?.dynamicNames ?? []
    }

    /// Does one step.
    mutating func perform(_ change: ConfigurationChange) async throws {
        if case .create(let name, let schema, let settings) = change {
            return try await create(name: name, schema: schema, settings: settings)
        }
        let users = try users()
        switch change {
        case .create: break
        case .rename(let name): try await rename(to: name)
        case .changeSettings(let settings): try await changeSettings(settings)
        case .delete: try await delete(schema: users.schema)
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
        case .changeProperty(let name, let required, let clientMappable):
            try await changeProperty(name, required: required, clientMappable: clientMappable, in: users)
        case .removeProperty(let name): try await removeProperty(name, in: users)
        case .orderProperties(let names): try await orderProperties(names)
        case .setMapping(let provider, let document): try await setMapping(document, for: provider)
        }
    }

    private func users() throws(Failure) -> UsersTable {
        guard let schema else { throw Failure(.notFound, "There is no application \(application).") }
        return UsersTable(schema: schema)
    }

    /// Runs commands that keep logins waiting: those that lock the users table, or many of its rows, until the commit.
    ///
    /// - Parameters:
    ///   - script: The commands.
    ///   - property: What they are about.
    ///   - advice: What to do when the table is too large for them.
    /// - Throws: A failure about the property, or `PostgresError`.
    mutating func exclusively(_ script: String, for property: PropertyName, orElse advice: String) async throws {
        var limit = ""
        if !isNew {
            let now = ContinuousClock.now
            let end = waitEnds ?? now + Self.loginsWait
            waitEnds = end
            // At least 1, since 0 is no limit at all.
            limit = "set local statement_timeout = \(max(1, Int((end - now) / .milliseconds(1)))); "
        }
        try await explaining(property, orElse: advice) { connection throws(PostgresError) in
            try await connection.execute(script: limit + script)
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
        do { return try await body(connection) } catch {
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

/// One step of a change of an application's configuration; the vocabulary of everything that operators can do to one.
package enum ConfigurationChange: Sendable {
    /// Makes the application and its PostgreSQL schema. Stands in front of all other steps.
    case create(name: String, schema: String, settings: JSONValue)
    case rename(String)
    case changeSettings(JSONValue)
    /// Removes the application, its PostgreSQL schema and everything in it. Stands alone.
    case delete

    /// A server's key may do what concerns other users than the session's own.
    case addKey(label: String, hash: [UInt8], server: Bool)
    case replaceKey(label: String, hash: [UInt8])
    case relabelKey(from: String, to: String)
    /// Says whether the key is a server's.
    case changeKey(label: String, server: Bool)
    case revokeKey(label: String)

    /// Sets everything of a provider but its apps; makes it when there is none.
    case setProvider(ProviderName, kind: ProviderName, enabled: Bool, options: JSONValue)
    /// The apps that there shall be, in the order in which they are asked.
    case setProviderApps(ProviderName, [App])
    case removeProvider(ProviderName)

    /// Adds the column, behind the others; values that clients brought in under the name move into it. Where the
    /// operator made a column of the name and of the right type by hand, that one is taken.
    case declareProperty(Property)
    /// Renames the column; what the mapping wrote last of it (`untilEdited`) follows.
    case renameProperty(from: PropertyName, to: PropertyName)
    /// Gives the column another type that holds every value of the old one.
    case widenProperty(PropertyName, to: PropertyType)
    /// Changes who may write it and whether it is required: NOT NULL of its column.
    case changeProperty(PropertyName, required: Bool, clientMappable: Bool)
    /// Drops the column.
    case removeProperty(PropertyName)
    /// The order of the declared properties in documents and replies.
    case orderProperties([PropertyName])

    /// Makes a new revision of the mapping for a provider, in the list form, and makes it the active one.
    case setMapping(ProviderName, JSONValue)

    /// An app at a provider, as it shall be.
    package struct App: Sendable {
        let id: ProviderAppID
        /// The stored one is left as it is when this is nil.
        let secret: SealedSecret?
        let configID: String?

        package init(id: ProviderAppID, secret: SealedSecret?, configID: String? = nil) {
            self.id = id
            self.secret = secret
            self.configID = configID
        }
    }
}

/// A step together with what the audit log and an operator who looks at a plan see of it; no secret is in it, not even
/// sealed.
package struct PlannedChange: Sendable {
    package let change: ConfigurationChange
    /// What is done, like `property.declare`.
    package let action: String
    /// What it is done to, within the application: a label, a property's name; nil for the application as a whole.
    package let target: String?
    /// What was and what will be; nil where there was or will be nothing.
    package let from: JSONValue?
    package let to: JSONValue?

    package init(_ change: ConfigurationChange, action: String, target: String?, from: JSONValue?, to: JSONValue?) {
        self.change = change
        self.action = action
        self.target = target
        self.from = from
        self.to = to
    }
}

extension Store {
    /// The columns of a users table as the database has them; empty when the table does not exist.
    package func liveColumns(ofSchema schema: String) async throws(Failure) -> [LiveColumn] {
        let result = try await query(LiveColumn.statement(ofSchema: schema))
        return try read { () throws(PostgresError) in try LiveColumn.all(in: result) }
    }
}

extension LiveColumn {
    /// The question for all columns of a users table.
    static func statement(ofSchema schema: String) -> Statement {
        """
        select a.attname::text, format_type(a.atttypid, null), a.attnotnull, a.atthasdef or a.attidentity <> ''
        from pg_attribute a
        join pg_class t on t.oid = a.attrelid
        join pg_namespace n on n.oid = t.relnamespace
        where n.nspname = \(schema) and t.relname = 'users' and a.attnum > 0 and not a.attisdropped
        order by a.attnum
        """
    }

    /// The columns in the question's result.
    static func all(in result: ResultSet) throws(PostgresError) -> [LiveColumn] {
        var columns: [LiveColumn] = []
        for row in result.rows {
            columns.append(
                LiveColumn(
                    name: try row.decode(0, as: String.self),
                    sqlType: try row.decode(1, as: String.self),
                    notNull: try row.decode(2, as: Bool.self),
                    hasDefault: try row.decode(3, as: Bool.self)
                )
            )
        }
        return columns
    }
}
