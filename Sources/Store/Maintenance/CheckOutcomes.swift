import Postgres
package import Vocabulary

/// What a provider says of a token that stands.
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

    /// What is set in the row `i` of the identity.
    static func assignments<Input>(_ standing: @escaping @Sendable (Input) -> TokenStanding) -> SQL<Input> {
        typealias Value = Parameter<Input>
        let scopes = Value("scopes") { .texts(standing($0).scopes) }
        let dataAccessExpires = Value("data_access_expires") { .moment(standing($0).dataAccessExpiresAt) }
        let expires = Value("token_expires") { .moment(standing($0).expiresAt) }
        let token = Value("new_token") { standing($0).replacement.map { .bytes($0.secret.bytes) } ?? .null(.bytes) }
        let keyID = Value("new_token_key_id") {
            standing($0).replacement.map { .text($0.secret.keyID) } ?? .null(.text)
        }
        let seconds = Value("next_check_seconds") {
            standing($0).nextCheckSeconds.map { .double(Double($0)) } ?? .null(.double)
        }
        return """
            granted_scopes = \(scopes), data_access_expires = \(dataAccessExpires), token_expires = \(expires),
            token = coalesce(\(token), i.token), token_key_id = coalesce(\(keyID), i.token_key_id), checked = now(),
            check_due = now() + coalesce(make_interval(secs => \(seconds)), interval '23 hours' + random() * interval '1 hour')
            """
    }
}

extension KeptIdentity {
    /// Names the row, and only as long as it holds the token that the provider was asked about: what it said is about
    /// no other, and a login may have brought one meanwhile.
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
    /// Notes that a token stands.
    ///
    /// - Returns: Whether it was still the one that is kept.
    package func noteStanding(
        _ standing: TokenStanding,
        of identity: KeptIdentity,
        in application: Application
    ) async throws(Failure) -> Bool {
        try await change(identity, set: TokenStanding.assignments { $0 }.bound(to: standing), in: application)
    }

    /// Forgets a token that is worth nothing any more, though nobody has revoked it.
    ///
    /// - Returns: Whether it was still the one that is kept.
    package func dropToken(of identity: KeptIdentity, in application: Application) async throws(Failure) -> Bool {
        try await change(identity, set: "\(unsafeRaw: Self.noToken), checked = now()", in: application)
    }

    /// Forgets the token of a provider's app that the application does not have any more: no secret is left to use
    /// it with.
    ///
    /// - Parameters:
    ///   - identity: With its token.
    ///   - application: As the caller knows it: when it has been changed since, nothing happens, since it may have the
    ///     app again.
    /// - Returns: Whether the token is forgotten.
    /// - Throws: `store_unavailable` and its like.
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

    /// The condition that an application has not been changed since it was read.
    ///
    /// Where its users are in a database of its own or on a node of Citus, which know nothing of revisions, it has been
    /// looked at before.
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
        let result = try await query("select \(isUnchanged)")
        let answer = try read { () throws(PostgresError) in try result.first?.decode(0, as: Bool.self) }
        return answer == true ? "true" : "false"
    }

    /// Puts a check off that came to nothing.
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

    /// Sets columns of an identity's row, as long as it holds the token that was asked about.
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

    /// The columns of a kept token without one.
    static let noToken = "token = null, token_key_id = null, token_kind = null, token_expires = null, check_due = null"
}
