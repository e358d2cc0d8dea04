package import Domain
import FoundationEssentials
import Postgres

/// A session to open for a user who logs in without a provider: by a password, a passkey or a server's request.
package struct SessionOpening: Sendable {
    package enum Grounds: Sendable {
        /// A password, with the encrypted stored hash against which it was verified. The login name must not have
        /// changed since, either.
        case password(EncryptedSecret)
        /// A passkey, which is also the second factor.
        case passkey
        /// The request of a server of the application: the user has presented no credential.
        case server
        /// A token that a server of the application has signed for the user.
        ///
        /// The session's tokens have the claims, a JSON text, if there are any.
        case serverToken(claims: String?)
    }

    package let user: ObjectID
    package let grounds: Grounds
    /// The login name, the id of the passkey, or the user's id for a server's request.
    package let login: String
    package let tokenHash: [UInt8]
    /// SHA-256 of the token of the client's previous session, which is revoked if it belongs to the same user.
    package let previousTokenHash: [UInt8]?
    /// SHA-256 of the token that the client sent to be recognized as a trusted device.
    package let deviceHash: [UInt8]?
    /// The mailed link or the pending login that the statement uses up; nil for neither.
    package let once: SingleUse?
    /// The second factor that completes a pending login; nil for a new login.
    package let factor: FactorProof?
    /// The first secret of the session's refresh tokens; nil if the client uses no refresh tokens.
    package let refreshToken: NewRefreshSecret?

    package init(
        user: ObjectID,
        grounds: Grounds,
        login: String,
        tokenHash: [UInt8],
        previousTokenHash: [UInt8]?,
        deviceHash: [UInt8]? = nil,
        once: SingleUse? = nil,
        factor: FactorProof? = nil,
        refreshToken: NewRefreshSecret? = nil
    ) {
        self.user = user
        self.grounds = grounds
        self.login = login
        self.tokenHash = tokenHash
        self.previousTokenHash = previousTokenHash
        self.deviceHash = deviceHash
        self.once = once
        self.factor = factor
        self.refreshToken = refreshToken
    }
}

/// A session that a login without a provider has opened.
package struct OpenedSession: Sendable {
    package internal(set) var user: User
    /// The session, if the statement has opened a family of refresh tokens.
    package internal(set) var facts: SessionFacts?
}

extension OpenedSession {
    /// Reads the columns of the user, and after them those of `RefreshFamilyStep` if there are any.
    init(_ row: inout Row, by columns: UserColumns, withFacts hasFacts: Bool) throws(PostgresError) {
        user = try columns.user(in: &row)
        facts = hasFacts ? try SessionFacts(&row, of: user) : nil
    }
}

extension Store {
    /// Opens a session in one statement.
    ///
    /// The statement locks the user's row first and the password's row second, as a change of the password does. So a
    /// login that was verified against the former hash opens no session if the change came first.
    ///
    /// - Parameters:
    ///   - opening: The session to open.
    ///   - application: The application of the user.
    /// - Returns: The user and the session; nil when the hash is no longer the stored one, or the user no longer
    ///   exists.
    /// - Throws: `link_invalid` for a used link; `account_disabled`, `email_unconfirmed`, `already_logged_in`,
    ///   `too_many_sessions`, `second_factor_required`, `second_factor_enrolment_required`, `pending_login_invalid`,
    ///   `store_unavailable` and similar failures. A link is used up also if the login is refused, but not if the
    ///   database fails.
    package func openSession(
        _ opening: SessionOpening,
        of application: Application
    ) async throws(Failure) -> StatementOutcome<OpenedSession?> {
        let columns = UserColumns(application: application)
        let statement = StatementTemplate(opening.text(of: application)).filled(with: opening)
        return try await current(application) {
            let result = try await tables(of: application).query(statement, near: application.affinity)
            guard var row = result.first else { return nil }
            let (status, refusal) = (try row.next(String.self), try row.next(String?.self))
            if !row.isNullNext {
                return try OpenedSession(&row, by: columns, withFacts: opening.refreshToken != nil)
            }
            if refusal == LoginStatement.Refusal.replayed.rawValue { throw Failure.linkInvalid }
            switch UserStatus(rawValue: status) {
            case .emailConfirmationPending: throw Self.emailUnconfirmed
            case .disabled, nil: throw Self.accountDisabled
            case .enabled, .guest: break
            }
            if let demand = refusal.flatMap(FactorDemand.init) { throw demand.failure }
            throw application.settings.excessLogin
        }
    }

