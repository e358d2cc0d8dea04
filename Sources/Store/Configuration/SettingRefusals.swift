package import Domain
package import Encodings
import Postgres

extension Store {
    /// Refuses host names that other applications have.
    ///
    /// The path `/api` of a host leads to one application only.
    ///
    /// - Throws: `conflict` with the first such name and its application.
    package func refuseTakenHostNames(_ names: [String], of id: ApplicationID) async throws(Failure) {
        guard !names.isEmpty else { return }
        let taken = try await query(Self.hostNamesTaken(names, of: id))
        if let conflict = try taken.first(into: Self.hostNameConflict) { throw conflict }
    }

    /// Refuses host names that other applications have, in the settings that a step is about to write.
    ///
    /// Changes of different applications may run concurrently. Those that set host names are serialized.
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
        if let conflict = try taken.first(into: hostNameConflict) { throw conflict }
    }

    /// Refuses the project id of another application, in the settings that a step is about to write.
    ///
    /// Otherwise, the backends of each application would accept the ID tokens of the other.
    static func refuseTakenProject(
        in settings: JSONValue,
        of id: ApplicationID,
        on connection: PostgresConnection
    ) async throws {
        guard let project = settings.object?["firebase"]?.object?["projectId"]?.string else { return }
        _ = try await connection.query("select pg_advisory_xact_lock(hashtextextended('projects of Firebase', 0))")
        let taken = try await connection.query(projectTaken(project, of: id))
        if let other = try taken.first(String.self) { throw projectConflict(project, of: other) }
    }

    /// Refuses the project id of another application.
    ///
    /// - Throws: `conflict` with the other application.
    package func refuseTakenProject(_ project: String?, of id: ApplicationID) async throws(Failure) {
        guard let project else { return }
        if let other = try await query(Self.projectTaken(project, of: id)).first(String.self) {
            throw Self.projectConflict(project, of: other)
        }
    }

    private static func projectTaken(_ project: String, of id: ApplicationID) -> Statement {
        """
        select id from federation.applications
        where settings -> 'firebase' ->> 'projectId' = \(project) and id <> \(id.text) limit 1
        """
    }

    private static func projectConflict(_ project: String, of application: String) -> Failure {
        Failure(
            .conflict,
            "The project \(project) already belongs to the application \(application). Choose another projectId.",
            details: ["application": .string(application)]
        )
    }

    private static func hostNamesTaken(_ names: [String], of id: ApplicationID) -> Statement {
        """
        select n, a.id from unnest(\(names)) n
        join federation.applications a on a.settings -> 'hostNames' ? n
        where a.id <> \(id.text) order by n limit 1
        """
    }

    private static func hostNameConflict(_ name: String, of application: String) -> Failure {
        Failure(
            .conflict,
            "The host name \(name) already belongs to the application \(application). Remove it there first.",
            details: ["hostName": .string(name), "application": .string(application)]
        )
    }
}

extension StoredApplication {
    /// Whether settings change the application's identity property, the property that holds the users' login names.
    func hasOtherIdentityProperty(than settings: JSONValue) -> Bool {
        guard let property = settings.object?["identityProperty"]?.string else { return false }
        return property != self.settings.object?["identityProperty"]?.string ?? PropertyName.email.text
    }
}

extension Store {
    /// Refuses to change which property holds the login names (the identity property) if users have passwords.
    ///
    /// These users could not log in with their login names any more.
    ///
    /// - Throws: `conflict`.
    package func refuseIdentityChange(to settings: JSONValue, of stored: StoredApplication) async throws(Failure) {
        guard stored.hasOtherIdentityProperty(than: settings) else { return }
        let passwords = try await query(Self.passwords(inSchema: stored.schema), in: tables(of: stored))
        if passwords.count > 0 { throw Self.identityPropertyStays }
    }

    /// Refuses settings that a step is about to write, if they change the identity property although users have
    /// passwords.
    static func refuseIdentityChange(
        to settings: JSONValue,
        of stored: StoredApplication,
        on tables: PostgresConnection
    ) async throws {
        guard stored.hasOtherIdentityProperty(than: settings) else { return }
        if try await tables.query(passwords(inSchema: stored.schema)).count > 0 { throw identityPropertyStays }
    }

    /// The query that finds one row if any user has a password.
    private static func passwords(inSchema schema: String) -> Statement {
        "select from \(identifier: schema).passwords limit 1"
    }

    private static let identityPropertyStays = Failure(
        .conflict,
        """
        identityProperty cannot become another: users have passwords already, and log in with them by the one of now. It can be chosen \
        before anybody has a password.
        """
    )
}
