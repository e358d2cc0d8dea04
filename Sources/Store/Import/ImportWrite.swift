package import Domain
import Encodings
import Postgres

extension Store {
    /// Imports users of another system in short transactions, and refuses the records that cannot be imported.
    ///
    /// An existing user stays unchanged, but gets the record's uid and custom claims as far as `insertionOfUIDs`
    /// allows. A record is refused if another user has its login name, identity or uid.
    ///
    /// The progress is stored in the same transaction as the users. So each record is imported only once, even if the
    /// process dies. A row that breaks a rule of the tables makes its batch fail. Then the halves of the batch are
    /// written separately, down to the one row at fault, which is refused.
    ///
    /// - Parameters:
    ///   - batch: The records.
    ///   - key: The import, which has been begun.
    ///   - application: The application of the new users.
    ///   - hash: The hash by which banned identities are recognized.
    /// - Returns: The outcome of the records.
    /// - Throws: `conflict` if another process has resumed the import; `internal` if a record has no outcome;
    ///   `store_unavailable` and similar failures. What was written until then is recorded in the import.
    package func write(
        _ batch: ImportBatch,
        of key: ImportKey,
        in application: Application,
        hashingBy hash: @escaping IdentityHasher
    ) async throws(Failure) -> ImportOutcome {
        try await part(batch, in: application, joiningBy: +) { batch in
            try await transaction(endingBy: "commit", of: application) { connection in
                try await connection.take(key, at: batch)
                let outcome = try await connection.insert(batch, in: application, hashingBy: hash)
                try await connection.advance(key, over: batch, outcome)
                return outcome
            }
        }
    }

    /// Imports users as ``write(_:of:in:hashingBy:)`` does, without a stored progress.
    ///
    /// If such an import fails, its author starts it again from the first record. Each transaction writes an entry of
    /// the audit log.
    ///
    /// - Parameters:
    ///   - batch: The records.
    ///   - key: Names the application and the file in the audit log.
    ///   - source: The source of the records.
    ///   - actor: The author of the import.
    ///   - application: The application of the new users.
    ///   - hash: The hash by which banned identities are recognized.
    /// - Returns: The outcome of the records.
    /// - Throws: `internal` if a record has no outcome; `store_unavailable` and similar failures. The audit log has an
    ///   entry for each transaction before the failure.
    package func write(
        _ batch: ImportBatch,
        of key: ImportKey,
        from source: String,
        by actor: ChangeAuthor,
        in application: Application,
        hashingBy hash: @escaping IdentityHasher
    ) async throws(Failure) -> ImportOutcome {
        let tables = tables(of: application)
        return try await part(batch, in: application, joiningBy: +) { batch in
            try await transaction(endingBy: "commit", of: application) { connection in
                let outcome = try await connection.insert(batch, in: application, hashingBy: hash)
                let entry = key.entry("part", source: source, outcome.counts)
                try await tables.record([entry], by: actor, with: connection)
                return outcome
            }
        }
    }

    /// Determines the outcome of records in a dry run.
    ///
    /// The rows are written to a temporary table that has only the columns and the rules of the users table. So no
    /// login waits for the rows, and no sequence advances. A dry run does not check the operator's rules that depend on
    /// other rows, such as unique columns. It runs no triggers.
    ///
    /// - Returns: The outcome that an import would have.
    /// - Throws: `internal` if a record has no outcome; `store_unavailable` and similar failures.
    package func check(
        _ batch: ImportBatch,
        in application: Application,
        hashingBy hash: @escaping IdentityHasher
    ) async throws(Failure) -> ImportOutcome {
        try await part(batch, in: application, joiningBy: +) { batch in
            try await transaction(endingBy: "rollback", of: application) { connection in
                let columns = try await connection.importColumns(of: application)
                let lacks = try await connection.stage(batch, columns.withDefault, in: application, hashingBy: hash)
                try await connection.markTaken(in: application)
                let copy = try await connection.query(Self.definition(ofCopy: "import_check", in: application))
                try await connection.execute(script: try copy.first(String.self) ?? "")
                for lacking in lacks {
                    _ = try await connection.query(
                        Self.insertionOfUsers(into: "import_check", columns.names, lacking: lacking, in: application)
                    )
                }
                let fitting = try await connection.query(
                    "update import_rows set verdict = 'imported' where verdict is null"
                )
                return try await connection.outcome(of: batch, imported: fitting.affectedRows ?? 0)
            }
        }
    }