    package static let emailUnconfirmed = Failure(
        .emailUnconfirmed,
        "The e-mail address of this account is not confirmed yet. Open the link in the mail that was sent to it."
    )
}

/// Builds the SQL text of the statement that opens a session, from its parts.
private struct SessionOpeningText {
    private typealias Value = Parameter<SessionOpening>

    private let grounds: SessionOpening.Grounds
    private let columns: UserColumns
    private let application: Application
    private let schema: SQL<SessionOpening>
    private let ending: SessionEnding<SessionOpening>
    private let factor: FactorStep<SessionOpening>?
    private let once: SingleUseStep<SessionOpening>?
    private let family: RefreshFamilyStep<SessionOpening>?

    init(of opening: SessionOpening, columns: UserColumns, application: Application) {
        grounds = opening.grounds
        self.columns = columns
        self.application = application
        let schema: SQL<SessionOpening> = "\(identifier: application.schema)"
        self.schema = schema
        ending = SessionEnding(application: application, opened: Self.tokenHash, previous: Self.previous)
        once =
            opening.once == nil
            ? nil
            : SingleUseStep(schema: schema, kind: opening.factor == nil ? .credential : .pendingLogin, once: \.once)
        family =
            opening.refreshToken == nil ? nil : RefreshFamilyStep(application: application, secret: \.refreshToken)
        let user: SQL<SessionOpening> = "(select verified.object_id from verified)"
        factor =
            if let proof = opening.factor {
                FactorStep(
                    finishing: application,
                    by: proof.kind,
                    user: user,
                    proof: \.factor,
                    opened: Self.tokenHash,
                    isFresh: SingleUseStep<SessionOpening>.isFresh
                )
            } else if opening.grounds.asksForFactor {
                FactorStep(asking: application, method: .password, user: user, deviceHash: \.deviceHash)
            } else {
                nil
            }
    }

    var statement: SQL<SessionOpening> {
        var expressions = (once.map { [$0.expression] } ?? []) + [verified]
        let mayLogIn: SQL<SessionOpening> = """
            (select verified.user_status from verified) not in ('DISABLED', 'EMAIL_CONFIRMATION_PENDING')
            """
        var conditions = [mayLogIn]
        if let room = ending.room(of: "verified") {
            expressions.append(room)
            conditions.append("(select room.room from room)")
        }
        if let once { conditions.append(once.isFirst) }
        var refusals: [SQL<SessionOpening>] = []
        // A used link does not even ask for a second factor.
        if let once, once.kind == .credential {
            refusals.append("when not \(once.isFirst) then \(literal: LoginStatement.Refusal.replayed.rawValue)")
        }
        if let factor {
            expressions.append(factor.expressions(if: conditions))
            conditions = factor.requirements(beside: conditions)
            refusals.append(factor.refusal)
        }
        let refusal: SQL<SessionOpening> =
            refusals.isEmpty ? "null::text" : "case \(refusals.joined(separator: "\n")) end"
        expressions += [verified(if: conditions), session, ending.expressions]
        if let consequences = factor?.consequences { expressions.append(consequences) }
        if let family { expressions.append(family.expression) }
        return """
            with \(expressions.joined(separator: ", "))
            select verified.user_status, \(refusal) as refusal, person.*\(family?.columns ?? ""), previous.ended
            from verified left join person on true left join previous on true\(family?.join ?? "")
            """
    }

