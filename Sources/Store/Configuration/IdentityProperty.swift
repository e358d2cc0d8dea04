import Postgres
package import Vocabulary

extension Store {
    /// Refuses another identity property where people have passwords: they would not be found by what they log in by.
    ///
    /// - Throws: `conflict`.
    package func refuseIdentityChange(to settings: JSONValue, of stored: StoredApplication) async throws(Failure) {
        guard let statement = Self.isOther(than: settings, stored.id), try await query(statement).count > 0 else {
            return
        }
        let passwords = try await query(Self.passwords(inSchema: stored.schema), in: tables(of: stored))
        if passwords.count > 0 { throw Self.identityPropertyStays }
    }

    /// The same within a change, for the settings that a step is about to write.
    static func refuseIdentityChange(
        to settings: JSONValue,
        of id: ApplicationID,
        schema: String,
        on connection: PostgresConnection,
        _ tables: PostgresConnection
    ) async throws {
        guard let statement = isOther(than: settings, id), try await connection.query(statement).count > 0 else {
            return
        }
        if try await tables.query(passwords(inSchema: schema)).count > 0 { throw identityPropertyStays }
    }

    /// A row where somebody has a password.
    private static func passwords(inSchema schema: String) -> Statement {
        "select from \(identifier: schema).passwords limit 1"
    }

    /// A row where the application has another identity property.
    private static func isOther(than settings: JSONValue, _ id: ApplicationID) -> Statement? {
        guard let property = settings.object?["identityProperty"]?.string else { return nil }
        return """
            select from federation.applications a
            where a.id = \(id.text) and coalesce(a.settings ->> 'identityProperty', \(PropertyName.email.text)) <> \(property)
            """
    }

    private static let identityPropertyStays = Failure(
        .conflict,
        """
        identityProperty cannot become another: users have passwords already, and log in with them by the one of now. It can be chosen \
        before anybody has a password.
        """
    )
}
