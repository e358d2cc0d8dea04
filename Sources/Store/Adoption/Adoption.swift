package import Domain
import Postgres

/// The plan for the adoption of an existing table, in which an application is going to store its users.
///
/// The table loses nothing, and gets the columns that it lacks. The application's `users` becomes a view of the table.
/// The columns of the view have the names that the service uses.
package struct Adoption: Sendable {
    package let application: StoredApplication
    package let table: ExistingTable
    /// The columns of the view `users` that will show the adopted table, in order.
    package let columns: [Column]
    /// The properties that the adoption declares for columns of the table.
    package let declared: [Property]
    /// Whether the service may rewrite the table to add the object ids, even if the table is large.
    private let mayRewrite: Bool
    package let identities: Identities?

    package struct Column: Sendable {
        /// The column's name in the view `users`.
        package let name: String
        /// The column's name in the adopted table.
        package let column: String
        /// The definition of a column that the adoption adds; nil for a column that the table has already.
        package let definition: Definition?

        package init(_ name: String, is column: String, adding definition: Definition? = nil) {
            self.name = name
            self.column = column
            self.definition = definition
        }
    }

    /// The definition of a column that the adoption adds to the table.
    package enum Definition: Sendable, Equatable {
        /// The column with the user's id, a UUID that every row needs.
        case objectID
        case system(String)
        case property(PropertyType)
    }

    /// The column of the adopted table that holds the users' ids at a provider (subjects).
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

    /// Whether the adoption adds a column of object ids (UUIDs of users) to the table, beside the table's own key.
    var needsObjectIDs: Bool { columns.contains { $0.definition == .objectID } }

    /// Whether the object ids are added by a rewrite of the table.
    ///
    /// A table of at most 4 MiB may always be rewritten, since this takes milliseconds.
    var rewrites: Bool {
        needsObjectIDs && table.column(column("object_id")) == nil && (mayRewrite || table.bytes <= 4 << 20)
    }

    /// Whether the rows get their object ids by updates, since the table is not rewritten.
    package var updatesRows: Bool {
        needsObjectIDs && !rewrites && table.column(column("object_id"))?.notNull != true
    }

    /// Returns the name that a column of the view `users` has in the adopted table.
    func column(_ name: String) -> String { columns.first { $0.name == name }?.column ?? name }
}

/// A step of an adoption: SQL that the service or `psql` can run separately.
package struct AdoptionStep: Sendable {
    /// A comment for the operator: what the step does, and which other work has to wait meanwhile.
    package let comment: String
    package let sql: String
}

extension Store {
    /// Returns the steps of an adoption that are still to be done.
    ///
    /// - Throws: `conflict` if a table of the operator has a foreign key to the application's users table.
    package func steps(of adoption: Adoption, by actor: ChangeAuthor) async throws(Failure) -> [AdoptionStep] {
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

    /// Returns the qualified and quoted name of the adopted table that holds the application's users; nil if there is
    /// none.
    package func adoptedTable(of application: StoredApplication) async throws(Failure) -> String? {
        try await transaction { try await $0.adoptedTable(ofSchema: application.schema) }
    }

    /// Returns the qualified and quoted name of the table whose adoption has begun or is complete; nil if there is
    /// none.
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

    /// The maximum number of attempts to run a step that does not get its locks.
    private static let adoptionTries = 30

    /// Runs one step, with retries after lock timeouts.
    ///
    /// - Throws: `conflict` with PostgreSQL's code. The earlier steps stay done.
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
            case "55P03", "40P01": "Another session locks the table for long."
            case "23505": "Two rows have one value where each needs its own."
            case "2BP01": "Something of the operator's, like a view, depends on the application's users table."
            case "55000": "The application has its own users now."
            case "40001": "The application was changed meanwhile."
            default: "PostgreSQL refused it."
            }
        return Failure(
            .conflict,
            """
            \(reason) This step failed: \(step.comment) (\(error)). Earlier steps are kept and do no harm. Run the \
            same command again to continue.
            """,
            cause: "\(error)"
        )
    }
}
