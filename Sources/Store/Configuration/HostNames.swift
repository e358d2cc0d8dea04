import Postgres
package import Vocabulary

extension Store {
    /// Refuses host names that another application has: `/api` on a host leads to one application.
    ///
    /// - Throws: `conflict` with the first name that is taken and whose it is.
    package func refuseTakenHostNames(_ names: [String], of id: ApplicationID) async throws(Failure) {
        guard !names.isEmpty else { return }
        let taken = try await query(Self.hostNamesTaken(names, of: id))
        let conflict = try read { () throws(PostgresError) in
            guard let row = taken.first else { return Failure?.none }
            return try Self.hostNameConflict(row)
        }
        if let conflict { throw conflict }
    }

    /// The same within a change, for the settings that a step is about to write.
    ///
    /// Changes of different applications may run at once; those that take host names follow one another.
    static func refuseTakenHostNames(
        in settings: JSONValue,
        of id: ApplicationID,
        on connection: PostgresConnection
    ) async throws {
        let names = settings.object?["hostNames"]?.array?.compactMap(\.string) ?? []
        guard !names.isEmpty else { return }
        _ = try await connection.query(
            "select pg_advisory_xact_lock(hashtextextended('federation host names', 0))"
        )
        let taken = try await connection.query(hostNamesTaken(names, of: id))
        if let row = taken.first { throw try hostNameConflict(row) }
    }

    private static func hostNamesTaken(_ names: [String], of id: ApplicationID) -> Statement {
        """
        select n, a.id from unnest(\(names)) n
        join federation.applications a on a.settings -> 'hostNames' ? n
        where a.id <> \(id.text) order by n limit 1
        """
    }

    private static func hostNameConflict(_ row: Row) throws(PostgresError) -> Failure {
        let name = try row.decode(0, as: String.self)
        let application = try row.decode(1, as: String.self)
        return Failure(
            .conflict,
            "The host name \(name) belongs to the application \(application) already. Take it away there first.",
            details: ["hostName": .string(name), "application": .string(application)]
        )
    }
}
