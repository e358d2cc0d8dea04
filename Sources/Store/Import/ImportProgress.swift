import Postgres
package import Vocabulary

/// The import of one file into one application.
package struct ImportKey: Sendable {
    package let application: ApplicationID
    /// Where its users are, and what is known of the import; nil for the main database.
    let database: DatabaseVariable?
    /// SHA-256 of the file.
    package let fileHash: [UInt8]

    package init(application: ApplicationID, at database: DatabaseVariable? = nil, fileHash: [UInt8]) {
        self.application = application
        self.database = database
        self.fileHash = fileHash
    }

    /// The condition on a row that it is this import's.
    var condition: Statement { "application_id = \(application.text) and file_hash = \(fileHash)" }
}

/// How far an import is.
package struct ImportProgress: Sendable {
    package let source: String
    package let counts: ImportCounts
    package let isFinished: Bool
}

extension ImportProgress {
    /// The columns of an import, with the table and the condition.
    fileprivate static func columns(of key: ImportKey) -> Statement {
        """
        source, records, imported, existing, finished is not null,
            (select count(*) from federation.import_refusals where \(key.condition))
        from federation.imports where \(key.condition)
        """
    }
}

/// An import that began some time.
package struct StoredImport: Sendable {
    package let fileHash: [UInt8]
    package let progress: ImportProgress
    /// In milliseconds since 1970.
    package let started: Int64
    package let finished: Int64?
}

extension Store {
    /// The imports into an application that began last.
    package func imports(into application: Application, limit: Int) async throws(Failure) -> [StoredImport] {
        let tables = Tables(besideUsersOf: application.id, at: application.database, in: databases)
        let result = try await query(
            """
            select i.file_hash, i.source, i.records, i.imported, i.existing, i.started, i.finished,
                (select count(*) from federation.import_refusals r
                 where r.application_id = i.application_id and r.file_hash = i.file_hash)
            from federation.imports i where i.application_id = \(application.id.text)
            order by i.started desc, i.file_hash limit \(limit)
            """,
            in: tables
        )
        return try read { () throws(PostgresError) in
            var imports: [StoredImport] = []
            for row in result.rows {
                var counts = ImportCounts()
                counts.records = try row.decode(2, as: Int.self)
                counts.imported = try row.decode(3, as: Int.self)
                counts.existing = try row.decode(4, as: Int.self)
                counts.refused = try row.decode(7, as: Int.self)
                let finished = try row.decode(6, as: Timestamp?.self)?.milliseconds
                imports.append(
                    StoredImport(
                        fileHash: try row.decode(0, as: [UInt8].self),
                        progress: ImportProgress(
                            source: try row.decode(1, as: String.self),
                            counts: counts,
                            isFinished: finished != nil
                        ),
                        started: try row.decode(5, as: Timestamp.self).milliseconds,
                        finished: finished
                    )
                )
            }
            return imports
        }
    }
}

extension Failure {
    static let importTaken = Failure(.conflict, "Another process goes on with this import, or has begun it anew.")
}

extension Store {
    private func tables(of key: ImportKey) -> Tables {
        Tables(besideUsersOf: key.application, at: key.database, in: databases)
    }

