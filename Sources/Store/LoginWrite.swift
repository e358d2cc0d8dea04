package import Domain
package import Encodings
package import Postgres

/// The values for the SQL statement of one login: the verified identity, the new session, and what else to write.
package struct LoginWrite: Sendable {
    let verified: VerifiedIdentity
    let banHash: [UInt8]
    let freshID: ObjectID
    let tokenHash: [UInt8]
    let previousTokenHash: [UInt8]?
    let sessionSeconds: Int64
    let values: [PropertyValue?]
    let cleared: [PropertyName]
    let dynamic: JSONObject
    let token: EncryptedToken?
    let once: SingleUse?
    let factor: FactorProof?
    let deviceHash: [UInt8]?
    let invitation: InvitationClaim?
    let refreshToken: NewRefreshSecret?

    /// Collects the values for the SQL statement of one login.
    ///
    /// - Parameters:
    ///   - verified: The user as verified by the provider.
    ///   - banHash: The hash by which a ban of the identity is found.
    ///   - freshID: The id of the user if this login creates one.
    ///   - tokenHash: SHA-256 of the new session's token.
    ///   - previousTokenHash: SHA-256 of the token of the client's previous session, which is revoked if it is the same
    ///     user's.
    ///   - sessionSeconds: The life of the session.
    ///   - values: One value for each property that the statement writes (`LoginStatement.targets`); nil if the
    ///     provider's profile lacks the value.
    ///   - cleared: The properties, declared or not, that the statement empties because the profile lacks them.
    ///   - dynamic: The values of undeclared properties.
    ///   - token: The provider token to store, written only where the application stores tokens.
    ///   - once: The single-use credential; nil if the statement's `use` is `repeated`.
    ///   - factor: The verified second factor; nil unless the statement's `use` is `finishing`.
    ///   - deviceHash: SHA-256 of the token that the client sent to be recognized as a trusted device.
    ///   - invitation: The invitation that a new user presents; nil if invitations do not matter for this login.
    ///   - refreshToken: The first secret of the session's refresh tokens; nil unless the statement opens a family.
    package init(
        verified: VerifiedIdentity,
        banHash: [UInt8],
        freshID: ObjectID,
        tokenHash: [UInt8],
        previousTokenHash: [UInt8]?,
        sessionSeconds: Int64,
        values: [PropertyValue?],
        cleared: [PropertyName] = [],
        dynamic: JSONObject,
        token: EncryptedToken? = nil,
        once: SingleUse? = nil,
        factor: FactorProof? = nil,
        deviceHash: [UInt8]? = nil,
        invitation: InvitationClaim? = nil,
        refreshToken: NewRefreshSecret? = nil
    ) {
        self.verified = verified
        self.banHash = banHash
        self.freshID = freshID
        self.tokenHash = tokenHash
        self.previousTokenHash = previousTokenHash
        self.sessionSeconds = sessionSeconds
        self.values = values
        self.cleared = cleared
        self.dynamic = dynamic
        self.token = token
        self.once = once
        self.factor = factor
        self.deviceHash = deviceHash
        self.invitation = invitation
        self.refreshToken = refreshToken
    }
}

/// A token that a provider issued, encrypted for storage, with its kind and its expiry.
package struct EncryptedToken: Sendable {
    package let kind: ProviderToken.Kind
    package let secret: EncryptedSecret
    /// The expiry of the token, in Unix seconds; nil if the token never expires, or if its expiry is unknown.
    package let expiresAt: Int64?

    package init(kind: ProviderToken.Kind, secret: EncryptedSecret, expiresAt: Int64?) {
        self.kind = kind
        self.secret = secret
        self.expiresAt = expiresAt
    }
}

/// The user who logged in, as stored after the login.
package struct WrittenLogin: Sendable {
    package internal(set) var user: User
    /// Whether the login created the user.
    package let created: Bool
    /// Whether the login linked the identity to an existing user.
    package internal(set) var linked = false
    /// The identities that the user lost, with their stored tokens: the reader of the mailbox did not know them.
    package internal(set) var lost: [KeptIdentity] = []
    /// The session, if the statement has opened a family of refresh tokens, with the user as before an invitation.
    package internal(set) var session: SessionFacts?
}

