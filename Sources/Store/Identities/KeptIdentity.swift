package import Domain
import Encodings
import Postgres

/// An identity with a stored token, and the data for checking it at the provider.
package struct KeptIdentity: Sendable {
    package let key: IdentityKey
    package let token: EncryptedToken
    /// The time, in Unix seconds, at which the provider last confirmed the token.
    package let checkedAt: Int64
    /// The time, in Unix seconds, at which the profile was last read.
    package let refreshedAt: Int64
    /// Whether the user is disabled.
    ///
    /// No profile data of a disabled user is written.
    package let isDisabled: Bool

    package init(
        key: IdentityKey,
        token: EncryptedToken,
        checkedAt: Int64,
        refreshedAt: Int64,
        isDisabled: Bool
    ) {
        self.key = key
        self.token = token
        self.checkedAt = checkedAt
        self.refreshedAt = refreshedAt
        self.isDisabled = isDisabled
    }

    /// Returns the identity with another token in place of its own.
    package func with(_ token: EncryptedToken) -> KeptIdentity {
        KeptIdentity(
            key: key,
            token: token,
            checkedAt: checkedAt,
            refreshedAt: refreshedAt,
            isDisabled: isDisabled
        )
    }

    package var app: ProviderAppID { key.app }
    package var subject: Subject { key.subject }

    /// A token is worth exchanging if its remaining lifetime is less than this number of seconds.
    ///
    /// A token that expires within a day is a short-lived one, or a long-lived one near its expiry
    /// (docs/protocols/facebook.md §6).
    package static let shortLife: Int64 = 86_400

    /// Returns whether the token expires so soon that it is worth exchanging.
    package func isShortLived(now: Int64) -> Bool {
        token.expiresAt.map { $0 < now.addingReportingOverflow(Self.shortLife).partialValue } ?? false
    }
}

extension KeptIdentity {
    /// Returns the select list for `init(_:)`, given the alias of an identity's row and an expression for its user's
    /// status.
    static func columns(of identity: String, status: String) -> String {
        let i = identity
        func seconds(_ column: String) -> String { "floor(extract(epoch from \(column)))::bigint" }
        let expires = "case when isfinite(\(i).token_expires) then \(seconds("\(i).token_expires")) end"
        return """
            \(i).provider, \(i).provider_app, \(i).subject, \(i).token, \(i).token_key_id, \(i).token_kind, \(expires), \
            \(seconds("coalesce(\(i).checked, \(i).created)")), \(seconds("coalesce(\(i).refreshed, \(i).created)")), \(status)
            """
    }

    /// Reads the columns of `columns(of:status:)`; nil if they hold no token, or a malformed value.
    init?(_ row: inout Row) throws(PostgresError) {
        let (key, secret) = (try IdentityKey(&row), try row.next(EncryptedSecret?.self))
        let kind = try row.next(String?.self).flatMap(ProviderToken.Kind.init)
        let expiresAt = try row.next(Int64?.self)
        checkedAt = try row.next()
        refreshedAt = try row.next()
        isDisabled = try row.next(String.self) == UserStatus.disabled.rawValue
        guard let key, let secret, let kind else { return nil }
        self.key = key
        token = EncryptedToken(kind: kind, secret: secret, expiresAt: expiresAt)
    }

    /// Returns the query for the identities of a user that have a stored token.
    static func statement(of user: ObjectID, schema: String) -> Statement {
        """
        select \(unsafeRaw: columns(of: "i", status: "u.user_status"))
        from \(identifier: schema).users u join \(identifier: schema).identities i using (object_id)
        where u.object_id = \(user.uuid) and i.token is not null
        order by i.created, i.provider, i.provider_app, i.subject
        """
    }
}

extension PostgresConnection {
    /// Returns the identities of a user that have a stored token, within a transaction.
    func keptIdentities(of user: ObjectID, schema: String) async throws(PostgresError) -> [KeptIdentity] {
        try await query(KeptIdentity.statement(of: user, schema: schema)).all(by: KeptIdentity.init)
    }
}

/// The identity that opened a session.
package struct SessionIdentity: Sendable {
    package let key: IdentityKey
    /// Whether the provider has reported that the app has lost its access to the identity.
    package let isRevoked: Bool
    /// The identity with its token; nil if no token is stored.
    package let kept: KeptIdentity?
}

