package import Domain
import Encodings
import Postgres

extension Store {
    /// Adds identities to existing users in one transaction.
    ///
    /// Pairs that cannot be stored are refused, and the others are stored.
    ///
    /// A repetition changes nothing, so an interrupted file can be written again from its beginning.
    ///
    /// - Parameters:
    ///   - pairs: The users with their identities, all of one app at one provider.
    ///   - refused: Records of the same batch that have been refused already. They become part of the outcome.
    ///   - application: The application of the users.
    ///   - hash: The hash by which banned identities are recognized.
    /// - Returns: The outcome of the records; `existing` are those whose users have the identity already.
    /// - Throws: `internal` if a record has no outcome; `store_unavailable` and similar failures. Nothing is written
    ///   then.
    package func link(
        _ pairs: [IdentityPair],
        besides refused: [RecordFinding],
        in application: Application,
        hashingBy hash: @escaping IdentityHasher
    ) async throws(Failure) -> ImportOutcome {
        try await link(pairs, besides: refused, in: application, isDryRun: false, hashingBy: hash).0
    }

    /// Determines the outcome that `link` would have, and writes nothing.
    ///
    /// - Parameters:
    ///   - pairs: The users with their identities.
    ///   - refused: Records of the same batch that have been refused already.
    ///   - users: The users, as hashes, who would have an identity by the former batches. Those of this batch are added.
    ///   - application: The application of the users.
    ///   - hash: The hash by which banned identities are recognized.
    /// - Returns: The outcome of the records.
    /// - Throws: `internal` if a record has no outcome; `store_unavailable` and similar failures.
    package func checkLinks(
        _ pairs: [IdentityPair],
        besides refused: [RecordFinding],
        after users: inout Set<Int>,
        in application: Application,
        hashingBy hash: @escaping IdentityHasher
    ) async throws(Failure) -> ImportOutcome {
        let (linked, approved) = try await link(
            pairs,
            besides: refused,
            in: application,
            isDryRun: true,
            hashingBy: hash
        )
        var outcome = linked
        // One record may name a user by id, and one of a former batch by address.
        for (record, line, user) in approved where !users.insert(user.hashValue).inserted {
            let (reason, message) = PairStatement.refusal("userHasIdentity")
            outcome.refusals.append(RecordFinding(record: record, line: line, reason: reason, message: message))
            outcome.counts.imported -= 1
            outcome.counts.refused += 1
        }
        return outcome
    }

    /// Adds identities to users, or determines the outcome of that.
    ///
    /// - Returns: The outcome of the records, and what a dry run would import.
    private func link(
        _ pairs: [IdentityPair],
        besides refused: [RecordFinding],
        in application: Application,
        isDryRun: Bool,
        hashingBy hash: @escaping IdentityHasher
    ) async throws(Failure) -> LinkedPairs {
        try await translating(of: application) {
            try await repeatingAfterLocks {
                try await tables(of: application).withTransaction { connection -> LinkedPairs in
                    try await connection.stage(pairs, hashingBy: hash)
                    _ = try await connection.query(PairStatement.users(in: application))
                    if !isDryRun { _ = try await connection.query(PairStatement.lock(in: application)) }
                    for mark in PairStatement.marks(in: application) { _ = try await connection.query(mark) }
                    let written = try await connection.query(
                        isDryRun ? PairStatement.approval : PairStatement.insertion(in: application)
                    )
                    // The login of a new user may have created the identity meanwhile.
                    _ = try await connection.query(PairStatement.owners(in: application))
                    let outcome = try await connection.outcome(
                        ofRowsIn: "import_pairs",
                        records: pairs.count + refused.count,
                        imported: written.affectedRows ?? 0,
                        besides: refused,
                        refusal: PairStatement.refusal
                    )
                    guard isDryRun else { return (outcome, []) }
                    let approved = try await connection.query(PairStatement.approved)
                    return (outcome, try approved.all(Int.self, Int.self, ObjectID.self))
                }
            }
        }
    }