    /// Runs a transaction without a timeout for its statements.
    ///
    /// Only writers of the same rows wait for it.
    ///
    /// The rows are prepared between the statements, which takes seconds for many rows on a busy machine. Therefore the
    /// timeout for a session that is idle in a transaction is long.
    func transaction<Outcome: Sendable>(
        endingBy end: String,
        of application: Application,
        _ body: @Sendable (PostgresConnection) async throws -> Outcome
    ) async throws -> Outcome {
        try await tables(of: application).withConnection { connection in
            try await connection.execute(
                script: """
                    set statement_timeout = 0; set lock_timeout = '60s'; set idle_in_transaction_session_timeout = '60s'
                    """
            )
            _ = try await connection.query("begin")
            let outcome = try await body(connection)
            _ = try await connection.query(Statement(sql: end))
            return outcome
        }
    }

    /// Processes a batch in one transaction.
    ///
    /// If one of its rows is refused, or if the transaction collides with another one, each half of the batch is
    /// processed separately.
    ///
    /// - Parameters:
    ///   - batch: The records.
    ///   - application: The application of the users.
    ///   - join: Returns the outcome of both halves.
    ///   - body: Processes a part of the batch in a transaction.
    /// - Returns: The outcome of all records.
    /// - Throws: `store_unavailable` and similar failures.
    func part<Outcome: Sendable>(
        _ batch: ImportBatch,
        in application: Application,
        joiningBy join: @Sendable (Outcome, Outcome) -> Outcome,
        _ body: @Sendable (ImportBatch) async throws -> Outcome
    ) async throws(Failure) -> Outcome {
        do {
            return try await body(batch)
        } catch let failure as Failure {
            throw failure
        } catch let error as PostgresError {
            let failure = await failure(of: error, in: application)
            guard error.isOfARow || error.handling == .retryTransaction, !batch.rows.isEmpty else { throw failure }
            guard let (first, second) = batch.halves else {
                guard error.isOfARow else { throw failure }
                return try await part(batch.refusing(failure), in: application, joiningBy: join, body)
            }
            let done = try await part(first, in: application, joiningBy: join, body)
            let rest = try await part(second, in: application, joiningBy: join, body)
            return join(done, rest)
        } catch {
            throw Failure.databaseFault(cause: "\(error)")
        }
    }
}

// MARK: Statements

