package import Domain
package import Encodings
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

/// A revision of a mapping.
package struct StoredMapping: Sendable {
    package let revision: Int64
    package let document: JSONValue
    package let isActive: Bool
    package let created: Int64
    /// The actor who made the revision; nil if it was stored before the service recorded authors.
    package let author: String?
}

extension Store {
    /// Returns a page of a provider's mapping revisions that precede `before`, the newest first.
    package func mappingRevisions(
        for provider: ProviderName,
        of id: ApplicationID,
        before: Int64?,
        limit: Int
    ) async throws(Failure) -> [StoredMapping] {
        let result = try await query(
            """
            \(StoredMapping.selection) where application_id = \(id.text) and provider = \(provider.text)
                and revision < \(before ?? .max)
            order by revision desc limit \(limit)
            """
        )
        return try result.all(by: StoredMapping.init)
    }

    package func mappingRevision(
        _ revision: Int64,
        for provider: ProviderName,
        of id: ApplicationID
    ) async throws(Failure) -> StoredMapping? {
        let result = try await query(
            """
            \(StoredMapping.selection) where application_id = \(id.text) and provider = \(provider.text)
                and revision = \(revision)
            """
        )
        return try result.first(by: StoredMapping.init)
    }
}

extension StoredMapping {
    fileprivate static let selection: Statement =
        "select revision, document, active, created, author from federation.mappings"

    fileprivate init(_ row: inout Row) throws(PostgresError) {
        self.init(
            revision: try row.next(),
            document: try row.next(),
            isActive: try row.next(),
            created: try row.next(Timestamp.self).milliseconds,
            author: try row.next()
        )
    }
}
