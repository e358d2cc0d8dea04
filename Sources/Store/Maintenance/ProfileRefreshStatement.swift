package import Domain
import Postgres

/// The statement that writes a profile that was fetched without a login.
///
/// It writes user and identity by the sync rules of a login, and opens no session.
///
/// `before` locks the user and returns the values that the rules need, as in `LoginStatement`. `identity` records that
/// the token is valid, if it is still the stored one. `changed` writes the user. Neither `last_login` nor `last_used`
/// changes.
package struct ProfileRefreshStatement: Sendable {
    let application: Application
    let columns: UserColumns
    private let template: StatementTemplate<ProfileRefresh>

    /// Generates the statement.
    ///
    /// - Parameters:
    ///   - application: Determines the schema and the returned columns.
    ///   - targets: The declared properties that the mapping plan writes, without duplicates.
    package init(application: Application, targets: [LoginStatement.Target]) {
        self.application = application
        columns = UserColumns(application: application)
        template = StatementTemplate(Self.text(application: application, targets: targets, columns: columns))
    }

    static func text(
        application: Application,
        targets: [LoginStatement.Target],
        columns: UserColumns
    ) -> SQL<ProfileRefresh> {
        let schema: SQL<ProfileRefresh> = "\(identifier: application.schema)"
        let writes = PropertyWrites<ProfileRefresh>(
            targets: targets,
            values: \.values,
            dynamic: "'{}'::jsonb",
            cleared: Parameter("cleared", as: "text[]") { .texts($0.cleared.map(\.text)) },
            written: "i.written",
            application: application
        )
        let current: [SQL<ProfileRefresh>] = ["true"] + writes.current
        let isKept: SQL<ProfileRefresh> = KeptIdentity.condition(\.identity)
        let written: SQL<ProfileRefresh> = writes.nextWritten.map { ",\nwritten = \($0)" } ?? ""
        return """
            with before as (
                select
                    \(current.joined(separator: ",\n"))
                from \(schema).identities i join \(schema).users u using (object_id)
                where \(isKept) and u.user_status <> 'DISABLED'
                for no key update of u
            ), identity as (
                update \(schema).identities i set
                    \(TokenStanding.assignments(\.standing)), refreshed = now()\(written)
                from before where \(isKept)
                returning i.object_id
            ), changed as (
                update \(schema).users u set
                    \(writes.assignments.joined(separator: ",\n"))
                from identity, before where u.object_id = identity.object_id
                returning \(unsafeRaw: columns.list(of: "u"))
            )
            select * from changed
            """
    }

    fileprivate func filled(with refresh: ProfileRefresh) -> Statement { template.filled(with: refresh) }
}

/// The values that one execution of a `ProfileRefreshStatement` writes.
struct ProfileRefresh: Sendable {
    let values: [PropertyValue?]
    let cleared: [PropertyName]
    let standing: TokenStanding
    let identity: KeptIdentity
}

extension Store {
    /// Writes a profile that was fetched without a login.
    ///
    /// - Parameters:
    ///   - values: One value for each property that the statement writes; nil if the provider's profile lacks the
    ///     value.
    ///   - cleared: The properties to empty, because the profile lacks them.
    ///   - standing: What the provider reported about the token.
    ///   - identity: The identity with the token that the provider was asked about.
    ///   - statement: The statement of the application and its stored mapping.
    /// - Returns: The updated user; nil, with nothing changed, when the token is no longer the stored one or the user
    ///   is disabled.
    /// - Throws: `constraint_violation` and similar failures.
    package func refreshProfile(
        _ values: [PropertyValue?],
        clearing cleared: [PropertyName] = [],
        standing: TokenStanding,
        of identity: KeptIdentity,
        by statement: ProfileRefreshStatement
    ) async throws(Failure) -> StatementOutcome<User?> {
        let refresh = ProfileRefresh(values: values, cleared: cleared, standing: standing, identity: identity)
        return try await current(statement.application) {
            try await tables(of: statement.application).query(
                statement.filled(with: refresh),
                near: statement.application.affinity
            ).first(by: statement.columns.user)
        }
    }
}
