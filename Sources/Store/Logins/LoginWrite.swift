import Postgres
package import Vocabulary

extension Store {
    /// Writes what has been heard of logins: a row for each, and all of them into the counts of their minutes and
    /// hours.
    ///
    /// It is one statement, so no connection is taken for it.
    ///
    /// - Parameters:
    ///   - records: Those that the log gets rows of.
    ///   - counts: All logins since the last call, whether they are among the records or not.
    /// - Throws: `store_unavailable` and its like; nothing is written then, or, where the connection broke at the end,
    ///   all of it.
    package func writeLogins(_ records: [LoginRecord], counts: [LoginKind: LoginCount]) async throws(Failure) {
        let rows = JSONText(JSONValue.array(records.map(\.json)).text)
        let numbers = JSONText(JSONValue.array(counts.map(Self.json)).text)
        _ = try await query("select federation.write_logins(\(rows), \(numbers))")
    }

    private static func json(_ kind: LoginKind, _ count: LoginCount) -> JSONValue {
        .object([
            "application": .string(kind.application.text), "minute": .integer(kind.minute),
            "method": .string(kind.method.rawValue), "provider": .string(kind.provider?.text ?? ""),
            "outcome": .string(kind.outcome.rawValue), "reason": .string(kind.reason?.rawValue ?? ""),
            "logins": .integer(count.logins), "unlisted": .integer(count.unlisted),
        ])
    }

    /// Ids of one millisecond, as `federation.write_logins` gives them: an id tells when its row was written, and stays
    /// a number that JavaScript has.
    static let idsOfMillisecond = "1024"

    // MARK: What goes

    /// Removes rows of the log that are past their time, the oldest first.
    ///
    /// - Parameters:
    ///   - days: How long they are kept.
    ///   - limit: How many at most.
    /// - Returns: How many were removed; as many as `limit` means that there may be more.
    /// - Throws: `store_unavailable` and its like.
    package func purgeLogins(olderThanDays days: Int, limit: Int) async throws(Failure) -> Int {
        let result = try await query(
            """
            with dead as (
                select id from federation.login_log
                where id < (extract(epoch from now() - make_interval(days => \(days)::integer)) * 1000)::bigint
                    * \(unsafeRaw: Self.idsOfMillisecond)
                order by id limit \(limit) for update skip locked
            )
            delete from federation.login_log where id in (select id from dead)
            """
        )
        return result.affectedRows ?? 0
    }

    /// Removes counts that are past their time: those of minutes after a day, which charts of a day need, those of
    /// hours with the log.
    package func purgeLoginCounts(olderThanDays days: Int, limit: Int) async throws(Failure) -> Int {
        var removed = 0
        for (seconds, age) in [(60, min(days * 24, 25)), (3600, days * 24)] {
            let result = try await query(
                """
                with dead as (
                    select ctid from federation.login_counts
                    where seconds = \(unsafeRaw: String(seconds))
                        and starts < now() - make_interval(hours => \(age)::integer)
                    order by starts limit \(limit) for update skip locked
                )
                delete from federation.login_counts where ctid = any (array(select ctid from dead))
                """
            )
            removed = max(removed, result.affectedRows ?? 0)
        }
        return removed
    }

    /// Removes rows and counts of an application that is gone: of the one that comes first.
    ///
    /// - Returns: How many were removed; as many as `limit` means that there may be more.
    package func purgeLoginsOfGoneApplications(limit: Int) async throws(Failure) -> Int {
        guard let gone = try await goneApplication() else { return 0 }
        let result = try await query(
            """
            with gone as (
                select from federation.applications where id = \(gone)
            ), rows as (
                delete from federation.login_log where id in (
                    select id from federation.login_log
                    where application_id = \(gone) and not exists (select from gone)
                    order by id limit \(limit) for update skip locked
                ) returning 1
            ), counts as (
                delete from federation.login_counts where ctid = any (array(
                    select ctid from federation.login_counts
                    where application_id = \(gone) and not exists (select from gone)
                    limit \(limit) for update skip locked
                )) returning 1
            )
            select greatest((select count(*) from rows), (select count(*) from counts))
            """
        )
        return try read { () throws(PostgresError) in try result.first?.decode(0, as: Int.self) ?? 0 }
    }

