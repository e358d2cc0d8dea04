import Postgres
package import Vocabulary

extension Store {
    /// The number that every change of configuration raises, and the database's clock: milliseconds since 1970 UTC.
    package func configurationState() async throws(Failure) -> (revision: Int64, milliseconds: Int64) {
        let result = try await query(
            "select revision, (extract(epoch from clock_timestamp()) * 1000)::bigint from federation.configuration"
        )
        return try read { () throws(PostgresError) in
            try result.first.map { row throws(PostgresError) in
                (try row.decode(0, as: Int64.self), try row.decode(1, as: Int64.self))
            }
        } ?? (0, 0)
    }

    /// One application; nil when there is none.
    ///
    /// - Throws: `stored_value_unreadable` when not all of it can be read.
    package func application(_ id: ApplicationID) async throws(Failure) -> StoredApplication? {
        let result = try await query(StoredApplication.statement(for: id))
        let stored = try read { () throws(PostgresError) in try StoredApplication.all(in: result).first }
        if let column = stored?.unreadable.first { throw .unreadable(column) }
        return stored
    }

    /// Applications in the order of their ids, for a list: those behind `after`.
    package func applications(after: ApplicationID?, limit: Int) async throws(Failure) -> [StoredApplication] {
        let result = try await query(
            """
            select \(StoredApplication.columns) from federation.applications a
            where a.id > \(after?.text ?? "") order by a.id limit \(limit)
            """
        )
        return try read { () throws(PostgresError) in try StoredApplication.all(in: result) }
    }

    /// What an instance needs to bring its copy up to date: all ids, and the applications that changed since.
    ///
    /// No change falls between two copies: a transaction that changes configuration takes its revision by updating the
    /// one row of `federation.configuration` and keeps that row locked until it commits. So revisions become visible in
    /// their order, and whoever has seen one has seen all before it.
    package func configuration(changedAfter revision: Int64) async throws(Failure) -> ConfigurationCopy {
        try await transaction { connection in
            // Both questions see one moment. They are many small ones to PostgreSQL, which would rather compile them
            // first (JIT), for longer than a statement may take.
            try await connection.execute(
                script: "set transaction isolation level repeatable read, read only; set local jit = off"
            )
            let whole = try await connection.query(
                """
                select (select revision from federation.configuration), coalesce(array_agg(id), '{}')
                from federation.applications
                """
            )
            let changed = try await connection.query(
                """
                select \(StoredApplication.columns) from federation.applications a
                where a.revision > \(revision) order by a.id
                """
            )
            return ConfigurationCopy(
                revision: try whole.first?.decode(0, as: Int64.self) ?? 0,
                ids: Set(try whole.first?.decode(1, as: [String].self).compactMap { ApplicationID($0) } ?? []),
                changed: try StoredApplication.all(in: changed)
            )
        }
    }
}

/// The configuration as of one moment.
package struct ConfigurationCopy: Sendable {
    package let revision: Int64
    package let ids: Set<ApplicationID>
    package let changed: [StoredApplication]
}
