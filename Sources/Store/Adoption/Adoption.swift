package import Domain
import Postgres

/// The plan by which an application gets an existing table for its users.
///
/// The table loses nothing. It gets the columns that it lacks. The application's `users` becomes a view of the table,
/// in which the columns have the names that the service uses.
package struct Adoption: Sendable {
    package let application: StoredApplication
    package let table: ExistingTable
    /// The columns of the view, in order.
    package let columns: [Column]
    /// The properties to declare for columns of the table.
    package let declared: [Property]
    /// Whether the column of object ids may be added by rewriting the table, however large the table is.
    private let mayRewrite: Bool
    package let identities: Identities?

    package struct Column: Sendable {
        /// The name in the view.
        package let name: String
        /// The name in the table.
        package let column: String
        /// How the column is added; nil for a column that the table has of its own.
        package let definition: Definition?

        package init(_ name: String, is column: String, adding definition: Definition? = nil) {
            self.name = name
            self.column = column
            self.definition = definition
        }
    }

    /// A column that the table lacks.
    package enum Definition: Sendable, Equatable {
        /// The object ids; every row needs one.
        case objectID
        case system(String)
        case property(PropertyType)
    }

    /// A column with the users' subjects at a provider.
    package struct Identities: Sendable {
        package let provider: ProviderName
        package let app: ProviderAppID
        package let column: String

        package init(provider: ProviderName, app: ProviderAppID, column: String) {
            self.provider = provider
            self.app = app
            self.column = column
        }
    }

    package init(
        application: StoredApplication,
        table: ExistingTable,
        columns: [Column],
        declared: [Property],
        mayRewrite: Bool,
        identities: Identities?
    ) {
        self.application = application
        self.table = table
        self.columns = columns
        self.declared = declared
        self.mayRewrite = mayRewrite
        self.identities = identities
    }

    /// The columns of every users table except those of properties, with their definitions, in order.
    package static let systemColumns: [(name: String, definition: Definition)] = [
        ("object_id", .objectID), ("created", .system("timestamptz not null default now()")),
        ("updated", .system("timestamptz")), ("last_login", .system("timestamptz")),
        ("user_status", .system("text not null default 'ENABLED'")), ("social_account", .system("text")),
        ("locale", .system("text")), ("dynamic", .system("jsonb not null default '{}'")),
        ("email_verified", .system("boolean not null default false")),
    ]

    /// Whether the table gets object ids in addition to its own key.
    var needsObjectIDs: Bool { columns.contains { $0.definition == .objectID } }

    /// Whether the object ids are added by rewriting the table; for a small table this takes milliseconds.
    var rewrites: Bool {
        needsObjectIDs && table.column(column("object_id")) == nil && (mayRewrite || table.bytes <= 4 << 20)
    }

    /// Whether the rows get their object ids by updates.
    package var updatesRows: Bool {
        needsObjectIDs && !rewrites && table.column(column("object_id"))?.notNull != true
    }

    /// Returns the table's name of a column of the view.
    func column(_ name: String) -> String { columns.first { $0.name == name }?.column ?? name }
}

/// A step of an adoption: SQL that the service or `psql` can run separately.
package struct AdoptionStep: Sendable {
    /// What the step does, and which other work waits for it.
    package let comment: String
    package let sql: String
}

extension Store {
    /// Returns the remaining steps of an adoption, judged by the present state of the database.
    ///
    /// - Throws: `conflict` if a foreign key of the operator's refers to the application's users table.
    package func steps(of adoption: Adoption, by actor: Actor) async throws(Failure) -> [AdoptionStep] {
        let users = quoted(adoption.application.schema) + ".users"
        let result = try await query(
            """
            select c.conrelid::regclass::text, quote_ident(c.conname), (
                select string_agg(quote_ident(a.attname), ', ') from pg_attribute a
                where a.attrelid = c.conrelid and a.attnum = any (c.conkey)
            ), c.connamespace = n.oid
            from pg_constraint c join pg_namespace n on n.nspname = \(adoption.application.schema)
            where c.confrelid = \(users)::regclass and c.contype = 'f' order by 1, 2
            """
        )
        let references = try result.all(into: AdoptionScript.Reference.init)
        if let foreign = references.first(where: { !$0.isOurs }) {
            throw Failure(
                .conflict,
                "Rows of \(foreign.table) refer to \(users), which is going to be a view. Drop that constraint first."
            )
        }
        return AdoptionScript(adoption: adoption, actor: actor, references: references).steps
    }

    package func hasUsers(_ application: StoredApplication) async throws(Failure) -> Bool {
        try await query("select from \(identifier: application.schema).users limit 1").count > 0
    }

    /// Returns the adopted table that holds the application's users, as SQL names it; nil if no table was adopted.
    package func adoptedTable(of application: StoredApplication) async throws(Failure) -> String? {
        try await transaction { try await $0.adoptedTable(ofSchema: application.schema) }
    }

    /// Returns the table whose adoption has begun or is complete, as SQL names it.
    package func begunAdoption(of application: StoredApplication) async throws(Failure) -> String? {
        let result = try await query(
            """
            select format('%I.%I', n.nspname, c.relname) from federation.adopted_tables t
            join pg_class c on c.oid = t.relation join pg_namespace n on n.oid = c.relnamespace
            where t.application_id = \(application.id.text)
            """
        )
        return try result.first(String.self)
    }

    /// How often a step is tried that does not get its locks.
    private static let adoptionTries = 30

    /// Runs one step, with retries after lock timeouts.
    ///
    /// - Throws: `conflict` with PostgreSQL's code; the earlier steps have been done and stay.
    package func perform(_ step: AdoptionStep) async throws {
        for attempt in 1... {
            do {
                return try await postgres.withConnection { try await $0.execute(script: step.sql) }
            } catch let error as PostgresError {
                let isBusy = error.sqlState?.isOfLocks == true
                guard isBusy, attempt < Self.adoptionTries else { throw Self.failure(of: error, in: step) }
                // Statements that queued behind this one proceed during the wait.
                try await Task.sleep(for: .milliseconds(Int.random(in: 200...600)))
            }
        }
    }

    private static func failure(of error: PostgresError, in step: AdoptionStep) -> Failure {
        let reason =
            switch error.sqlState {
            case "55P03", "40P01": "The table is in use by something that holds it for long."
            case "23505": "Two rows have one value where each needs its own."
            case "2BP01": "Something of the operator's, like a view, depends on the application's users table."
            case "55000": "The application has got users of its own."
            case "40001": "The application has been changed meanwhile."
            default: "PostgreSQL refused it."
            }
        return Failure(
            .conflict,
            """
            \(reason) This step failed: \(step.comment) (\(error)). What was done before it stays, and disturbs nobody; \
            the same command goes on from there.
            """,
            cause: "\(error)"
        )
    }
}
