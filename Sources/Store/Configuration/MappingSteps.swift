import Vocabulary
import Postgres

extension ChangeTransaction {
    func setMapping(_ document: JSONValue, for provider: ProviderName) async throws {
        _ = try await connection.query(
            """
            update federation.mappings set active = false
            where application_id = \(application.text) and provider = \(provider.text) and active
            """
        )
        _ = try await connection.query(
            """
            insert into federation.mappings (application_id, provider, revision, document, active, author)
            select \(application.text), \(provider.text), coalesce(max(revision), 0) + 1, \(JSONText(document.text)), true,
                \(actor.name)
            from federation.mappings where application_id = \(application.text) and provider = \(provider.text)
            """
        )
    }
}
