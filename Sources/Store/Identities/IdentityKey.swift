package import Domain
import FoundationEssentials
import Postgres

extension IdentityKey {
    /// Creates an identity from the texts of its columns; nil if one of them is malformed.
    init?(provider: String, app: String, subject: String) {
        guard let provider = ProviderName(provider), let app = ProviderAppID(app), let subject = Subject(subject) else {
            return nil
        }
        self.init(provider: provider, app: app, subject: subject)
    }

    /// Reads the columns `provider`, `provider_app` and `subject`; nil if they name no identity.
    init?(_ row: inout Row) throws(PostgresError) {
        self.init(
            provider: try row.next(String?.self) ?? "",
            app: try row.next(String?.self) ?? "",
            subject: try row.next(String?.self) ?? ""
        )
    }

    /// The SQL condition for the row of this identity in `identities`, or in a table with the same columns.
    var condition: Statement {
        "provider = \(provider.text) and provider_app = \(app.text) and subject = \(subject.text)"
    }
}

extension Store {
    /// Returns whether a user has the identity.
    ///
    /// - Throws: `store_unavailable` and similar failures.
    package func isKnown(_ identity: IdentityKey, in application: Application) async throws(Failure) -> Bool {
        let result = try await query(
            "select exists (select from \(identifier: application.schema).identities where \(identity.condition))",
            of: application
        )
        return try result.first(Bool.self) == true
    }
}

extension PostgresConnection {
    /// Locks the row of the user who has an identity, and returns the user's id; nil if no user has the identity.
    ///
    /// The user's row is locked before the identity's, as in a login. So a concurrent login either ends before this
    /// lock, or sees what this transaction has written.
    func lockUser(of identity: IdentityKey, schema: String) async throws(PostgresError) -> ObjectID? {
        let result = try await query(
            """
            select u.object_id from \(identifier: schema).users u where u.object_id = (
                select object_id from \(identifier: schema).identities where \(identity.condition)
            ) for update
            """
        )
        return try result.first(ObjectID.self)
    }
}

extension Store {
    /// Returns the subject (the user's id at the provider) of any unrevoked identity at an app; nil if there is none.
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
        return try result.first(String.self).flatMap { Subject($0) }
    }
}
