import Postgres
package import Vocabulary

/// How an application comes to have its users in a table that was there before it.
///
/// The table loses nothing: it gets columns that it lacks, and the application's `users` becomes a view of it, in which
/// its columns have the names that the service uses.
package struct Adoption: Sendable {
    package let application: StoredApplication
    package let table: ExistingTable
    /// The columns of the view, in its order.
    package let columns: [Column]
    /// Properties that come with columns of the table.
    package let declared: [Property]
    /// Whether the column of the object ids is made by rewriting the table, however large it is.
    private let mayRewrite: Bool
    package let identities: Identities?

    package struct Column: Sendable {
        /// In the view.
        package let name: String
        /// In the table.
        package let column: String
        /// How it is added; nil for the table's own.
        package let definition: Definition?

        package init(_ name: String, is column: String, adding definition: Definition? = nil) {
            self.name = name
            self.column = column
            self.definition = definition
        }
    }

    /// A column that the table lacks.
    package enum Definition: Sendable, Equatable {
        /// The object ids, which each row needs one of.
        case objectID
        case system(String)
        case property(PropertyType)
    }

    /// Ids of people at a provider that the table has.
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

    /// The columns of every users table besides those of properties, and how they are added to a table, in their order.
    package static let systemColumns: [(name: String, definition: Definition)] = [
        ("object_id", .objectID), ("created", .system("timestamptz not null default now()")),
        ("updated", .system("timestamptz")), ("last_login", .system("timestamptz")),
        ("user_status", .system("text not null default 'ENABLED'")), ("social_account", .system("text")),
        ("locale", .system("text")), ("dynamic", .system("jsonb not null default '{}'")),
        ("email_verified", .system("boolean not null default false")),
    ]

    /// Whether the table gets object ids beside a key of its own.
    var needsObjectIDs: Bool { columns.contains { $0.definition == .objectID } }

    /// Whether the object ids come by rewriting the table: within milliseconds, where it is small.
    var rewrites: Bool {
        needsObjectIDs && table.column(column("object_id")) == nil && (mayRewrite || table.bytes <= 4 << 20)
    }

    /// Whether the rows get their object ids by updates.
    package var updatesRows: Bool {
        needsObjectIDs && !rewrites && table.column(column("object_id"))?.notNull != true
    }

    /// The table's column of that name in the view.
    func column(_ name: String) -> String { columns.first { $0.name == name }?.column ?? name }
}

/// A step of an adoption: SQL that is run for itself, by the service as by `psql`.
package struct AdoptionStep: Sendable {
    /// What it does, and what waits for it meanwhile.
    package let comment: String
    package let sql: String
}

extension Store {
    /// The steps of an adoption, from what the database is now: those that have been done are not among them.
    ///
    /// - Throws: `conflict` where something of the operator's refers to the application's users table.
    package func steps(of adoption: Adoption, by actor: Actor) async throws(Failure) -> [AdoptionStep] {
        let users = quoted(adoption.application.schema) + ".users"
        let result = try await query(
            """
            select c.conrelid::regclass::text, quote_ident(c.conname), c.connamespace = n.oid, (
                select string_agg(quote_ident(a.attname), ', ') from pg_attribute a
                where a.attrelid = c.conrelid and a.attnum = any (c.conkey)
            )
            from pg_constraint c join pg_namespace n on n.nspname = \(adoption.application.schema)
            where c.confrelid = \(users)::regclass and c.contype = 'f' order by 1, 2
            """
        )
        let references = try read { () throws(PostgresError) in
            var references: [AdoptionScript.Reference] = []
            for row in result.rows {
                references.append(
                    AdoptionScript.Reference(
                        table: try row.decode(0, as: String.self),
                        constraint: try row.decode(1, as: String.self),
                        column: try row.decode(3, as: String.self),
                        isOurs: try row.decode(2, as: Bool.self)
                    )
                )
            }
            return references
        }
        if let foreign = references.first(where: { !$0.isOurs }) {
            throw Failure(
                .conflict,
                "Rows of \(foreign.table) refer to \(users), which is going to be a view. Drop that constraint first."
            )
        }
        return AdoptionScript(adoption: adoption, actor: actor, references: references).steps
    }

    /// Whether the application has no users yet.
    package func hasUsers(_ application: StoredApplication) async throws(Failure) -> Bool {
        try await query("select from \(identifier: application.schema).users limit 1").count > 0
    }

    /// The table that holds the application's users where it was there before the application, as SQL names it.
    package func adoptedTable(of application: StoredApplication) async throws(Failure) -> String? {
        try await transaction { try await $0.adoptedTable(ofSchema: application.schema) }
    }

    /// The table whose adoption has begun, or come to its end, as SQL names it.
    package func begunAdoption(of application: StoredApplication) async throws(Failure) -> String? {
        let result = try await query(
            """
            select format('%I.%I', n.nspname, c.relname) from federation.adopted_tables t
            join pg_class c on c.oid = t.relation join pg_namespace n on n.oid = c.relnamespace
            where t.application_id = \(application.id.text)
            """
        )
        return try read { () throws(PostgresError) in try result.first?.decode(0, as: String.self) }
    }

    /// How often a step is tried that did not get its locks.
    private static let adoptionTries = 30

    /// Does one step, again where it waited for a lock in vain.
    ///
    /// - Throws: `conflict` with PostgreSQL's code; the steps before have been done and stay.
    package func perform(_ step: AdoptionStep) async throws {
        for attempt in 1... {
            do {
                return try await postgres.withConnection { try await $0.execute(script: step.sql) }
            } catch let error as PostgresError {
                let isBusy = error.sqlState?.isOfLocks == true
                guard isBusy, attempt < Self.adoptionTries else { throw Self.failure(of: error, in: step) }
                // Whoever queued behind this one goes on meanwhile.
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
