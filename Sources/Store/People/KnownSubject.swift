import Postgres
package import Vocabulary

extension Store {
    /// The subject of any user who has logged in by an app of a provider and has not revoked that; nil without one.
    package func subject(
        knownTo app: ProviderAppID,
        at provider: ProviderName,
        in application: ApplicationPlace
    ) async throws(Failure) -> Subject? {
        let result = try await query(
            """
            select subject from \(identifier: application.schema).identities
            where provider = \(provider.text) and provider_app = \(app.text) and revoked is null limit 1
            """,
            in: tables(of: application)
        )
        let text = try read { () throws(PostgresError) in try result.first?.decode(0, as: String.self) }
        return text.flatMap { Subject($0) }
    }
}
