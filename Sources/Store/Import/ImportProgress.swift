package import Domain
import Encodings
import Postgres

/// Identifies the import of one file into one application.
package struct ImportKey: Sendable {
    package let application: ApplicationID
    /// The database of the application's users and of the import's progress; nil for the main database.
    let database: DatabaseVariable?
    /// SHA-256 of the file.
    package let fileHash: [UInt8]

    package init(application: ApplicationID, at database: DatabaseVariable? = nil, fileHash: [UInt8]) {
        self.application = application
        self.database = database
        self.fileHash = fileHash
    }

    /// The SQL condition for the rows of this import.
    var condition: Statement { "application_id = \(application.text) and file_hash = \(fileHash)" }
}

/// How far an import has come: the outcomes of the records so far, and whether it has ended.
package struct ImportProgress: Sendable {
    package let source: String
    package let counts: ImportCounts
    package let isFinished: Bool
}

extension ImportProgress {
    /// Returns the select list, the table and the condition of the query for an import's progress.
    fileprivate static func columns(of key: ImportKey) -> Statement {
        """
        source, records, imported, existing,
            (select count(*) from federation.import_refusals where \(key.condition)), finished is not null
        from federation.imports where \(key.condition)
        """
    }

    /// Reads a row of `columns(of:)`.
    fileprivate init(_ row: inout Row) throws(PostgresError) {
        source = try row.next()
        var counts = ImportCounts()
        counts.records = try row.next()
        counts.imported = try row.next()
        counts.existing = try row.next()
        counts.refused = try row.next()
        self.counts = counts
        isFinished = try row.next()
    }
}

/// An import that was started, whether it has finished or not.
package struct StoredImport: Sendable {
    package let fileHash: [UInt8]
    package let progress: ImportProgress
    /// The time of the start, in milliseconds since 1970, like `finished`.
    package let started: Int64
    package let finished: Int64?
}

extension Store {
    /// Returns the latest imports into an application, the last started first.
    package func imports(into application: Application, limit: Int) async throws(Failure) -> [StoredImport] {
        let tables = Tables(besideUsersOf: application.id, at: application.database, in: databases)
        let result = try await query(
            """
            select i.file_hash, i.source, i.records, i.imported, i.existing,
                (select count(*) from federation.import_refusals r
                 where r.application_id = i.application_id and r.file_hash = i.file_hash),
                i.finished is not null, i.started, i.finished
            from federation.imports i where i.application_id = \(application.id.text)
            order by i.started desc, i.file_hash limit \(limit)
            """,
            in: tables
        )
        return try result.all { row throws(PostgresError) in
            StoredImport(
                fileHash: try row.next(),
                progress: try ImportProgress(&row),
                started: try row.next(Timestamp.self).milliseconds,
                finished: try row.next(Timestamp?.self)?.milliseconds
            )
        }
    }
}

extension Failure {
    static let importTaken = Failure(.conflict, "Another process continues this import or has started it again.")
}

extension Store {
    private func tables(of key: ImportKey) -> Tables {
        Tables(besideUsersOf: key.application, at: key.database, in: databases)
    }

    /// Waits until no batch of an import is running, and returns the import's progress.
    ///
    /// PostgreSQL may still run a batch whose process has been killed.
    ///
    /// - Parameters:
    ///   - key: The import.
    ///   - seconds: The timeout for a running batch.
    /// - Returns: Nil if there is no such import.
    /// - Throws: `conflict` if a batch is still running after the timeout; `store_unavailable` and similar failures.
    package func progress(of key: ImportKey, within seconds: Int64) async throws(Failure) -> ImportProgress? {
        let result: ResultSet
        do {
            result = try await tables(of: key).withTransaction { connection in
                _ = try await connection.query(
                    """
                    select set_config('statement_timeout', '0', true),
                        set_config('lock_timeout', \("\(seconds)s"), true)
                    """
                )
                _ = try await connection.query("select from federation.imports where \(key.condition) for share")
                // This statement is a separate one: the statement that waited sees the refusals as they were before the
                // wait.
                return try await connection.query("select \(ImportProgress.columns(of: key))")
            }
        } catch let error as PostgresError {
            guard error.sqlState == "55P03" else { throw await failure(of: error, in: nil) }
            throw Failure(
                .conflict,
                """
                A batch of this import is still running. Wait until its process ends, or end its session, which \
                pg_stat_activity shows. Then continue.
                """
            )
        } catch {
            throw Failure.databaseFault(cause: "\(error)")
        }
        return try Answer(result: result).first(by: ImportProgress.init)
    }

