package import Domain
import Encodings
import Postgres

extension Store {
    /// Writes rows to the login log, and adds all logins to the counters of their minutes and hours.
    ///
    /// This is a single statement, which needs no lease of a database connection.
    ///
    /// - Parameters:
    ///   - records: The logins that get a row in the log.
    ///   - counts: All logins since the last call, whether or not they are among the records.
    /// - Throws: `store_unavailable` and similar failures. Nothing has been written then. If the connection broke at
    ///   the end, everything may have been written.
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

    /// The number of ids for log rows that `federation.write_logins` reserves for each millisecond.
    ///
    /// An id thus tells when its row was written, and stays within the integers that JavaScript represents exactly.
    static let idsOfMillisecond = "1024"

    // MARK: Purging

    /// Deletes rows of the login log that are older than the retention, the oldest first.
    ///
    /// - Parameters:
    ///   - days: The retention in days.
    ///   - limit: The maximum number of rows.
    /// - Returns: The number of deleted rows; when it equals `limit`, more may be left.
    /// - Throws: `store_unavailable` and similar failures.
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
        return result.affectedRows
    }

    /// Deletes counts of logins that are older than the retention.
    ///
    /// Counts of minutes are kept for 25 hours at most, since only charts of a day need them. Counts of hours are kept
    /// as long as the login log.
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
            removed = max(removed, result.affectedRows)
        }
        return removed
    }

    /// Deletes the rows of the login log and the login counts of an application that no longer exists.
    ///
    /// If there are several such applications, one call deletes the rows of only one: the first by id.
    ///
    /// - Returns: The number of deleted rows; when it equals `limit`, more may be left.
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
        return try result.first(Int.self) ?? 0
    }

    /// Returns an application that no longer exists, but still has rows of the login log or login counts.
    ///
    /// This is a statement of its own, which skips from application to application in an index. When it was joined to
    /// the deletion, PostgreSQL read the whole log to find nothing.
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
        return try result.first(String.self)
    }

    /// Removes user ids, sources, user agents and sessions of erased users from part of the login log.
    ///
    /// Each user is processed again later, when no instance can still hold an unwritten login of that user.
    ///
    /// - Returns: The number of rows changed or users processed; when it equals `limit`, more may be left.
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
        return try result.first(Int.self) ?? 0
    }
}

extension Tables {
    /// Schedules the removal of users from the login log, for a transaction that erases these users.
    ///
    /// The removal is deferred because a user may have logged in a million times. If the users are not in the main
    /// database, the schedule is committed before the transaction, like entries of the audit log (decision D24).
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
