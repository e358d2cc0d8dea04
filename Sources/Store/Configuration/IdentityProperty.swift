import Postgres
package import Vocabulary

extension StoredApplication {
    /// Whether settings name another identity property than the application has.
    func hasOtherIdentityProperty(than settings: JSONValue) -> Bool {
        guard let property = settings.object?["identityProperty"]?.string else { return false }
        return property != self.settings.object?["identityProperty"]?.string ?? PropertyName.email.text
    }
}

extension Store {
    /// Refuses another identity property where people have passwords: they would not be found by what they log in by.
    ///
    /// - Throws: `conflict`.
    package func refuseIdentityChange(to settings: JSONValue, of stored: StoredApplication) async throws(Failure) {
        guard stored.hasOtherIdentityProperty(than: settings) else { return }
        let passwords = try await query(Self.passwords(inSchema: stored.schema), in: tables(of: stored))
        if passwords.count > 0 { throw Self.identityPropertyStays }
    }

    /// The same within a change, for the settings that a step is about to write.
    static func refuseIdentityChange(
        to settings: JSONValue,
        of stored: StoredApplication,
        on tables: PostgresConnection
    ) async throws {
        guard stored.hasOtherIdentityProperty(than: settings) else { return }
        if try await tables.query(passwords(inSchema: stored.schema)).count > 0 { throw identityPropertyStays }
    }

    /// A row where somebody has a password.
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