    private var verified: SQL<SessionOpening> {
        guard case .password = grounds else {
            return """
                verified as (
                    select u.object_id, u.user_status from \(schema).users u where u.object_id = \(Self.user)
                    for no key update
                )
                """
        }
        return """
            verified as (
                select u.object_id, u.user_status from \(schema).users u join \(schema).passwords p using (object_id)
                where u.object_id = \(Self.user) and p.hash = \(Self.hash) and p.login = \(Self.login)
                for no key update of u, p
            )
            """
    }

    private func verified(if conditions: [SQL<SessionOpening>]) -> SQL<SessionOpening> {
        """
        person as (
            update \(schema).users u set last_login = now()
            where u.object_id = (select verified.object_id from verified)
                and \(conditions.joined(separator: "\nand "))
            returning \(unsafeRaw: columns.list(of: "u"))
        )
        """
    }

    private var session: SQL<SessionOpening> {
        let shown = (factor?.sessionColumns ?? []) + grounds.sessionColumns
        let names = shown.map { ", \($0.name)" as SQL<SessionOpening> }.joined(separator: "")
        let values = shown.map { ", \($0.value)" as SQL<SessionOpening> }.joined(separator: "")
        let settings = application.settings
        let seconds = Value("session_seconds") { _ in .int64(settings.sessionAbsoluteSeconds) }
        let again: SQL<SessionOpening> =
            once == nil
            ? "" : "on conflict (token_hash) do update set proved = now() where s.object_id = excluded.object_id"
        return """
            session as (
                insert into \(schema).sessions as s
                    (token_hash, object_id, expires, provider, provider_app, subject, proved\(names))
                select
                    \(Self.tokenHash), object_id, now() + make_interval(secs => \(seconds)),
                    \(literal: grounds.provider), '', \(Self.login), \(grounds.proved)\(values)
                from person
                \(again)\(family?.returning ?? "")
            )
            """
    }

    private static let user = Value("user") { .uuid($0.user.uuid) }
    private static let tokenHash = Value("token_hash") { .bytes($0.tokenHash) }
    private static let previous = Value("previous_token_hash", of: \.previousTokenHash)
    private static let login = Value("login") { .text($0.login) }
    static let claims = Parameter<SessionOpening>("claims", as: "text") {
        guard case .serverToken(let claims?) = $0.grounds else { return .null(.text) }
        return .text(claims)
    }
    private static let hash = Value("verified_hash", as: "bytea") {
        guard case .password(let hash) = $0.grounds else { return .null(.bytes) }
        return .bytes(hash.bytes)
    }
}

extension SessionOpening.Grounds {
    fileprivate var provider: String {
        switch self {
        case .password, .server, .serverToken: ProviderName.password.text
        case .passkey: FactorKind.passkey.rawValue
        }
    }

    /// Whether a server names the user, and the user presents no credential.
    private var areOfServer: Bool {
        switch self {
        case .password, .passkey: false
        case .server, .serverToken: true
        }
    }

    /// Whether the login asks for a second factor; a login by a server does not.
    fileprivate var asksForFactor: Bool { !areOfServer }

    /// The columns of a session that only some grounds fill, with their values.
    fileprivate var sessionColumns: [(name: SQL<SessionOpening>, value: SQL<SessionOpening>)] {
        guard case .serverToken = self else { return [] }
        return [("claims", "\(SessionOpeningText.claims)")]
    }

    /// The SQL of the time at which the user authenticated for the new session.
    ///
    /// For a server's request the time is long ago, since no credential was presented.
    fileprivate var proved: SQL<SessionOpening> {
        areOfServer ? "to_timestamp(0)" : "now()"
    }
}

extension SessionOpening {
    /// Returns the text of the statement that opens the session.
    func text(of application: Application) -> SQL<SessionOpening> {
        SessionOpeningText(of: self, columns: UserColumns(application: application), application: application).statement
    }
}