    /// How far the import of a file is once no batch of it is under way: PostgreSQL goes on for a while with one whose
    /// process has been killed.
    ///
    /// - Parameters:
    ///   - key: The import.
    ///   - seconds: How long a batch is waited for.
    /// - Returns: Nil when there was none.
    /// - Throws: `conflict` when it is still under way then; `store_unavailable` and its like.
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
                // A statement of its own: the one that waits sees the refusals as they were before the wait.
                return try await connection.query("select \(ImportProgress.columns(of: key))")
            }
        } catch let error as PostgresError {
            guard error.sqlState == "55P03" else { throw await failure(of: error, in: nil) }
            throw Failure(
                .conflict,
                """
                A batch of this import is still under way. Let the process end that does it, or end its session, which \
                pg_stat_activity shows; then go on.
                """
            )
        } catch {
            throw Failure.databaseFault(cause: "\(error)")
        }
        return try progress(in: result)
    }

    private func progress(in result: ResultSet) throws(Failure) -> ImportProgress? {
        try read { () throws(PostgresError) in
            guard let row = result.first else { return nil }
            var counts = ImportCounts()
            counts.records = try row.decode(1, as: Int.self)
            counts.imported = try row.decode(2, as: Int.self)
            counts.existing = try row.decode(3, as: Int.self)
            counts.refused = try row.decode(5, as: Int.self)
            return ImportProgress(
                source: try row.decode(0, as: String.self),
                counts: counts,
                isFinished: try row.decode(4, as: Bool.self)
            )
        }
    }

    /// Begins an import at the first record, whatever there was of it, and says so in the audit log.
    package func beginImport(_ key: ImportKey, from source: String, by actor: Actor) async throws(Failure) {
        let tables = tables(of: key)
        try await transaction(in: tables) { connection in
            // When two processes begin at once the second one counts; the first fails with its next batch.
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

    /// Says in the audit log that an import goes on.
    package func resumeImport(_ key: ImportKey, from source: String, by actor: Actor) async throws(Failure) {
        let tables = tables(of: key)
        try await transaction(in: tables) { connection in
            try await tables.record([key.entry("resume", source: source)], by: actor, with: connection)
        }
    }

    /// Notes that all records are done, in the audit log, too.
    ///
    /// - Throws: `conflict` when another process has gone on with the import or has ended it; `internal` when the
    ///   stored sums are not those of the records.
    package func finishImport(
        _ key: ImportKey,
        from source: String,
        _ counts: ImportCounts,
        by actor: Actor
    ) async throws(Failure) {
        let tables = tables(of: key)
        try await transaction(in: tables) { connection in
            let stored = try progress(
                in: try await connection.query("select \(ImportProgress.columns(of: key)) for no key update")
            )
            guard let stored, !stored.isFinished else { throw Failure.importTaken }
            guard stored.counts == counts, counts.areWhole else { throw Failure.sumsDisagree(stored.counts) }
            _ = try await connection.query(
                "update federation.imports set finished = now() where \(key.condition)"
            )
            try await tables.record([key.entry("end", source: source, counts)], by: actor, with: connection)
        }
    }

    /// Records that were refused, in the order of the file.
    ///
    /// - Parameters:
    ///   - key: The import.
    ///   - record: Only those behind this one.
    ///   - limit: How many at most.
    /// - Returns: As many as `limit` means that there may be more.
    /// - Throws: `store_unavailable` and its like.
    package func refusals(
        of key: ImportKey,
        after record: Int,
        limit: Int
    ) async throws(Failure) -> [ImportRefusal] {
        let result = try await query(
            """
            select record, line, reason, message from federation.import_refusals
            where \(key.condition) and record > \(record) order by record limit \(limit)
            """,
            in: tables(of: key)
        )
        return try read { () throws(PostgresError) in
            var refusals: [ImportRefusal] = []
            for row in result.rows {
                refusals.append(
                    ImportRefusal(
                        record: try row.decode(0, as: Int.self),
                        line: try row.decode(1, as: Int.self),
                        reason: try row.decode(2, as: String.self),
                        message: try row.decode(3, as: String.self)
                    )
                )
            }
            return refusals
        }
    }

    /// Brings the planner's statistics of an application's users up to date, where the role may do that; where it may
    /// not, PostgreSQL passes over the tables.
    ///
    /// It takes as long as it takes, and waits for PostgreSQL's own maintenance, which is at work on the same tables
    /// once many rows have come.
    package func analyzeUsers(of application: Application) async throws(Failure) {
        do {
            try await tables(of: application).withConnection { connection in
                try await connection.execute(script: "set statement_timeout = 0; set lock_timeout = 0")
                let table = try await connection.query(
                    "select federation.users_table(\(application.schema))::text"
                )
                let schema = Statement.quoted(identifier: application.schema)
                let others = ["identities", "passwords", "user_roles"].map { "\(schema).\($0)" }
                for table in [try table.first?.decode(0, as: String.self)].compactMap(\.self) + others {
                    try await connection.execute(script: "analyze \(table)")
                }
            }
        } catch let error as PostgresError {
            throw await failure(of: error, in: application)
        } catch {
            throw Failure(.internal, "The statistics could not be brought up to date.", cause: "\(error)")
        }
    }
}

extension ImportKey {
    /// An entry of the audit log; the file is known by its hash.
    fileprivate func entry(_ step: String, source: String, _ counts: ImportCounts? = nil) -> AuditRecord {
        var to: JSONObject = [
            "step": .string(step), "source": .string(source), "file": .string(Hexadecimal.encode(fileHash)),
        ]
        if let counts {
            to.append("imported", .integer(Int64(counts.imported)))
            to.append("existing", .integer(Int64(counts.existing)))
            to.append("refused", .integer(Int64(counts.refused)))
        }
        return AuditRecord(application: application, action: "user.import", target: nil, from: nil, to: .object(to))
    }
}
