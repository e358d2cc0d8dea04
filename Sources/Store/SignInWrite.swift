package import Postgres
package import Vocabulary

/// What one login writes.
package struct SignInWrite: Sendable {
    let person: VerifiedPerson
    let banHash: [UInt8]
    let freshID: ObjectID
    let tokenHash: [UInt8]
    let previousTokenHash: [UInt8]?
    let sessionSeconds: Int64
    let values: [PropertyValue?]
    let cleared: [PropertyName]
    let dynamic: JSONObject
    let token: SealedToken?
    let once: SingleUse?
    let factor: FactorProof?
    let deviceHash: [UInt8]?
    let invitation: InvitationClaim?

    /// Collects what a login writes.
    ///
    /// - Parameters:
    ///   - person: whom the provider vouched for.
    ///   - banHash: by what the identity is known if it is banned.
    ///   - freshID: the id of the user if this login creates one.
    ///   - tokenHash: SHA-256 of the new session's token.
    ///   - previousTokenHash: SHA-256 of the session that the client had; it ends if it is the same user's.
    ///   - sessionSeconds: the life of the session.
    ///   - values: one for each target of the statement, nil for what the profile lacks.
    ///   - cleared: the properties that are emptied, undeclared ones included, because the profile lacks them.
    ///   - dynamic: values of undeclared properties.
    ///   - token: the provider token to keep, written only where the application keeps them.
    ///   - once: what must not have been used before; for a statement whose use is not `repeated`.
    ///   - factor: the second factor that was shown; for a statement whose use is `finishing` by such a one.
    ///   - deviceHash: SHA-256 of what the client says that its device is trusted by.
    ///   - invitation: the claim of a new person to an invitation; nil where no invitation matters.
    package init(
        person: VerifiedPerson,
        banHash: [UInt8],
        freshID: ObjectID,
        tokenHash: [UInt8],
        previousTokenHash: [UInt8]?,
        sessionSeconds: Int64,
        values: [PropertyValue?],
        cleared: [PropertyName] = [],
        dynamic: JSONObject,
        token: SealedToken? = nil,
        once: SingleUse? = nil,
        factor: FactorProof? = nil,
        deviceHash: [UInt8]? = nil,
        invitation: InvitationClaim? = nil
    ) {
        self.person = person
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
    }
}

/// A provider token as it is stored.
package struct SealedToken: Sendable {
    package let kind: ProviderToken.Kind
    package let secret: SealedSecret
    /// Unix seconds; nil when never or unknown.
    package let expiresAt: Int64?

    package init(kind: ProviderToken.Kind, secret: SealedSecret, expiresAt: Int64?) {
        self.kind = kind
        self.secret = secret
        self.expiresAt = expiresAt
    }
}

/// A user as a login left it.
package struct WrittenSignIn: Sendable {
    package internal(set) var user: User
    /// Whether the login created the user.
    package let created: Bool
    /// Whether this made the identity that of a user who was there before.
    package internal(set) var linked = false
}

