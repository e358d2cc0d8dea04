import Postgres
package import Vocabulary

/// The write of a profile that was read without a login: user and identity by the same sync rules, and no session.
///
/// `before` locks the user and gives the values that the rules ask for, as in `SignInStatement`; `identity` notes that
/// the token stands, if it is still the one that is kept; `changed` writes the user. Neither `last_login` nor
/// `last_used` is touched.
package struct ProfileRefreshStatement: Sendable {
    let application: Application
    let columns: UserColumns
    private let template: StatementTemplate<ProfileRefresh>

    /// Generates the statement.
    ///
    /// - Parameters:
    ///   - application: Gives the schema and the columns that come back.
    ///   - targets: What the mapping plan writes, each a declared property, none twice.
    package init(application: Application, targets: [SignInStatement.Target]) {
        self.application = application
        columns = UserColumns(application: application)
        template = StatementTemplate(Self.text(application: application, targets: targets, columns: columns))
    }

    /// The text of the statement.
    static func text(
        application: Application,
        targets: [SignInStatement.Target],
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

/// What one run of the statement writes.
struct ProfileRefresh: Sendable {
    let values: [PropertyValue?]
    let cleared: [PropertyName]
    let standing: TokenStanding
    let identity: KeptIdentity
}

extension Store {
    /// Writes a profile that was read without a login.
    ///
    /// - Parameters:
    ///   - values: One for each target of the statement, nil for what the profile lacks.
    ///   - cleared: The properties that are emptied, because the profile lacks them.
    ///   - standing: What the provider says of the token.
    ///   - identity: With the token that the provider was asked about.
    ///   - statement: The statement of the application and its stored mapping.
    /// - Returns: The user as it is then; nil when the token is not the one that is kept any more or the user is
    ///   disabled, and then nothing has changed.
    /// - Throws: `constraint_violation` and its like.
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
            ).first
                .map { row in try statement.columns.user(in: row, from: 0) }
        }
    }
}