    /// Starts an import at the first record, whatever its former progress was.
    ///
    /// Records the start in the audit log.
    package func beginImport(_ key: ImportKey, from source: String, by actor: ChangeAuthor) async throws(Failure) {
        let tables = tables(of: key)
        try await transaction(in: tables) { connection in
            // If two processes start the import at once, only one of them continues: the next batch of the other fails.
            _ = try await connection.query(
                """
                insert into federation.imports (application_id, file_hash, source)
                values (\(key.application.text), \(key.fileHash), \(source))
                on conflict (application_id, file_hash) do update set source = excluded.source, records = 0, imported = 0,
                    existing = 0, started = excluded.started, finished = null
                """
            )
            _ = try await connection.query("delete from federation.import_refusals where \(key.condition)")
            try await tables.record([key.entry("begin", source: source)], by: actor, with: connection)
        }
    }

    /// Records in the audit log that an import is resumed.
    package func resumeImport(_ key: ImportKey, from source: String, by actor: ChangeAuthor) async throws(Failure) {
        let tables = tables(of: key)
        try await transaction(in: tables) { connection in
            try await tables.record([key.entry("resume", source: source)], by: actor, with: connection)
        }
    }

    /// Marks an import as finished and records the end in the audit log.
    ///
    /// - Throws: `conflict` if another process has finished the import; `internal` if the stored counts differ from
    ///   `counts`, or if `counts` do not add up.
    package func finishImport(
        _ key: ImportKey,
        from source: String,
        _ counts: ImportCounts,
        by actor: ChangeAuthor
    ) async throws(Failure) {
        let tables = tables(of: key)
        try await transaction(in: tables) { connection in
            let stored = try await connection.query("select \(ImportProgress.columns(of: key)) for no key update")
                .first(by: ImportProgress.init)
            guard let stored, !stored.isFinished else { throw Failure.importTaken }
            guard stored.counts == counts, counts.areWhole else { throw Failure.sumsDisagree(stored.counts) }
            _ = try await connection.query(
                "update federation.imports set finished = now() where \(key.condition)"
            )
            try await tables.record([key.entry("end", source: source, counts)], by: actor, with: connection)
        }
    }

    /// Returns records that were refused, in the order of the file.
    ///
    /// - Parameters:
    ///   - key: The import.
    ///   - record: Only records after this one.
    ///   - limit: The limit of records.
    /// - Returns: The refusals; if there are `limit` of them, there may be more.
    /// - Throws: `store_unavailable` and similar failures.
    package func refusals(
        of key: ImportKey,
        after record: Int,
        limit: Int
    ) async throws(Failure) -> [RecordFinding] {
        let result = try await query(
            """
            select record, line, reason, message from federation.import_refusals
            where \(key.condition) and record > \(record) order by record limit \(limit)
            """,
            in: tables(of: key)
        )
        return try result.all(into: RecordFinding.init)
    }

    /// Updates the planner's statistics of an application's users.
    ///
    /// PostgreSQL skips the tables that the database role may not analyze. There is no timeout: the command waits for
    /// PostgreSQL's own maintenance, which works on the same tables after many rows have been added.
    package func analyzeUsers(of application: Application) async throws(Failure) {
        try await translating(of: application) {
            try await tables(of: application).withConnection { connection in
                try await connection.execute(script: "set statement_timeout = 0; set lock_timeout = 0")
                let table = try await connection.query(
                    "select federation.users_table(\(application.schema))::text"
                )
                let schema = Statement.quoted(identifier: application.schema)
                let others = ["identities", "passwords", "user_roles", "firebase_users"].map { "\(schema).\($0)" }
                for table in try table.all(String.self) + others {
                    try await connection.execute(script: "analyze \(table)")
                }
            }
        }
    }
}

extension ImportKey {
    /// Creates an audit log entry about a step of the import, which identifies the file by its hash.
    func entry(_ step: String, source: String, _ counts: ImportCounts? = nil) -> AuditRecord {
        var to: JSONObject = [
            "step": .string(step), "source": .string(source), "file": .string(Hexadecimal.encode(fileHash)),
        ]
        if let counts { to = JSONObject(to.members + counts.outcomes.members) }
        return AuditRecord("user.import", in: application, to: .object(to))
    }
}