    /// An application that has rows or counts and is no more.
    ///
    /// By a statement of its own, which goes from one application to the next in an index: joined to the rows that are
    /// removed, it had all of the log read to find that none is.
    private func goneApplication() async throws(Failure) -> String? {
        let result = try await query(
            """
            with recursive present as (
                (select application_id from federation.login_log order by application_id limit 1)
                union all
                select (select l.application_id from federation.login_log l
                    where l.application_id > p.application_id order by l.application_id limit 1)
                from present p where p.application_id is not null
            ), counted as (
                (select application_id from federation.login_counts order by application_id limit 1)
                union all
                select (select l.application_id from federation.login_counts l
                    where l.application_id > p.application_id order by l.application_id limit 1)
                from counted p where p.application_id is not null
            )
            select application_id from (select * from present union select * from counted) known
            where application_id is not null
                and not exists (select from federation.applications a where a.id = known.application_id)
            order by application_id limit 1
            """
        )
        return try read { () throws(PostgresError) in try result.first?.decode(0, as: String.self) }
    }

    /// Forgets some of what the log has of users who were erased: who they were, where they came from and with what.
    ///
    /// Each is looked at once more later, when no instance has a login of theirs any more that it has not written.
    ///
    /// - Returns: How many rows were changed or users looked at; as many as `limit` means that there may be more.
    package func forgetErasedLogins(limit: Int) async throws(Failure) -> Int {
        let result = try await query(
            """
            with due as (
                select application_id, object_id, erased from federation.login_log_erasures
                where due <= now() order by due limit \(limit) for update skip locked
            ), forgotten as (
                update federation.login_log set object_id = null, source = null, user_agent = null, session = null
                where id in (
                    select l.id from due join federation.login_log l
                        on (l.application_id, l.object_id) = (due.application_id, due.object_id)
                    limit \(limit)
                ) returning 1
            ), changed as (
                select count(*) as rows from forgotten
            ), once_more as (
                update federation.login_log_erasures e set due = now() + interval '10 minutes'
                from due, changed where (e.application_id, e.object_id) = (due.application_id, due.object_id)
                    and changed.rows < \(limit) and due.erased > now() - interval '10 minutes'
            ), done as (
                delete from federation.login_log_erasures e using due, changed
                where (e.application_id, e.object_id) = (due.application_id, due.object_id)
                    and changed.rows < \(limit) and due.erased <= now() - interval '10 minutes'
            )
            select greatest(rows, (select count(*) from due)) from changed
            """
        )
        return try read { () throws(PostgresError) in try result.first?.decode(0, as: Int.self) ?? 0 }
    }
}

extension Tables {
    /// Has the log of logins forget users whom a transaction has erased.
    ///
    /// It is done later, since somebody may have logged in a million times. Where the users are in another database it
    /// is committed before the transaction is, as entries of the audit log are (decision D24).
    func forgetLogins(
        of users: [ObjectID],
        in application: ApplicationID,
        with connection: PostgresConnection
    ) async throws {
        guard !users.isEmpty else { return }
        let note: Statement = """
            insert into federation.login_log_erasures (application_id, object_id)
            select \(application.text), id from unnest(\(users.map(\.description))::uuid[]) id
            on conflict (application_id, object_id) do update set erased = excluded.erased, due = excluded.due
            """
        _ = place == nil ? try await connection.query(note) : try await databases.main.query(note)
    }
}

extension LoginRecord {
    fileprivate var json: JSONValue {
        .object([
            "application": .string(application.text), "happened": .integer(happened),
            "method": .string(method.rawValue), "provider": provider.map { .string($0.text) } ?? .null,
            "credential": .string(credential), "outcome": .string(outcome.rawValue),
            "reason": reason.map { .string($0.rawValue) } ?? .null, "cause": cause.map(JSONValue.string) ?? .null,
            "user": user.map { .string($0.description) } ?? .null,
            "request": request.map(JSONValue.string) ?? .null, "source": source.map(JSONValue.string) ?? .null,
            "agent": userAgent.map(JSONValue.string) ?? .null,
            "session": session.map(JSONValue.string) ?? .null,
            "milliseconds": .integer(milliseconds),
        ])
    }
}