    /// Repeats a transaction, at most nine times, while another session holds a row that the transaction has to lock.
    private func repeatingAfterLocks<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        for attempt in 1...9 {
            do { return try await body() } catch let error as PostgresError where error.sqlState == "55P03" {
                try await Task.sleep(for: .milliseconds(200 * attempt))
            }
        }
        return try await body()
    }

    /// Records a step of an import of identities in the audit log.
    ///
    /// - Parameters:
    ///   - step: `begin` or `end`.
    ///   - provider: The provider of the identities.
    ///   - application: The application of the users.
    ///   - fileHash: SHA-256 of the file.
    ///   - counts: The outcome at the end.
    ///   - actor: The operator.
    /// - Throws: `store_unavailable` and similar failures.
    package func recordIdentityImport(
        _ step: String,
        at provider: ProviderName,
        into application: Application,
        fileHash: [UInt8],
        counts: ImportCounts?,
        by actor: ChangeAuthor
    ) async throws(Failure) {
        var to: JSONObject = [
            "step": .string(step), "provider": .string(provider.text), "file": .string(Hexadecimal.encode(fileHash)),
        ]
        if let counts { to = JSONObject(to.members + counts.outcomes.members) }
        let record = AuditRecord("identity.import", in: application.id, to: .object(to))
        let tables = tables(of: application)
        try await transaction(in: tables) { try await tables.record([record], by: actor, with: $0) }
    }
}

/// The outcome of records; in a dry run also the number, the line and the user of each record that would be imported.
private typealias LinkedPairs = (ImportOutcome, [(Int, Int, ObjectID)])

/// The statements that give verdicts to the rows of the temporary table `import_pairs`.
///
/// A row without a verdict can still be written.
private enum PairStatement {
    /// Returns the statement that finds the users by their e-mail addresses.
    ///
    /// It is a join, since an adopted table may have no index of addresses.
    static func users(in application: Application) -> Statement {
        """
        update import_pairs p
        set object_id = f.object_id,
            verdict = case f.users when 0 then 'userUnknown' when 1 then null else 'userAmbiguous' end
        from (
            select p.record, (array_agg(u.object_id))[1] as object_id, count(u.object_id) as users
            from import_pairs p left join \(identifier: application.schema).users u on lower(u.email) = lower(p.email)
            where p.email is not null group by p.record
        ) f
        where f.record = p.record
        """
    }

    /// Returns the statements that mark the rows that cannot be written.
    static func marks(in application: Application) -> [Statement] {
        let schema = Statement.quoted(identifier: application.schema)
        return [
            """
            update import_pairs p set verdict = nullif(coalesce((
                select case
                    when u.user_status = 'GUEST' then 'userIsGuest'
                    when p.email is null or u.email_verified and lower(u.email) = lower(p.email) then 'fits'
                    else 'emailUnconfirmed'
                end
                from \(unsafeRaw: schema).users u where u.object_id = p.object_id
            ), 'userUnknown'), 'fits') where verdict is null
            """,
            owners(in: application),
            """
            update import_pairs p set verdict = 'identityBanned' where verdict is null and (
                select true from \(unsafeRaw: schema).single_use s
                where s.kind = 'banned' and s.hash = p.hash and s.expires > now() limit 1
            )
            """,
            """
            update import_pairs p set verdict = 'userHasIdentity' where verdict is null and (
                select true from (
                    -- OFFSET makes PostgreSQL look the user up. With the statistics of an empty table it would read all
                    -- identities of the app instead.
                    select provider, provider_app from \(unsafeRaw: schema).identities
                    where object_id = p.object_id offset 0
                ) i
                where i.provider = p.provider and i.provider_app = p.provider_app limit 1
            )
            """,
            // The same user may be named by id and by address.
            """
            update import_pairs p
            set verdict = case when q.subject = q.first then 'existing' else 'userHasIdentity' end
            from (
                select record, subject, first_value(subject) over w as first, row_number() over w as number
                from import_pairs where verdict is null window w as (partition by object_id order by record)
            ) q
            where q.record = p.record and q.number > 1
            """,
        ]
    }

