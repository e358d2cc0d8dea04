import Domain
import Postgres

/// Generates the part of a login's SQL statement that opens a family of refresh tokens for the new session, and returns
/// the session.
///
/// It reads the CTE `person`, whose `object_id` is the user's, and the CTE `session`, which must end with `returning`.
///
/// The facts of the user beyond `person`, such as custom claims, are those of the statement's start. So a change that
/// another transaction commits while the statement waits for the user's row is only in the next token.
struct RefreshFamilyStep<Input> {
    let application: Application
    /// Returns the first secret of the family.
    let secret: @Sendable (Input) -> NewRefreshSecret?

    /// The clause of the CTE `session` that returns the session's row.
    var returning: SQL<Input> { "\nreturning \(unsafeRaw: SessionFacts.sessionColumns)" }

    /// The CTE `family`.
    var expression: SQL<Input> {
        """
        family as (
            insert into \(identifier: application.schema).refresh_tokens (family, session, current)
            select \(family), session.token_hash, \(hash) from session
        )
        """
    }

    /// The columns of the result for `SessionFacts`, which read the row `s` of `join`.
    var columns: SQL<Input> { ", \(unsafeRaw: SessionFacts.list(of: application, user: "person.object_id"))" }

    var join: SQL<Input> { " left join session s on true" }

    private var family: Parameter<Input> {
        let secret = secret
        return Parameter("family", as: "bytea", of: { secret($0)?.family })
    }
    private var hash: Parameter<Input> {
        let secret = secret
        return Parameter("refresh_secret", as: "bytea", of: { secret($0)?.hash })
    }
}