extension Store {
    /// Writes identity, user and session in one round trip.
    ///
    /// - Parameters:
    ///   - write: what to write.
    ///   - statement: the statement of the application and the mapping plan.
    ///   - deadline: when no further attempt is begun.
    /// - Returns: The user as the login left it.
    /// - Throws: `account_disabled`, `new_users_closed`, `invitation_required`, `invitation_invalid`,
    ///   `constraint_violation`, `store_unavailable` and their like; nothing is written then.
    package func signIn(
        _ write: SignInWrite,
        by statement: SignInStatement,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> StatementOutcome<WrittenSignIn> {
        guard statement.application.asksForInvitation(write.invitation) else {
            return try await signInDirectly(write, by: statement, deadline: deadline)
        }
        // Most logins are those of users, for whom one statement does. The finish of a new person's login by a second
        // factor can be used by one statement only.
        let isOfNewPerson = write.factor.map { $0.user == nil } ?? false
        guard write.invitation?.tokenHash == nil, !isOfNewPerson else {
            return try await signIn(write, by: statement, invitedBy: write.invitation)
        }
        do throws(Failure) {
            return try await signInDirectly(write, by: statement, deadline: deadline)
        } catch {
            guard error.reason == .invitationRequired else { throw error }
            return try await signIn(write, by: statement, invitedBy: write.invitation)
        }
    }

    private func signInDirectly(
        _ write: SignInWrite,
        by statement: SignInStatement,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> StatementOutcome<WrittenSignIn> {
        try await current(statement.application) {
            var cause = "the user was not visible yet"
            // The loser of a race for a new person cannot see the winner's user at first; see SignInStatement.
            for attempt in 0..<3 where attempt == 0 || .now < deadline {
                do {
                    let filled = statement.filled(with: write)
                    let result = try await tables(of: statement.application).query(
                        filled,
                        near: statement.application.affinity
                    )
                    if let written = try outcome(of: result, by: statement) { return written }
                } catch let error as PostgresError where error.handling == .retryTransaction {
                    cause = "\(error)"
                    // Spread, so that those who collided do not meet again. A cancelled caller gets its answer from the
                    // next attempt.
                    try? await Task.sleep(for: .milliseconds(Int.random(in: 5...25)))
                }
            }
            throw Failure(
                .storeUnavailable,
                "The login met too many others of the same person. Try again shortly.",
                retryAfter: 1,
                cause: cause
            )
        }
    }

    /// The user that the statement wrote; nil when it has to run again.
    func outcome(of result: ResultSet, by statement: SignInStatement) throws -> WrittenSignIn? {
        guard let row = result.first else { return nil }
        if let refusal = try row.decode(0, as: String?.self) {
            if let demand = FactorDemand(rawValue: refusal) { throw demand.failure }
            guard let refusal = SignInStatement.Refusal(rawValue: refusal) else { throw Self.accountDisabled }
            // What was put off is used up, or over.
            if statement.use.finishes != nil, [.replayed, .ended].contains(refusal) {
                throw FactorDemand.unusable.failure
            }
            throw refusal.failure(in: statement.application)
        }
        guard let created = try row.decode(1, as: Bool?.self) else { return nil }
        return WrittenSignIn(user: try statement.columns.user(in: row, from: 2), created: created)
    }

    package static let accountDisabled = Failure(
        .accountDisabled,
        "This account is disabled. Ask the operator of the app."
    )
}

extension Application {
    /// Refuses whoever would become a user, where clients may make none, invited or not.
    ///
    /// - Throws: `new_users_closed`.
    package func requireNewUsers() throws(Failure) {
        guard settings.newUsers != .closed else { throw .newUsersClosed }
    }
}

extension Failure {
    fileprivate static let newUsersClosed = Failure(
        .newUsersClosed,
        "This app takes no new users. Log in with an account that exists, or ask the operator of the app for one."
    )

    package static let credentialReplayed = Failure(
        .credentialReplayed,
        "This ID token has been used already, and it counts once. Log in with the provider again."
    )
}

extension SignInStatement.Refusal {
    fileprivate func failure(in application: Application) -> Failure {
        switch self {
        case .disabled:
            Store.accountDisabled
        case .excess:
            application.settings.excessLogin
        case .closed:
            application.settings.newUsers == .closed ? .newUsersClosed : .invitationRequired
        case .replayed:
            .credentialReplayed
        case .ended:
            Failure(
                .credentialRevoked,
                "The provider has ended the access, or the user was erased, since this ID token was issued. Log in with the provider again."
            )
        case .nonceUnusable:
            Failure(
                .credentialInvalid,
                """
                The nonce of this ID token has been used already. Get another one and log in with the provider again.
                """
            )
        }
    }
}

extension Bind {
    /// A moment in Unix seconds.
    static func moment(_ seconds: Int64?) -> Bind {
        guard let seconds else { return .null(.timestamp) }
        return .timestamp(Timestamp(microseconds: seconds.multipliedReportingOverflow(by: 1_000_000).partialValue))
    }
}

extension Bind {
    static func moment(_ moment: StoreMoment?) -> Bind {
        moment.map { .timestamp(Timestamp(microseconds: $0.sinceEpoch)) } ?? .null(.timestamp)
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

/// The sign-in write of one application and one mapping plan as SQL: identity, user and session in one statement, one
/// round trip.
///
/// How it reads, CTE by CTE:
/// - `known`: the identity as it was when the statement began, for the values that the mapping wrote last. Without one
///   the login is refused where the application takes no new users;
/// - `before`: the user as it is now, locked, and what the mapping makes of it: what follows decides by these values
///   alone, so a user who is disabled or edited meanwhile is seen by all parts or by none. `identity` waits for the
///   lock: whoever deletes a user locks it first and its identities after that, and who locks in another order ends in
///   a deadlock;
/// - `room`: whether the user may have another session, where the application refuses logins beyond a number;
/// - `factor`: whether a second factor is to be shown before anything is written; or, for a login that was put off for
///   it (`.finishing`), uses up the one that was shown; see `FactorStep`;
/// - `identity`: inserts the identity or touches it. The row that wins the unique key decides who the person is: a
///   fresh `object_id` comes back only from the insert that won. An identity of a disabled user is not touched and does
///   not come back, nor is one that was revoked since a credential that counts once was issued, nor one that is not the
///   locked user's: somebody has linked it to another since the statement began. One that is banned is not inserted,
///   and neither is one that was erased while the statement waited for its user: the next run sees whether that was a
///   ban;
/// - `created`: the user, only when the identity was inserted; `changed`: else the update by the sync rules;
/// - `seen`, `nonce`: for a credential that counts once (`.once`, `.finishing`): the first attempt that names it owns
///   it, and only the owner's statement goes on; see `SingleUse`;
/// - `session`: only for a user of the two above; when it is there already, the same login came again, or the user of a
///   session has shown once more who they are;
/// - `previous`, `surplus`: end the sessions that the login takes the place of, and the oldest of too many; see
///   `SessionEnding`.
///
/// Each part finds its rows by a key that it has as a value, from a parameter or a scalar subquery, and joins no table:
/// so the index of the key serves it whatever the statistics say. A join would be planned by them, and where they are
/// from a table of one row, reading the whole of another costs no more than looking a row up.
///
/// A statement sees the snapshot of its own start. A login that lost the race for a new person therefore finds the
/// winner's identity but not yet the winner's user, and `person` is empty although nobody is disabled: `SignInWrite`
/// runs it once more.
package struct SignInStatement: Sendable {
    /// A property that the plan writes, with the type of its column.
    package struct Target: Sendable {
        package let name: PropertyName
        package let type: PropertyType
        package let sync: SyncMode
        /// Whether a write may empty it.
        package let mayBeCleared: Bool

        package init(name: PropertyName, type: PropertyType, sync: SyncMode, mayBeCleared: Bool = false) {
            self.name = name
            self.type = type
            self.sync = sync
            self.mayBeCleared = mayBeCleared
        }
    }

    /// How often the credential of a login may be used.
    package enum Use: Sendable, Equatable {
        /// The provider says at each use whether it stands.
        case repeated
        /// It counts once, and using it is part of the write.
        case once
        /// As `once`: of a login that was put off for a second factor, of which there is this evidence now.
        case finishing(FactorProof.Kind)

        /// The evidence; nil where nothing was put off.
        var finishes: FactorProof.Kind? {
            guard case .finishing(let kind) = self else { return nil }
            return kind
        }
    }

    package let targets: [Target]
    package let use: Use
    /// Whether the login is held to the application's second factors; not what is linked to a user's own session.
    let asksForFactor: Bool
    /// Whether a person who is no user becomes one.
    let admitsNew: Bool
    let application: Application
    let provider: ProviderName
    /// How the provider's token is stored with the identity.
    let tokens: TokenKeeping?
    let columns: UserColumns
    private let template: StatementTemplate<SignInWrite>

    /// The text with its placeholders.
    package var sql: String { template.sql }
    /// The names of the placeholders' values, in their order.
    package var parameters: [String] { template.parameters }

    /// Names of parameters that differ from login to login of the same person; the last one is there only where `use`
    /// is `once`.
    package static let freshIDParameter = "fresh_id"
    package static let tokenHashParameter = "token_hash"
    package static let credentialHashParameter = "credential_hash"

    /// Generates the statement.
    ///
    /// - Parameters:
    ///   - application: gives the schema and the columns that come back.
    ///   - provider: whose credential it is.
    ///   - tokens: how the provider's token is stored with the identity; nil where it is not.
    ///   - targets: what the mapping plan writes, each a declared property, none twice.
    ///   - use: of which kind of credential the login is.
    ///   - asksForFactor: whether a second factor can stand in its way.
    ///   - admitsNew: whether somebody who is no user becomes one; nil where the application says so.
    package init(
        application: Application,
        provider: ProviderName,
        tokens: TokenKeeping?,
        targets: [Target],
        use: Use = .repeated,
        asksForFactor: Bool = true,
        admitsNew: Bool? = nil
    ) {
        self.application = application
        self.provider = provider
        self.tokens = tokens
        self.targets = targets
        self.use = use
        self.asksForFactor = asksForFactor
        self.admitsNew = admitsNew ?? application.admitsAnybody
        columns = UserColumns(application: application)
        let text = SignInText(
            application: application,
            provider: provider,
            tokens: tokens,
            targets: targets,
            use: use,
            asksForFactor: asksForFactor,
            admitsNew: self.admitsNew
        )
        template = StatementTemplate(text.statement)
    }

    /// The same for a login that was put off for a second factor, of which there is evidence now.
    package func finishing(by kind: FactorProof.Kind) -> SignInStatement {
        SignInStatement(
            application: application,
            provider: provider,
            tokens: tokens,
            targets: targets,
            use: .finishing(kind)
        )
    }

    /// The same statement with another answer to whether a new person becomes a user.
    func admitting(_ admitsNew: Bool) -> SignInStatement {
        guard self.admitsNew != admitsNew else { return self }
        return SignInStatement(
            application: application,
            provider: provider,
            tokens: tokens,
            targets: targets,
            use: use,
            asksForFactor: asksForFactor,
            admitsNew: admitsNew
        )
    }

    /// The statement with the values of a login.
    package func filled(with write: SignInWrite) -> Statement { template.filled(with: write) }

    /// Why the statement wrote no user, in its first column; without one, and without a user, it has to run again.
    enum Refusal: String {
        case disabled
        case replayed
        case nonceUnusable
        /// The provider issued it before it ended our access.
        case ended
        /// The user has as many sessions as the application allows, and they stay.
        case excess
        /// No user has the identity, and its person may not become one.
        case closed
    }
}

/// Quotes an identifier, which comes from declared names only.
func quoted(_ identifier: String) -> String { Statement.quoted(identifier: identifier) }

/// Quotes a text of the configuration as a text literal.
func literal(_ text: String) -> String { Statement.quoted(literal: text) }

/// Quotes a declared name as a text literal.
func literal(_ name: PropertyName) -> String { literal(name.text) }