    /// Returns the statement that marks the rows whose identity already belongs to a user.
    static func owners(in application: Application) -> Statement {
        let schema = Statement.quoted(identifier: application.schema)
        return """
            update import_pairs p set verdict = (
                select case when i.object_id = p.object_id then 'existing' else 'identityTaken' end
                from \(unsafeRaw: schema).identities i
                where i.provider = p.provider and i.provider_app = p.provider_app and i.subject = p.subject
            ) where verdict is null
            """
    }

    /// Returns the statement that locks the users who get an identity, as a login does.
    static func lock(in application: Application) -> Statement {
        """
        select from \(identifier: application.schema).users
        where object_id in (select object_id from import_pairs where verdict is null) order by object_id for update
        """
    }

    /// Marks the rows that an import would write.
    static let approval: Statement = "update import_pairs set verdict = 'imported' where verdict is null"

    /// The rows that an import would write.
    static let approved: Statement = """
        select record, line, object_id from import_pairs where verdict = 'imported' order by record
        """

    /// Returns the statement that inserts the identities, and marks their rows.
    ///
    /// As in an import of users, an identity is as old as its user. The user had it in the former system, so the undo of
    /// a later change must not take it for one that a thief has added (`restoreIdentities`).
    static func insertion(in application: Application) -> Statement {
        """
        with fresh as (
            insert into \(identifier: application.schema).identities
                (provider, provider_app, subject, object_id, created, last_used)
            select p.provider, p.provider_app, p.subject, p.object_id, coalesce(u.created, now()),
                coalesce(u.last_login, u.created, now())
            from import_pairs p cross join lateral (
                select created, last_login from \(identifier: application.schema).users
                where object_id = p.object_id limit 1
            ) u
            where p.verdict is null order by p.subject on conflict do nothing
            returning provider, provider_app, subject
        )
        update import_pairs p set verdict = 'imported' from fresh f
        where p.verdict is null
            and f.provider = p.provider and f.provider_app = p.provider_app and f.subject = p.subject
        """
    }

    /// Returns the reason and the message for a verdict that refuses a row.
    static func refusal(_ verdict: String?) -> (reason: String, message: String) {
        switch verdict {
        case "userUnknown"?: ("userUnknown", "no user has its objectId or e-mail")
        case "userAmbiguous"?: ("userAmbiguous", "several users have its e-mail: name the user by objectId")
        case "emailUnconfirmed"?:
            ("emailUnconfirmed", "its user has not confirmed the e-mail: name the user by objectId")
        case "userIsGuest"?: ("userIsGuest", "its user is a guest, who gets identities by a login only")
        case "identityBanned"?:
            ("identityBanned", "its identity is banned: a disabled user was erased here; lift the ban to let it in")
        case "userHasIdentity"?: ("userHasIdentity", "its user has another identity of this provider")
        default: ("identityTaken", "another user has its identity already")
        }
    }
}

extension PostgresConnection {
    /// Copies the pairs into the temporary table `import_pairs`.
    fileprivate func stage(_ pairs: [IdentityPair], hashingBy hash: IdentityHasher) async throws(PostgresError) {
        _ = try await query("select set_config('statement_timeout', '0', true)")
        _ = try await query(
            """
            create temporary table import_pairs (record bigint, line bigint, object_id uuid, email text,
                provider text collate "C", provider_app text collate "C", subject text collate "C", hash bytea,
                verdict text) on commit drop
            """
        )
        var rows = CopyRows()
        for pair in pairs {
            let key = pair.identity
            var (id, email): (Bind, Bind) = (.null(.uuid), .null(.text))
            switch pair.user {
            case .id(let user): id = .uuid(user.uuid)
            case .email(let address): email = .text(address.text)
            }
            rows.append([
                .int64(Int64(pair.record)), .int64(Int64(pair.line)), id, email, .text(key.provider.text),
                .text(key.app.text), .text(key.subject.text), .bytes(hash(key)),
            ])
        }
        try await copy(
            rows,
            into: "import_pairs",
            columns: ["record", "line", "object_id", "email", "provider", "provider_app", "subject", "hash"]
        )
        _ = try await query("analyze import_pairs")
    }
}
