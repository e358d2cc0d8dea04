package import Domain
import Postgres

extension Store {
    /// Returns the revision, which every change of configuration raises, and the database's time in ms since 1970 UTC.
    package func configurationState() async throws(Failure) -> (revision: Int64, milliseconds: Int64) {
        let result = try await query(
            "select revision, (extract(epoch from clock_timestamp()) * 1000)::bigint from federation.configuration"
        )
        return try result.first(Int64.self, Int64.self) ?? (0, 0)
    }

    /// Returns an application; nil if there is none.
    ///
    /// - Throws: `stored_value_unreadable` if a part of it cannot be read.
    package func application(_ id: ApplicationID) async throws(Failure) -> StoredApplication? {
        let result = try await query(StoredApplication.statement(for: id))
        let stored = try result.first(by: StoredApplication.init)
        if let column = stored?.unreadable.first { throw .unreadable(column) }
        return stored
    }

    /// Returns a page of applications, ordered by id, that follow `after`.
    package func applications(after: ApplicationID?, limit: Int) async throws(Failure) -> [StoredApplication] {
        let result = try await query(
            """
            select \(StoredApplication.columns) from federation.applications a
            where a.id > \(after?.text ?? "") order by a.id limit \(limit)
            """
        )
        return try result.all(by: StoredApplication.init)
    }

    /// Returns all applications' ids, and the applications that changed since a revision.
    ///
    /// An instance uses this to refresh its copy of the configuration.
    ///
    /// No change is lost between two copies. A transaction that changes configuration takes its revision by updating
    /// the one row of `federation.configuration`, and keeps that row locked until it commits. So revisions become
    /// visible in order: a reader that has seen one has seen all before it.
    package func configuration(changedAfter revision: Int64) async throws(Failure) -> ConfigurationCopy {
        try await transaction { connection in
            // One snapshot for both queries. The many small subqueries would make PostgreSQL compile them first (JIT),
            // for longer than a statement may take.
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
            let (newest, ids) = try whole.first(Int64.self, [String].self) ?? (0 as Int64, [])
            return ConfigurationCopy(
                revision: newest,
                ids: Set(ids.compactMap { ApplicationID($0) }),
                changed: try changed.all(by: StoredApplication.init)
            )
        }
    }
}

/// The ids of all applications, and the applications that changed since a revision, all read at one point in time.
package struct ConfigurationCopy: Sendable {
    package let revision: Int64
    package let ids: Set<ApplicationID>
    package let changed: [StoredApplication]
}

/// An announcement to an instance that the configuration may have changed.
package enum ConfigurationAnnouncement: Sendable {
    /// A transaction has changed the configuration.
    case changed
    /// The instance has connected to PostgreSQL to receive notifications, at its start or after a lost connection.
    ///
    /// The instance may have missed notifications. It may also be connected to another database server than before, and
    /// that server may lack some changes.
    case connected
}

extension Store {
    /// Returns the announcements of configuration changes.
    ///
    /// Announcements can be late or lost. A listener must therefore also poll the revision now and then.
    package func configurationAnnouncements() -> some AsyncSequence<ConfigurationAnnouncement, Never> & Sendable {
        postgres.client.notifications(on: "federation_configuration").map { notification in
            switch notification {
            case .listening: .connected
            case .received: .changed
            }
        }
    }
}