extension Store {
    /// The columns of `import_rows` with their types: first those of users, then of properties, then of related data.
    fileprivate static func columns(in application: Application) -> [(name: String, type: String)] {
        [
            ("record", "bigint"), ("line", "bigint"), ("object_id", "uuid"), ("user_status", "text"),
            ("email_verified", "boolean"), ("social_account", "text"), ("created", "timestamptz"),
            ("updated", "timestamptz"), ("last_login", "timestamptz"), ("locale", "text"), ("dynamic", "jsonb"),
            ("login", #"text collate "C""#), ("hash", "bytea"), ("hash_key_id", "text"), ("roles", "text[]"),
            ("lacks", "text[]"), ("uid", #"text collate "C""#), ("uid_id", "uuid"), ("claims", "text"),
        ] + application.properties.enumerated().map { ("p\($0.offset)", $0.element.type.sqlType) }
    }

    /// Returns the statement that inserts a group of users into a table.
    ///
    /// The group has the users whom no check has refused, and who lack values for exactly the properties in `lacking`.
    /// The columns of these properties have defaults, which the users get. `names` maps the names that the service uses
    /// for columns to the names in the table.
    fileprivate static func insertionOfUsers(
        into table: String,
        _ names: [String: String] = [:],
        lacking: [String],
        in application: Application
    ) -> Statement {
        let system = [
            "object_id", "user_status", "email_verified", "social_account", "created", "updated", "last_login",
            "locale", "dynamic",
        ].map { (name: $0, value: $0 == "created" ? "coalesce(created, now())" : $0) }
        let properties = application.properties.enumerated().map { offset, property in
            (name: property.name.text, value: "p\(offset)")
        }
        let given = system + properties.filter { !lacking.contains($0.name) }
        let columns = given.map { Statement.quoted(identifier: names[$0.name] ?? $0.name) }.joined(separator: ", ")
        let values = given.map(\.value).joined(separator: ", ")
        return """
            insert into \(unsafeRaw: table) (\(unsafeRaw: columns))
            select \(unsafeRaw: values) from import_rows where verdict is null and lacks = \(lacking) order by record
            """
    }

    /// Returns the statement that creates a temporary copy of the users table.
    ///
    /// The copy has the columns, and the rules that a row can break by itself. `create table … like` would copy no
    /// rules of a view, would need a privilege on the table behind the view, and would draw from its sequences.
    fileprivate static func definition(ofCopy copy: String, in application: Application) -> Statement {
        """
        select format('create temporary table %I (%s) on commit drop', \(copy)::text, string_agg(t.part, ', '))
        from (
            select format('%I %s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
                case
                    when a.attgenerated <> '' then format(' generated always as (%s) stored', e.text)
                    when not s.is_drawn then ' default ' || e.text
                end,
                case when a.attnotnull and not s.is_drawn then ' not null' end)
            from pg_attribute a
            left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
            cross join lateral (select pg_get_expr(d.adbin, d.adrelid) as text) e
            cross join lateral (
                select a.attidentity <> '' or exists (
                    select from pg_depend p join pg_class c on c.oid = p.refobjid and c.relkind = 'S'
                    where p.classid = 'pg_attrdef'::regclass and p.objid = d.oid and p.refclassid = 'pg_class'::regclass
                ) as is_drawn
            ) s
            where a.attrelid = federation.users_table(\(application.schema)) and a.attnum > 0 and not a.attisdropped
            union all
            select pg_get_constraintdef(c.oid) from pg_constraint c
            where c.conrelid = federation.users_table(\(application.schema)) and c.contype = 'c'
        ) t (part)
        """
    }

    /// Returns the statement that inserts users with their identities, passwords and roles, and marks their records as
    /// imported.
    fileprivate static func insertion(lacking: [String], in application: Application) -> Statement {
        let schema = Statement.quoted(identifier: application.schema)
        return """
            with fresh as (
                \(insertionOfUsers(into: schema + ".users", lacking: lacking, in: application))
                on conflict do nothing
                returning object_id
            ), written as (
                select r.* from import_rows r join fresh using (object_id) where r.verdict is null
            ), identified as (
                insert into \(unsafeRaw: schema).identities (provider, provider_app, subject, object_id, created, last_used)
                select i.provider, i.provider_app, i.subject, r.object_id,
                    coalesce(i.created, r.created, now()), coalesce(r.last_login, i.created, r.created, now())
                from import_identities i join written r using (record)
            ), with_password as (
                insert into \(unsafeRaw: schema).passwords (object_id, login, hash, hash_key_id)
                select object_id, login, hash, hash_key_id from written where login is not null
            ), with_roles as (
                insert into \(unsafeRaw: schema).user_roles (object_id, role)
                select r.object_id, role from written r, unnest(r.roles) role on conflict do nothing
            )
            update import_rows r set verdict = 'imported' from fresh
            where r.object_id = fresh.object_id and r.verdict is null
            """
    }
}

extension Store {
    /// Returns the statement that writes the uids and custom claims of imported users, and of existing users without
    /// them.
    ///
    /// An existing user keeps a uid and claims: clients know the uid, and an operator may have changed the claims.
    fileprivate static func insertionOfUIDs(in application: Application) -> Statement {
        """
        insert into \(identifier: application.schema).firebase_users as f (object_id, uid, claims)
        select object_id, uid, claims from import_rows
        where verdict in ('imported', 'existing') and num_nonnulls(uid, claims) > 0
        on conflict (object_id) do update set uid = excluded.uid where f.uid is null and excluded.uid is not null
        """
    }
}

extension PostgresConnection {
    /// Returns the columns of an application's users table that the service uses.
    fileprivate func importColumns(of application: Application) async throws -> ImportColumns {
        let result = try await query(
            """
            select name, column_name, has_default from federation.user_columns(\(application.schema))
            where name is not null
            """
        )
        var columns = ImportColumns()
        for (name, column, hasDefault) in try result.all(String.self, String.self, Bool.self) {
            columns.names[name] = column
            if hasDefault { columns.withDefault.insert(name) }
        }
        return columns
    }

    /// Copies the rows of a batch into the temporary tables `import_rows` and `import_identities`.
    ///
    /// - Returns: The distinct sets of properties that users of the batch lack, and for which they get the columns'
    ///   defaults. Users who lack the same set are inserted together.
    func stage(
        _ batch: ImportBatch,
        _ withDefault: Set<String>,
        in application: Application,
        hashingBy hash: IdentityHasher
    ) async throws -> [[String]] {
        let columns = Store.columns(in: application)
        let definitions = columns.map { "\($0.name) \($0.type)" }.joined(separator: ", ")
        _ = try await query(
            Statement(sql: "create temporary table import_rows (\(definitions), verdict text) on commit drop")
        )
        _ = try await query(
            """
            create temporary table import_identities (record bigint, provider text collate "C",
                provider_app text collate "C", subject text collate "C", created timestamptz, hash bytea) on commit drop
            """
        )
        var (rows, identities) = (CopyRows(), CopyRows())
        var lacks: [[String]] = []
        for row in batch.rows {
            let lacking = row.lacking(withDefault, in: application)
            if !lacks.contains(lacking) { lacks.append(lacking) }
            rows.append(row.binds(lacking: lacking, in: application))
            for (key, created) in row.identities {
                identities.append([
                    .int64(Int64(row.record)), .text(key.provider.text), .text(key.app.text), .text(key.subject.text),
                    .time(created), .bytes(hash(key)),
                ])
            }
        }
        try await copy(rows, into: "import_rows", columns: columns.map(\.name))
        try await copy(
            identities,
            into: "import_identities",
            columns: ["record", "provider", "provider_app", "subject", "created", "hash"]
        )
        // Without statistics PostgreSQL would assume that the tables are small, and join them row by row.
        _ = try await query("analyze import_rows (record, object_id, lacks, verdict), import_identities (record)")
        return lacks
    }

    /// Inserts the users of a batch, as far as nothing refuses them.
    ///
    /// - Returns: The outcome of the records.
    fileprivate func insert(
        _ batch: ImportBatch,
        in application: Application,
        hashingBy hash: IdentityHasher
    ) async throws -> ImportOutcome {
        let columns = try await importColumns(of: application)
        let lacks = try await stage(batch, columns.withDefault, in: application, hashingBy: hash)
        try await markTaken(in: application)
        var imported = 0
        for lacking in lacks {
            let inserted = try await query(Store.insertion(lacking: lacking, in: application))
            imported += inserted.affectedRows ?? 0
        }
        _ = try await query(Store.insertionOfUIDs(in: application))
        return try await outcome(of: batch, imported: imported)
    }

    /// Marks each row of `import_rows` that cannot be imported with the reason.
    ///
    /// Each row needs single lookups by an index, however large the tables are. A join could read whole tables.
    fileprivate func markTaken(in application: Application) async throws(PostgresError) {
        let schema = Statement.quoted(identifier: application.schema)
        _ = try await query(
            """
            update import_rows r set verdict = case
                when (select true from \(unsafeRaw: schema).users u where u.object_id = r.object_id limit 1) then 'existing'
                when (select true from \(unsafeRaw: schema).passwords p where p.login = r.login limit 1) then 'loginTaken'
            end
            """
        )
        _ = try await query(
            """
            update import_rows r set verdict = 'identityTaken' from import_identities n
            where n.record = r.record and r.verdict is null and (
                select true from \(unsafeRaw: schema).identities i
                where i.provider = n.provider and i.provider_app = n.provider_app and i.subject = n.subject limit 1
            )
            """
        )
        _ = try await query(
            """
            update import_rows r set verdict = 'identityBanned' from import_identities n
            where n.record = r.record and r.verdict is null and (
                select true from \(unsafeRaw: schema).single_use s
                where s.kind = 'banned' and s.hash = n.hash and s.expires > now() limit 1
            )
            """
        )
        // Clients of Firebase know a user by the uid, or by the object id. So no uid may be another user's object id.
        _ = try await query(
            """
            update import_rows r set verdict = 'uidTaken'
            where (r.verdict is null or r.verdict = 'existing') and (
                (
                    select f.object_id <> r.object_id from \(unsafeRaw: schema).firebase_users f
                    where f.uid = r.uid limit 1
                )
                or r.uid_id <> r.object_id
                    and (select true from \(unsafeRaw: schema).users u where u.object_id = r.uid_id limit 1)
                or r.verdict is null and (
                    select true from \(unsafeRaw: schema).firebase_users f
                    where f.uid = upper(r.object_id::text) collate "C" limit 1
                )
            )
            """
        )
    }

    /// Returns the outcome of records, from the verdicts on the rows of a temporary table.
    ///
    /// - Parameters:
    ///   - table: The table, with the columns `record`, `line` and `verdict`.
    ///   - records: The number of records, with those that were refused before.
    ///   - imported: The number of rows that were written.
    ///   - refused: The records that were refused before.
    ///   - refusal: The reason and the message for a verdict that refuses a row.
    /// - Returns: The outcome.
    /// - Throws: `internal` if a record has no outcome; the transaction is not committed then.
    func outcome(
        ofRowsIn table: String,
        records: Int,
        imported: Int,
        besides refused: [RecordFinding],
        refusal: (String?) -> (reason: String, message: String)
    ) async throws -> ImportOutcome {
        let result = try await query(
            """
            select record, line, verdict from \(identifier: table)
            where verdict is distinct from 'imported' order by record
            """
        )
        var outcome = ImportOutcome()
        outcome.refusals = refused
        for (record, line, verdict) in try result.all(Int.self, Int.self, String?.self) {
            if verdict == "existing" {
                outcome.existing.insert(record)
                continue
            }
            let (reason, message) = refusal(verdict)
            outcome.refusals.append(RecordFinding(record: record, line: line, reason: reason, message: message))
        }
        outcome.counts.records = records
        outcome.counts.imported = imported
        outcome.counts.existing = outcome.existing.count
        outcome.counts.refused = outcome.refusals.count
        guard outcome.counts.areWhole else { throw Failure.sumsDisagree(outcome.counts) }
        return outcome
    }

    fileprivate func outcome(of batch: ImportBatch, imported: Int) async throws -> ImportOutcome {
        try await outcome(
            ofRowsIn: "import_rows",
            records: batch.through - batch.before,
            imported: imported,
            besides: batch.refusals,
            refusal: Self.refusal
        )
    }

    private static func refusal(_ verdict: String?) -> (reason: String, message: String) {
        switch verdict {
        case "loginTaken"?: ("loginTaken", "another user logs in with its login already")
        case "identityTaken"?: ("identityTaken", "another user has one of its identities already")
        case "uidTaken"?: ("uidTaken", "another user has its uid already")
        case "identityBanned"?:
            (
                "identityBanned",
                "one of its identities is banned: a disabled user was erased here; lift the ban to let it in"
            )
        default: ("valueTaken", "another user has a value that only one may have")
        }
    }

    /// Locks an import for a batch until the end of the transaction.
    ///
    /// `--resume` and `--restart` wait for this lock, since PostgreSQL may still run the batch of a dead process.
    ///
    /// - Throws: `conflict` if another process has already processed the records of the batch, or has started the
    ///   import again.
    fileprivate func take(_ key: ImportKey, at batch: ImportBatch) async throws {
        let taken = try await query(
            """
            select from federation.imports
            where \(key.condition) and records = \(batch.before) and finished is null for no key update
            """
        )
        guard taken.count == 1 else { throw Failure.importTaken }
    }

    /// Stores the progress of an import after a batch, and the records that were refused.
    fileprivate func advance(_ key: ImportKey, over batch: ImportBatch, _ outcome: ImportOutcome) async throws {
        _ = try await query(
            """
            update federation.imports set records = \(batch.through), imported = imported + \(outcome.counts.imported),
                existing = existing + \(outcome.counts.existing)
            where \(key.condition)
            """
        )
        let refusals = outcome.refusals
        guard !refusals.isEmpty else { return }
        let list = refusals.map { refusal in
            JSONValue.object([
                "record": .integer(Int64(refusal.record)), "line": .integer(Int64(refusal.line)),
                "reason": .string(refusal.reason), "message": .string(refusal.message),
            ])
        }
        _ = try await query(
            """
            insert into federation.import_refusals (application_id, file_hash, record, line, reason, message)
            select \(key.application.text), \(key.fileHash), r.record, r.line, r.reason, r.message
            from jsonb_to_recordset(\(JSONText(JSONValue.array(list).text)))
                r (record bigint, line bigint, reason text, message text)
            """
        )
    }
}

/// The columns of the table that holds an application's users.
private struct ImportColumns: Sendable {
    /// The names of the columns in the table, keyed by the names that the service's statements use for them.
    var names: [String: String] = [:]
    /// The columns that have a default, under the names that the service's statements use for them.
    var withDefault: Set<String> = []
}

extension ImportRow {
    /// Returns the properties without a value whose columns have a default.
    ///
    /// They get the default, as at a registration.
    fileprivate func lacking(_ withDefault: Set<String>, in application: Application) -> [String] {
        application.properties.filter { property in
            guard withDefault.contains(property.name.text) else { return false }
            if case .value? = given.given(property.name) { return false }
            return true
        }.map(\.name.text)
    }

    /// Returns the values of the columns of `import_rows`, in order.
    fileprivate func binds(lacking: [String], in application: Application) -> [Bind] {
        let dynamic = given.presentDynamic
        var binds: [Bind] = [
            .int64(Int64(record)), .int64(Int64(line)), .uuid(objectID.uuid), .text(status.rawValue),
            .bool(emailVerified), .text(socialAccount ?? Store.ownAccount), .time(created), .time(updated),
            .time(lastLogin), Bind(given.locale?.value), .json(dynamic), Bind(password?.login),
            Bind(password?.hash.bytes), Bind(password?.hash.keyID), .texts(roles), .texts(lacking),
            // A uid that is the user's own object id needs no row.
            Bind(uid?.objectID == objectID ? nil : uid?.text), Bind(uid?.objectID),
            Bind(claims?.text),
        ]
        for property in application.properties {
            guard case .value(let value)? = given.given(property.name) else {
                binds.append(.null(property.type.nullType))
                continue
            }
            binds.append(value.bind)
        }
        return binds
    }
}

extension Bind {
    fileprivate static func time(_ milliseconds: Int64?) -> Bind {
        Bind(milliseconds.map { Timestamp(milliseconds: $0) })
    }
}

extension PostgresError {
    /// Whether a single row caused the error, so that a smaller batch without that row may succeed.
    fileprivate var isOfARow: Bool {
        switch handling {
        case .constraintViolation, .clientFault: true
        case .other: sqlState == "P0001" || sqlState.map { "\($0)".hasPrefix("22") } == true
        case .retryTransaction, .dropConnection, .wait: false
        }
    }
}
