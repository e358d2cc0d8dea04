package import Domain
import Postgres

/// What a provider reported about a token that it found valid.
package struct TokenStanding: Sendable {
    /// The permissions of the token; nil if the provider does not list them, so that they stay as they are.
    package let scopes: [String]?
    /// The expiry of the app's access to the user's data, in Unix seconds; nil if there is none or it is unknown.
    package let dataAccessExpiresAt: Int64?
    /// The expiry of the token, in Unix seconds; nil if there is none or it is unknown.
    package let expiresAt: Int64?
    /// The token that replaces the checked one; nil if the checked token stays.
    package let replacement: EncryptedToken?
    /// Seconds until the next check; nil if the next check is due in about a day.
    package let nextCheckSeconds: Int64?

    package init(
        scopes: [String]?,
        dataAccessExpiresAt: Int64?,
        expiresAt: Int64?,
        replacement: EncryptedToken? = nil,
        nextCheckSeconds: Int64? = nil
    ) {
        self.scopes = scopes
        self.dataAccessExpiresAt = dataAccessExpiresAt
        self.expiresAt = expiresAt
        self.replacement = replacement
        self.nextCheckSeconds = nextCheckSeconds
    }

    /// Returns the SQL assignments that store the provider's report in the identity's row, aliased `i`.
    static func assignments<Input>(_ standing: @escaping @Sendable (Input) -> TokenStanding) -> SQL<Input> {
        typealias Value = Parameter<Input>
        let scopes = Value("scopes", of: { standing($0).scopes })
        let dataAccessExpires = Value("data_access_expires") { .moment(standing($0).dataAccessExpiresAt) }
        let expires = Value("token_expires") { .moment(standing($0).expiresAt) }
        let token = Value("new_token", of: { standing($0).replacement?.secret.bytes })
        let keyID = Value("new_token_key_id", of: { standing($0).replacement?.secret.keyID })
        let seconds = Value("next_check_seconds", of: { standing($0).nextCheckSeconds.map { Double($0) } })
        return """
            granted_scopes = coalesce(\(scopes), i.granted_scopes), data_access_expires = \(dataAccessExpires), token_expires = \(expires),
            token = coalesce(\(token), i.token), token_key_id = coalesce(\(keyID), i.token_key_id), checked = now(),
            check_due = now() + coalesce(make_interval(secs => \(seconds)), interval '23 hours' + random() * interval '1 hour')
            """
    }
}

extension KeptIdentity {
    /// Returns the SQL condition that selects the identity's row only while it has the token that the provider checked.
    ///
    /// The provider's report is not about other tokens, and a login may have stored a new token meanwhile.
    static func condition<Input>(_ identity: @escaping @Sendable (Input) -> KeptIdentity) -> SQL<Input> {
        typealias Value = Parameter<Input>
        let provider = Value("provider") { .text(identity($0).key.provider.text) }
        let app = Value("app") { .text(identity($0).app.text) }
        let subject = Value("subject") { .text(identity($0).subject.text) }
        let token = Value("token") { .bytes(identity($0).token.secret.bytes) }
        return """
            i.provider = \(provider) and i.provider_app = \(app) and i.subject = \(subject) and i.token = \(token)
            """
    }
}

extension Store {
    /// Records that a token is valid.
    ///
    /// - Returns: Whether the token was still the stored one.
    package func noteStanding(
        _ standing: TokenStanding,
        of identity: KeptIdentity,
        in application: Application
    ) async throws(Failure) -> Bool {
        try await change(identity, set: TokenStanding.assignments { $0 }.bound(to: standing), in: application)
    }

    /// Deletes a token that has become useless, although it was not revoked.
    ///
    /// - Returns: Whether the token was still the stored one.
    package func dropToken(of identity: KeptIdentity, in application: Application) async throws(Failure) -> Bool {
        try await change(identity, set: "\(unsafeRaw: Self.noToken), checked = now()", in: application)
    }

    /// Deletes the token for a provider's app that the application no longer has.
    ///
    /// The token is useless, since the secret of the app is deleted, too.
    ///
    /// - Parameters:
    ///   - identity: The identity with its token.
    ///   - application: The application as the caller read it. If it has changed since, nothing is deleted: it may have
    ///     the app again.
    /// - Returns: Whether the token was deleted.
    /// - Throws: `store_unavailable` and similar failures.
    package func dropTokenOfFormerApp(
        of identity: KeptIdentity,
        in application: Application
    ) async throws(Failure) -> Bool {
        try await change(
            identity,
            set: "\(unsafeRaw: Self.noToken)",
            where: try await isUnchanged(application),
            in: application
        )
    }

    /// Returns the SQL condition that an application's configuration has not changed since it was read.
    ///
    /// Only the main database contains the revisions. If the users are in a database of their own or on a node of
    /// Citus, the condition is evaluated first and returned as a constant.
    func isUnchanged(_ application: Application) async throws(Failure) -> Statement {
        let isUnchanged: Statement = """
            exists (
                select from federation.applications
                where id = \(application.id.text) and revision = \(application.revision)
            )
            """
        let areElsewhere: Bool
        do { areElsewhere = try await tables(of: application).areElsewhere() } catch {
            throw await failure(of: error, in: nil)
        }
        guard areElsewhere else { return isUnchanged }
        return try await query("select \(isUnchanged)").first(Bool.self) == true ? "true" : "false"
    }

    /// Postpones the next check of a token at the provider, after a check that had no result.
    package func postponeCheck(
        of identity: KeptIdentity,
        bySeconds seconds: Int64,
        in application: Application
    ) async throws(Failure) {
        _ = try await change(
            identity,
            set: "check_due = now() + make_interval(secs => \(Double(seconds)))",
            in: application
        )
    }

    /// Updates columns of an identity's row if the row still has the token that was checked.
    private func change(
        _ identity: KeptIdentity,
        set assignments: Statement,
        where condition: Statement = "true",
        in application: Application
    ) async throws(Failure) -> Bool {
        let result = try await query(
            """
            update \(identifier: application.schema).identities i set \(assignments)
            where \(KeptIdentity.condition { $0 }.bound(to: identity)) and \(condition)
            """,
            of: application
        )
        return result.affectedRows == 1
    }

    /// The SQL assignments that delete the token stored in a row of `identities`.
    static let noToken = "token = null, token_key_id = null, token_kind = null, token_expires = null, check_due = null"
}
