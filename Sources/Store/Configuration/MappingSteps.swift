import Postgres
package import Vocabulary

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
    /// The actor who made it; nil for those made before this was kept.
    package let author: String?
}

extension Store {
    /// Revisions of the mapping for a provider, the newest first: those before `before`.
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
        return try read { () throws(PostgresError) in try StoredMapping.all(in: result) }
    }

    /// One revision; nil when there is none.
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
        return try read { () throws(PostgresError) in try StoredMapping.all(in: result).first }
    }
}

extension StoredMapping {
    fileprivate static let selection: Statement =
        "select revision, document, active, created, author from federation.mappings"

    fileprivate static func all(in result: ResultSet) throws(PostgresError) -> [StoredMapping] {
        var revisions: [StoredMapping] = []
        for row in result.rows {
            revisions.append(
                StoredMapping(
                    revision: try row.decode(0, as: Int64.self),
                    document: try row.decode(1, as: JSONValue.self),
                    isActive: try row.decode(2, as: Bool.self),
                    created: try row.decode(3, as: Timestamp.self).milliseconds,
                    author: try row.decode(4, as: String?.self)
                )
            )
        }
        return revisions
    }
}