extension Store {
    /// Returns the identity that opened a live session.
    ///
    /// - Returns: Nil if the session is unknown or expired, if no identity opened it, or if the identity was removed.
    package func identity(
        ofSession tokenHash: [UInt8],
        of application: Application
    ) async throws(Failure) -> SessionIdentity? {
        let schema = quoted(application.schema)
        let status = "(select u.user_status from \(schema).users u where u.object_id = i.object_id)"
        let sql = """
            select \(KeptIdentity.columns(of: "i", status: status)), i.revoked is not null
            from \(schema).identities i
            where (i.provider, i.provider_app, i.subject, i.object_id) = (
                select s.provider, s.provider_app, s.subject, s.object_id from \(schema).sessions s
                where s.token_hash = $1 and \(application.isLive("s"))
            )
            """
        let result = try await query(Statement(sql: sql, binds: [.bytes(tokenHash)]), of: application)
        return try result.first(by: SessionIdentity.init)
    }

    /// Returns the identities of a user that have a stored token.
    package func keptIdentities(
        of user: ObjectID,
        in application: Application
    ) async throws(Failure) -> [KeptIdentity] {
        try await query(KeptIdentity.statement(of: user, schema: application.schema), of: application)
            .all(by: KeptIdentity.init)
    }

    /// Writes the audit log entry `user.refresh`: at an operator's request, the service read a user's profile again.
    package func recordRefresh(
        of user: ObjectID,
        in application: ApplicationID,
        by actor: ChangeAuthor
    ) async throws(Failure) {
        try await record("user.refresh", of: user, in: application, by: actor)
    }

    /// Writes the audit log entry `user.mail`, with the name of the mail's template: an operator sent a mail to a user.
    package func recordMail(
        _ template: String,
        to user: ObjectID,
        in application: ApplicationID,
        by actor: ChangeAuthor
    ) async throws(Failure) {
        try await record("user.mail", of: user, to: .object(["mail": .string(template)]), in: application, by: actor)
    }

    private func record(
        _ action: String,
        of user: ObjectID,
        to: JSONValue? = nil,
        in application: ApplicationID,
        by actor: ChangeAuthor
    ) async throws(Failure) {
        let entry = AuditRecord(action, of: user.description, in: application, to: to)
        try await transaction { connection in try await connection.record([entry], by: actor) }
    }
}

extension SessionIdentity {
    fileprivate init?(_ row: inout Row) throws(PostgresError) {
        var beginning = row
        let key = try IdentityKey(&beginning)
        kept = try KeptIdentity(&row)
        isRevoked = try row.next()
        guard let key else { return nil }
        self.key = key
    }
}

extension Store {
    /// Claims identities whose stored token is due for a check at the provider, for this instance alone.
    ///
    /// A claim is a lease: the same statement postpones the next check, so that no other instance claims the row before
    /// the lease expires. No transaction stays open while the provider is queried, and the claims of a killed instance
    /// expire by themselves.
    ///
    /// - Parameters:
    ///   - application: The application of the identities.
    ///   - provider: The provider of the identities. Each provider has a check rate of its own.
    ///   - apps: The provider's apps whose identities are left out.
    ///   - limit: The limit of claimed identities. Those that have been due for longest come first.
    ///   - leaseSeconds: The duration of the lease.
    /// - Returns: The claimed identities. Rows that are locked are skipped.
    /// - Throws: `store_unavailable` and similar failures.
    package func claimIdentities(
        of application: Application,
        at provider: ProviderName,
        except apps: [ProviderAppID] = [],
        limit: Int,
        leaseSeconds: Double
    ) async throws(Failure) -> [KeptIdentity] {
        let schema = quoted(application.schema)
        let status = "(select u.user_status from \(schema).users u where u.object_id = i.object_id)"
        let result = try await query(
            """
            with due as (
                select provider, provider_app, subject from \(unsafeRaw: schema).identities
                where check_due <= now() and provider = \(provider.text) and provider_app <> all (\(apps.map(\.text)))
                order by check_due limit \(limit)
                for no key update skip locked
            )
            update \(unsafeRaw: schema).identities i
            set check_due = case when i.token is not null then now() + make_interval(secs => \(leaseSeconds)) end
            from due
            where (i.provider, i.provider_app, i.subject) = (due.provider, due.provider_app, due.subject)
            returning \(unsafeRaw: KeptIdentity.columns(of: "i", status: status))
            """,
            of: application
        )
        return try result.all(by: KeptIdentity.init)
    }
}
