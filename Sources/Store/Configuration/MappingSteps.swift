import Identity
import Postgres

extension ChangeTransaction {
    func setMapping(_ document: JSONValue) async throws {
        _ = try await connection.query(
            """
            update federation.mappings set active = false
            where application_id = \(application.text) and provider = 'facebook' and active
            """
        )
        _ = try await connection.query(
            """
            insert into federation.mappings (application_id, provider, revision, document, active, author)
            select \(application.text), 'facebook', coalesce(max(revision), 0) + 1, \(JSONText(document.text)), true,
                \(actor.name)
            from federation.mappings where application_id = \(application.text) and provider = 'facebook'
            """
        )
    }
}
