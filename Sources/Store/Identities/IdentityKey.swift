import FoundationEssentials
import Postgres
package import Vocabulary

extension IdentityKey {
    /// An identity as tables have it; nil for texts that this program could not have written.
    init?(provider: String, app: String, subject: String) {
        guard let provider = ProviderName(provider), let app = ProviderAppID(app), let subject = Subject(subject) else {
            return nil
        }
        self.init(provider: provider, app: app, subject: subject)
    }

    /// Reads the columns `provider`, `provider_app` and `subject`, of which the first is the one with that number.
    init?(_ row: Row, from first: Int = 0) throws(PostgresError) {
        self.init(
            provider: try row.decode(first, as: String.self),
            app: try row.decode(first + 1, as: String?.self) ?? "",
            subject: try row.decode(first + 2, as: String?.self) ?? ""
        )
    }

    /// The condition on a row of `identities`, or of a table with the same columns.
    var condition: Statement {
        "provider = \(provider.text) and provider_app = \(app.text) and subject = \(subject.text)"
    }
}

extension Store {
    /// Whether a user has the identity.
    ///
    /// - Throws: `store_unavailable` and its like.
    package func isKnown(_ identity: IdentityKey, in application: Application) async throws(Failure) -> Bool {
        let result = try await query(
            "select exists (select from \(identifier: application.schema).identities where \(identity.condition))",
            of: application
        )
        return try read { () throws(PostgresError) in try result.first?.decode(0, as: Bool.self) } == true
    }
}

extension PostgresConnection {
    /// Locks the user of an identity; nil when there is none.
    ///
    /// A login locks the user first and the identity after that, too, so that it is over before or sees the outcome.
    func lockUser(of identity: IdentityKey, schema: String) async throws(PostgresError) -> ObjectID? {
        let result = try await query(
            """
            select u.object_id from \(identifier: schema).users u where u.object_id = (
                select object_id from \(identifier: schema).identities where \(identity.condition)
            ) for update
            """
        )
        guard let row = result.first else { return nil }
        return ObjectID(try row.decode(0, as: UUID.self))
    }
}
