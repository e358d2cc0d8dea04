package import Vocabulary
import Postgres

/// The write of a profile that was read without a login: user and identity by the same sync rules, and no session.
///
/// `before` locks the user and gives the values that the rules ask for, as in `SignInStatement`; `identity` notes that the token stands,
/// if it is still the one that is kept; `changed` writes the user. Neither `last_login` nor `last_used` is touched.
package struct ProfileRefreshStatement: Sendable {
    let targets: [SignInStatement.Target]
    let application: Application
    let columns: UserColumns
    let sql: String

    /// Generates the statement.
    ///
    /// - Parameters:
    ///   - application: Gives the schema and the columns that come back.
    ///   - targets: What the mapping plan writes, each a declared property, none twice.
    package init(application: Application, targets: [SignInStatement.Target]) {
        self.targets = targets
        self.application = application
        columns = UserColumns(application: application)
        let schema = quoted(application.schema)
        let writes = PropertyWrites(
            targets: targets,
            firstParameter: TokenStanding.nextParameter + 1,
            dynamic: "'{}'::jsonb",
            cleared: "$\(TokenStanding.nextParameter)",
            written: "i.written",
            schema: application.schema
        )
        sql = """
            with before as (
                select true\(writes.current)
                from \(schema).identities i join \(schema).users u using (object_id)
                where \(KeptIdentity.condition) and u.user_status <> 'DISABLED'
                for no key update of u
            ), identity as (
                update \(schema).identities i set \(TokenStanding.assignments), refreshed = now()\(
                    writes.nextWritten.map { ", written = " + $0 } ?? "")
                from before where \(KeptIdentity.condition)
                returning i.object_id
            ), changed as (
                update \(schema).users u set \(writes.assignments)
                from identity, before where u.object_id = identity.object_id
                returning \(columns.list(of: "u"))
            )
            select * from changed
            """
    }
}

extension Store {
    /// Writes a profile that was read without a login.
    ///
    /// - Parameters:
    ///   - values: One for each target of the statement, nil for what the profile lacks.
    ///   - cleared: The properties that are emptied, because the profile lacks them.
    ///   - standing: What Facebook says of the token.
    ///   - identity: With the token that Facebook was asked about.
    ///   - statement: The statement of the application and its stored mapping.
    /// - Returns: The user as it is then; nil when the token is not the one that is kept any more or the user is disabled, and then
    ///   nothing has changed.
    /// - Throws: `constraint_violation` and its like.
    package func refreshProfile(
        _ values: [PropertyValue?],
        clearing cleared: [PropertyName] = [],
        standing: TokenStanding,
        of identity: KeptIdentity,
        by statement: ProfileRefreshStatement
    ) async throws(Failure) -> User? {
        let targets = zip(statement.targets, values).map { target, value in
            value.map(\.bind) ?? .null(target.type.nullType)
        }
        let names = Bind.texts(cleared.map(\.text))
        let result = try await query(
            Statement(sql: statement.sql, binds: identity.binds + standing.binds + [names] + targets),
            of: statement.application
        )
        return try read { () throws(PostgresError) in
            guard let row = result.first else { return nil }
            return try statement.columns.user(in: row, from: 0)
        }
    }
}
