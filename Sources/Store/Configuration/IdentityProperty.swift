import Postgres
package import Vocabulary

extension Store {
    /// Refuses another identity property where people have passwords: they would not be found by what they log in by.
    ///
    /// - Throws: `conflict`.
    package func refuseIdentityChange(to settings: JSONValue, of stored: StoredApplication) async throws(Failure) {
        guard let statement = Self.passwordsOfOthers(than: settings, stored.id, schema: stored.schema) else { return }
        if try await query(statement).count > 0 { throw Self.identityPropertyStays }
    }

    /// The same within a change, for the settings that a step is about to write.
    static func refuseIdentityChange(
        to settings: JSONValue,
        of id: ApplicationID,
        schema: String,
        on connection: PostgresConnection
    ) async throws {
        guard let statement = passwordsOfOthers(than: settings, id, schema: schema) else { return }
        if try await connection.query(statement).count > 0 { throw identityPropertyStays }
    }

    /// A row where the application has another identity property, and somebody a password.
    private static func passwordsOfOthers(
        than settings: JSONValue,
        _ id: ApplicationID,
        schema: String
    ) -> Statement? {
        guard let property = settings.object?["identityProperty"]?.string else { return nil }
        return """
            select from federation.applications a
            where a.id = \(id.text) and coalesce(a.settings ->> 'identityProperty', \(PropertyName.email.text)) <> \(property)
                and exists (select from \(identifier: schema).passwords)
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