extension Store {
    /// Writes a login to the database: its identity, user and session, in one round trip.
    ///
    /// - Parameters:
    ///   - write: The values of the login.
    ///   - statement: The login statement for the application and the mapping plan.
    ///   - deadline: The time after which no retry begins.
    /// - Returns: The user after the login.
    /// - Throws: `account_disabled`, `new_users_closed`, `invitation_required`, `invitation_invalid`,
    ///   `constraint_violation`, `store_unavailable` and similar failures. Nothing is written then.
    package func login(
        _ write: LoginWrite,
        by statement: LoginStatement,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> StatementOutcome<WrittenLogin> {
        guard statement.application.asksForInvitation(write.invitation) else {
            return try await loginDirectly(write, by: statement, deadline: deadline)
        }
        // Most logins are of existing users, for whom one statement suffices. For a new user's pending login this order
        // is impossible, since only one statement can complete it.
        let isOfNewPerson = write.factor.map { $0.user == nil } ?? false
        guard write.invitation?.tokenHash == nil, !isOfNewPerson else {
            return try await login(write, by: statement, invitedBy: write.invitation)
        }
        do throws(Failure) {
            return try await loginDirectly(write, by: statement, deadline: deadline)
        } catch {
            guard error.reason == .invitationRequired else { throw error }
            return try await login(write, by: statement, invitedBy: write.invitation)
        }
    }

    private func loginDirectly(
        _ write: LoginWrite,
        by statement: LoginStatement,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> StatementOutcome<WrittenLogin> {
        try await current(statement.application) {
            var cause = "the user was not visible yet"
            // The loser of a race to create a user cannot see the winner's user at first; see LoginStatement.
            for attempt in 0..<3 where attempt == 0 || .now < deadline {
                do {
                    let filled = statement.filled(with: write)
                    let result = try await tables(of: statement.application).query(
                        filled,
                        near: statement.application.affinity
                    )
                    if let written = try outcome(of: result, by: statement, for: write) { return written }
                } catch let error as PostgresError where error.handling == .retryTransaction {
                    cause = "\(error)"
                    // The wait is random, so that colliding logins do not collide again. If the caller is cancelled,
                    // the wait ends at once, and the next attempt returns the response.
                    try? await Task.sleep(for: .milliseconds(Int.random(in: 5...25)))
                }
            }
            throw Failure(
                .storeUnavailable,
                "Too many logins of the same user at once. Try again shortly.",
                retryAfter: 1,
                cause: cause
            )
        }
    }

    /// Reads the user who logged in from the result of a login statement; nil if the statement must run again.
    func outcome(of result: ResultSet, by statement: LoginStatement, for write: LoginWrite) throws -> WrittenLogin? {
        guard var row = result.first else { return nil }
        if let refusal = try row.next(String?.self) {
            if let demand = FactorDemand(rawValue: refusal) { throw demand.failure }
            guard let refusal = LoginStatement.Refusal(rawValue: refusal) else { throw Self.accountDisabled }
            // The pending login has been used or has expired.
            if statement.use.finishes != nil, [.replayed, .ended].contains(refusal) {
                throw FactorDemand.unusable.failure
            }
            throw refusal.failure(in: statement.application)
        }
        guard let created = try row.next(Bool?.self) else { return nil }
        var written = WrittenLogin(user: try statement.columns.user(in: &row), created: created)
        if statement.form.opensRefreshFamily {
            written.session = try SessionFacts(&row, of: written.user)
            // The statement reads facts as they were when it began. So the identity that it has inserted is added here.
            written.session?.account.include(write.verified.identity)
        }
        return written
    }

    package static let accountDisabled = Failure(
        .accountDisabled,
        "This account is disabled. Contact the operator of the app."
    )
}

extension Application {
    /// Throws if the application accepts no new users, not even with an invitation.
    ///
    /// - Throws: `new_users_closed`.
    package func requireNewUsers() throws(Failure) {
        guard settings.newUsers != .closed else { throw .newUsersClosed }
    }
}

extension Failure {
    fileprivate static let newUsersClosed = Failure(
        .newUsersClosed,
        "This app does not accept new users. Log in with an existing account, or contact the operator of the app."
    )

    package static let loginUnknown = Failure(.loginUnknown, "No user of this app has this identity.")

    package static let credentialReplayed = Failure(
        .credentialReplayed,
        "This ID token has already been used. It is single-use. Log in with the provider again."
    )
}

extension LoginStatement.Refusal {
    fileprivate func failure(in application: Application) -> Failure {
        switch self {
        case .disabled:
            Store.accountDisabled
        case .excess:
            application.settings.excessLogin
        case .closed:
            application.settings.newUsers == .closed ? .newUsersClosed : .invitationRequired
        case .unknown:
            .loginUnknown
        case .replayed:
            .credentialReplayed
        case .ended:
            Failure(
                .credentialRevoked,
                """
                Since this ID token was issued, the provider has revoked the access or the user was erased. Log in \
                with the provider again.
                """
            )
        case .nonceUnusable:
            Failure(
                .credentialInvalid,
                "The nonce of this ID token has already been used. Get a new nonce, and log in with the provider again."
            )
        }
    }
}

extension Bind {
    /// Returns Unix seconds as a timestamp that can be bound to a SQL parameter; NULL if `seconds` is nil.
    static func moment(_ seconds: Int64?) -> Bind {
        Bind(seconds.map { Timestamp(microseconds: $0.multipliedReportingOverflow(by: 1_000_000).partialValue) })
    }

    static func moment(_ moment: StoreMoment?) -> Bind {
        Bind(moment.map { Timestamp(microseconds: $0.sinceEpoch) })
    }
}

extension PropertyValue {
    var bind: Bind {
        switch self {
        case .text(let text): .text(text)
        case .integer(let number): .int64(number)
        case .double(let number): .double(number)
        case .boolean(let value): .bool(value)
        // A CalendarDate is within years 1 to 9999, far inside 32 bits of days.
        case .date(let date): .day(Day(daysSince1970: Int32(truncatingIfNeeded: date.daysSince1970)))
        case .dateTime(let milliseconds):
            .timestamp(Timestamp(microseconds: milliseconds.multipliedReportingOverflow(by: 1000).partialValue))
        case .json(let value): .json(JSONText(value.text))
        }
    }
}

/// The SQL statement of a login, which writes the identity, the user and the session in one round trip.
///
/// There are a few variants of the statement for each application and mapping plan (the rules that copy a provider's
/// profile to properties). Its CTEs (common table expressions) are:
/// - `known`: the identity at the statement's start, with the values that the mapping wrote last. If the identity is
///   unknown, the login is refused if the application accepts no new users, or if the variant refuses it;
/// - `before`: locks the user's row, and returns it with the values that the mapping gives to the user's properties.
///   All later CTEs decide by these values alone, so all of them see that a user was disabled or edited meanwhile, or
///   none does. `identity` waits for this lock: a deletion of a user locks the user first and the identities second,
///   and another order would deadlock;
/// - `room`: whether the user may have another session, if the application refuses logins beyond a maximum of sessions;
/// - `factor`: whether a second factor is required before anything is written. For a pending login (`.finishing`), it
///   uses up the verified factor; see `FactorStep`;
/// - `identity`: inserts the identity or updates its row. The row that wins the unique key decides which user logs in:
///   a fresh `object_id` is returned only by the insert that won. Some identities are neither updated nor returned:
///   that of a disabled user, one that was revoked since a single-use credential was issued, and one that does not
///   belong to the user of `before` any more, because it was linked to another user since the statement began. Others
///   are not inserted: a banned one, and one that was erased while the statement waited for its user; the next run sees
///   whether that was a ban;
/// - `created`: inserts the user, if the identity was inserted;
/// - `changed`: updates the user by the sync rules, if the identity's row was updated;
/// - `seen`, `nonce`: only for a single-use credential (`.once`, `.finishing`). The first attempt that names the
///   credential owns it, and only the statement of the owner writes anything; see `SingleUse`;
/// - `session`: only for a user of `created` or `changed`. If the session exists already, the same login was retried,
///   or the session's user was verified again;
/// - `family`: only for a client that continues its session by refresh tokens; see `RefreshFamilyStep`;
/// - `previous`, `surplus`: revoke the session that the login replaces, and the oldest sessions beyond the maximum; see
///   `SessionEnding`.
///
/// Each CTE finds its rows by a key whose value comes from a parameter or a scalar subquery, without a join. So the
/// key's index is used whatever the planner's statistics say. PostgreSQL plans a join by the statistics. If these say
/// that one table has a single row, PostgreSQL may scan the whole of the other table, since it expects a scan to cost
/// no more than a look-up.
///
/// A statement sees the snapshot of its start. So a login that lost the race to create a user finds the winner's
/// identity but not yet the winner's user, and the CTE `person`, which has the created or changed user, is empty
/// although no user is disabled. Then `Store.login` runs the statement again.
package struct LoginStatement: Sendable {
    /// A property that the mapping plan writes, with the type of its column.
    package struct Target: Sendable {
        package let name: PropertyName
        package let type: PropertyType
        package let sync: SyncMode
        /// Whether a write may empty the property.
        package let mayBeCleared: Bool

        package init(name: PropertyName, type: PropertyType, sync: SyncMode, mayBeCleared: Bool = false) {
            self.name = name
            self.type = type
            self.sync = sync
            self.mayBeCleared = mayBeCleared
        }
    }

    /// How often the credential of a login may be used.
    package enum Use: Sendable, Hashable {
        /// Any number of times: the provider confirms at each use that the credential is valid.
        case repeated
        /// Once: the write also uses the credential up.
        case once
        /// Once: the statement completes a pending login.
        ///
        /// The value is the kind of proof that verified the second factor.
        case finishing(FactorProof.Kind)

        /// The kind of proof that completes a pending login; nil for a new login.
        var finishes: FactorProof.Kind? {
            guard case .finishing(let kind) = self else { return nil }
            return kind
        }
    }

    /// What distinguishes the logins of one application and mapping plan.
    package struct Variant: Sendable, Hashable {
        let use: Use
        let opensRefreshFamily: Bool
        let refusesUnknown: Bool

        /// - Parameters:
        ///   - use: How often the credential may be used.
        ///   - opensRefreshFamily: Whether the login opens a family of refresh tokens for its session.
        ///   - refusesUnknown: Whether an unknown identity is refused, whatever the application's settings say.
        package init(_ use: Use, opensRefreshFamily: Bool = false, refusesUnknown: Bool = false) {
            self.use = use
            self.opensRefreshFamily = opensRefreshFamily
            self.refusesUnknown = refusesUnknown
        }
    }

    /// The parts from which the SQL text of a statement follows.
    struct Form: Sendable {
        let application: Application
        let provider: ProviderName
        /// How the provider's token is stored with the identity.
        let tokens: TokenKeeping?
        var targets: [Target]
        var use: Use
        /// Whether the login asks for a second factor where the application requires one.
        ///
        /// This is false when a user links an identity to the account within a session.
        var asksForFactor: Bool
        /// Whether the application lets a login with an unknown identity create a user.
        var admitsNew: Bool
        /// Whether this login refuses an unknown identity, whatever the application lets it do.
        var refusesUnknown = false
        /// Whether the login opens a family of refresh tokens for its session, and returns the session.
        var opensRefreshFamily = false
    }

    let form: Form
    let columns: UserColumns
    private let template: StatementTemplate<LoginWrite>

    package var targets: [Target] { form.targets }
    package var use: Use { form.use }
    var application: Application { form.application }

    /// The SQL text of the statement, with placeholders for the values.
    package var sql: String { template.sql }
    /// The names of the placeholders' values, in their order.
    package var parameters: [String] { template.parameters }

    /// The name of the SQL parameter for the id of the user whom the login may create.
    ///
    /// The values of this parameter, of `tokenHashParameter` and of `credentialHashParameter` differ from login to
    /// login, even for the same user. The last of the three exists only if `use` is not `repeated`.
    package static let freshIDParameter = "fresh_id"
    package static let tokenHashParameter = "token_hash"
    package static let credentialHashParameter = "credential_hash"

    /// Generates the SQL text of the login statement.
    ///
    /// - Parameters:
    ///   - application: Determines the schema and the returned columns.
    ///   - provider: The provider of the credential.
    ///   - tokens: How the provider's token is stored with the identity; nil if it is not stored.
    ///   - targets: The declared properties that the mapping plan writes, without duplicates.
    ///   - use: How often the credential may be used.
    package init(
        application: Application,
        provider: ProviderName,
        tokens: TokenKeeping?,
        targets: [Target],
        use: Use = .repeated
    ) {
        self.init(
            Form(
                application: application,
                provider: provider,
                tokens: tokens,
                targets: targets,
                use: use,
                asksForFactor: true,
                admitsNew: application.admitsAnybody
            )
        )
    }

    private init(_ form: Form) {
        self.form = form
        columns = UserColumns(application: form.application)
        template = StatementTemplate(LoginText(form).statement)
    }

    /// Returns the statement of the same application and mapping plan for logins of another variant.
    package func variant(_ variant: Variant) -> LoginStatement {
        with { form in
            form.use = variant.use
            form.opensRefreshFamily = variant.opensRefreshFamily
            form.refusesUnknown = variant.refusesUnknown
        }
    }

    /// Returns a statement that differs from this one in some parts.
    func with(_ change: (inout Form) -> Void) -> LoginStatement {
        var form = form
        change(&form)
        return LoginStatement(form)
    }

    /// Returns this statement, but with the given value of `admitsNew`.
    func admitting(_ admitsNew: Bool) -> LoginStatement {
        form.admitsNew == admitsNew ? self : with { $0.admitsNew = admitsNew }
    }

    /// Returns the statement with the values of a login.
    package func filled(with write: LoginWrite) -> Statement { template.filled(with: write) }

    /// The reasons for which a login statement writes no user; the raw values are those of the result's first column.
    ///
    /// If a row of the result has neither a reason nor a user, the statement must run again.
    enum Refusal: String {
        case disabled
        case replayed
        case nonceUnusable
        /// After the credential was issued, the app's access was revoked or the user was erased.
        case ended
        /// The user has the maximum number of sessions, and the application refuses further logins.
        case excess
        /// No user has the identity, and the application lets no login create one.
        case closed
        /// No user has the identity, and this login may not create one.
        case unknown
    }
}

/// Returns a name of the configuration or the database as a quoted SQL identifier.
func quoted(_ identifier: String) -> String { Statement.quoted(identifier: identifier) }

/// Returns a text of the configuration as a quoted SQL literal.
func literal(_ text: String) -> String { Statement.quoted(literal: text) }

/// Returns a property's name as a quoted SQL literal.
func literal(_ name: PropertyName) -> String { literal(name.text) }
