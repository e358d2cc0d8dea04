package import Vocabulary
import Postgres

/// What Facebook says of a token that stands.
package struct TokenStanding: Sendable {
    /// The permissions that the token carries.
    package let scopes: [String]
    /// Unix seconds; nil when never or unknown.
    package let dataAccessExpiresAt: Int64?
    /// Unix seconds; nil when never or unknown.
    package let expiresAt: Int64?
    /// The token that takes the place of the one that was asked about.
    package let replacement: SealedToken?
    /// Seconds until the next check; nil for about a day.
    package let nextCheckSeconds: Int64?

    package init(
        scopes: [String],
        dataAccessExpiresAt: Int64?,
        expiresAt: Int64?,
        replacement: SealedToken? = nil,
        nextCheckSeconds: Int64? = nil
    ) {
        self.scopes = scopes
        self.dataAccessExpiresAt = dataAccessExpiresAt
        self.expiresAt = expiresAt
        self.replacement = replacement
        self.nextCheckSeconds = nextCheckSeconds
    }

    /// What is set in the row `i` of the identity, with parameters from `$5` on: four name the row, see `StandingToken`.
    static let assignments = """
        granted_scopes = $5, data_access_expires = $6, token_expires = $7, token = coalesce($8, i.token),
        token_key_id = coalesce($9, i.token_key_id), checked = now(),
        check_due = now() + coalesce(make_interval(secs => $10), interval '23 hours' + random() * interval '1 hour')
        """
    /// The first parameter behind those.
    static let nextParameter = 11

    /// The parameters of `assignments`.
    var binds: [Bind] {
        [
            .texts(scopes), .moment(dataAccessExpiresAt), .moment(expiresAt),
            replacement.map { .bytes($0.secret.bytes) } ?? .null(.bytes),
            replacement.map { .text($0.secret.keyID) } ?? .null(.text),
            nextCheckSeconds.map { .double(Double($0)) } ?? .null(.double),
        ]
    }
}

extension KeptIdentity {
    /// Names the row, and only as long as it holds the token that Facebook was asked about: what it said is about no other, and a
    /// login may have brought one meanwhile.
    static let condition = "i.provider = $1 and i.provider_app = $2 and i.subject = $3 and i.token = $4"

    /// The parameters of `condition`.
    var binds: [Bind] { [.text(key.provider.text), .text(app.text), .text(subject.text), .bytes(token.secret.bytes)] }
}

extension Store {
    /// Notes that a token stands.
    ///
    /// - Returns: Whether it was still the one that is kept.
    package func noteStanding(
        _ standing: TokenStanding,
        of identity: KeptIdentity,
        in application: Application
    ) async throws(Failure) -> Bool {
        try await change(identity, set: TokenStanding.assignments, standing.binds, in: application)
    }

    /// Forgets a token that is worth nothing any more, though nobody has revoked it.
    ///
    /// - Returns: Whether it was still the one that is kept.
    package func dropToken(of identity: KeptIdentity, in application: Application) async throws(Failure) -> Bool {
        try await change(identity, set: Self.noToken + ", checked = now()", [], in: application)
    }

    /// Forgets the token of a Facebook app that the application does not have any more: no secret is left to use it with.
    ///
    /// - Parameters:
    ///   - identity: With its token.
    ///   - application: As the caller knows it: when it has been changed since, nothing happens, since it may have the app again.
    /// - Returns: Whether the token is forgotten.
    /// - Throws: `store_unavailable` and its like.
    package func dropTokenOfFormerApp(
        of identity: KeptIdentity,
        in application: Application
    ) async throws(Failure) -> Bool {
        try await change(
            identity,
            set: Self.noToken,
            [.text(application.id.text), .int64(application.revision)],
            where: "exists (select from federation.applications where id = $5 and revision = $6)",
            in: application
        )
    }

    /// Puts a check off that came to nothing.
    package func postponeCheck(
        of identity: KeptIdentity,
        bySeconds seconds: Int64,
        in application: Application
    ) async throws(Failure) {
        _ = try await change(
            identity,
            set: "check_due = now() + make_interval(secs => $5)",
            [.double(Double(seconds))],
            in: application
        )
    }

    /// Sets columns of an identity's row, as long as it holds the token that was asked about.
    private func change(
        _ identity: KeptIdentity,
        set assignments: String,
        _ binds: [Bind],
        where condition: String = "true",
        in application: Application
    ) async throws(Failure) -> Bool {
        let sql = """
            update \(quoted(application.schema)).identities i set \(assignments)
            where \(KeptIdentity.condition) and \(condition)
            """
        let result = try await query(Statement(sql: sql, binds: identity.binds + binds), of: application)
        return result.affectedRows == 1
    }

    /// The columns of a kept token without one.
    static let noToken = "token = null, token_key_id = null, token_kind = null, token_expires = null, check_due = null"
}
