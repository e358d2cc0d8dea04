import FoundationEssentials
import Postgres
package import Vocabulary

/// What opens a session for a user without a provider's word.
package struct SessionOpening: Sendable {
    package enum Grounds: Sendable {
        /// The password: the stored hash that it was held against, by its sealed bytes.
        case password(SealedSecret)
        /// A passkey, which is the factor that was shown as well.
        case passkey
        /// A server's word: nobody has shown who they are.
        case server
    }

    package let user: ObjectID
    package let grounds: Grounds
    /// What the person logged in by.
    package let login: String
    package let tokenHash: [UInt8]
    /// The session that the client had; it ends if it is the same user's.
    package let previousTokenHash: [UInt8]?
    /// SHA-256 of what the client says that its device is trusted by.
    package let deviceHash: [UInt8]?
    /// What finishes a login that was put off, and what of it counts once; nil for a login that begins.
    package let finish: Finish?

    package struct Finish: Sendable {
        let factor: FactorProof
        let once: SingleUse

        package init(factor: FactorProof, once: SingleUse) {
            self.factor = factor
            self.once = once
        }
    }

    package init(
        user: ObjectID,
        grounds: Grounds,
        login: String,
        tokenHash: [UInt8],
        previousTokenHash: [UInt8]?,
        deviceHash: [UInt8]? = nil,
        finish: Finish? = nil
    ) {
        self.user = user
        self.grounds = grounds
        self.login = login
        self.tokenHash = tokenHash
        self.previousTokenHash = previousTokenHash
        self.deviceHash = deviceHash
        self.finish = finish
    }
}

extension Store {
    /// Opens a session in one statement.
    ///
    /// The user is locked first and the password after that, as a change of the password does: a login that was held
    /// against the hash from before the change opens nothing when the change was faster.
    ///
    /// - Parameters:
    ///   - opening: what to open.
    ///   - application: whose user it is.
    /// - Returns: The user; nil when the hash is not the stored one any more, or the user is gone.
    /// - Throws: `account_disabled`, `email_unconfirmed`, `already_logged_in`, `too_many_sessions`,
    ///   `second_factor_required`, `second_factor_enrolment_required`, `pending_sign_in_invalid`, `store_unavailable`
    ///   and its like.
    package func openSession(
        _ opening: SessionOpening,
        of application: Application
    ) async throws(Failure) -> StatementOutcome<User?> {
        let columns = UserColumns(application: application)
        let statement = StatementTemplate(opening.text(of: application)).filled(with: opening)
        return try await current(application) {
            guard let row = try await tables(of: application).query(statement, near: application.affinity).first else {
                return nil
            }
            let status = try row.decode(0, as: String.self)
            if try row.decode(2, as: UUID?.self) != nil { return try columns.user(in: row, from: 2) }
            switch UserStatus(rawValue: status) {
            case .emailConfirmationPending: throw Self.emailUnconfirmed
            case .disabled, nil: throw Self.accountDisabled
            case .enabled, .guest: break
            }
            if let demand = try row.decode(1, as: String?.self).flatMap(FactorDemand.init) { throw demand.failure }
            throw application.settings.excessLogin
        }
    }

    package static let emailUnconfirmed = Failure(
        .emailUnconfirmed,
        "The e-mail address of this account has not been confirmed yet. Follow the link in the mail that was sent to it."
    )
}

/// The text of the statement that opens a session, expression by expression.
private struct SessionOpeningText {
    private typealias Value = Parameter<SessionOpening>

    private let grounds: SessionOpening.Grounds
    private let columns: UserColumns
    private let application: Application
    private let schema: SQL<SessionOpening>
    private let ending: SessionEnding<SessionOpening>
    private let factor: FactorStep<SessionOpening>?
    private let once: SingleUseStep<SessionOpening>?

    init(of opening: SessionOpening, columns: UserColumns, application: Application) {
        grounds = opening.grounds
        self.columns = columns
        self.application = application
        let schema: SQL<SessionOpening> = "\(identifier: application.schema)"
        self.schema = schema
        ending = SessionEnding(application: application, opened: Self.tokenHash, previous: Self.previous)
        let once = opening.finish == nil ? nil : SingleUseStep(schema: schema, kind: .pendingSignIn) { $0.finish?.once }
        self.once = once
        let user: SQL<SessionOpening> = "(select verified.object_id from verified)"
        factor =
            if let finish = opening.finish {
                FactorStep(
                    finishing: application,
                    by: finish.factor.kind,
                    user: user,
                    proof: { $0.finish?.factor },
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
        var refusal: SQL<SessionOpening> = "null::text"
        if let factor {
            expressions.append(factor.expressions(if: conditions))
            conditions = factor.requirements(beside: conditions)
            refusal = "case \(factor.refusal) end"
        }
        expressions += [person(if: conditions), session, ending.expressions]
        if let consequences = factor?.consequences { expressions.append(consequences) }
        return """
            with \(expressions.joined(separator: ", "))
            select verified.user_status, \(refusal) as refusal, person.*, previous.ended
            from verified left join person on true left join previous on true
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
                where u.object_id = \(Self.user) and p.hash = \(Self.hash)
                for no key update of u, p
            )
            """
    }

    private func person(if conditions: [SQL<SessionOpening>]) -> SQL<SessionOpening> {
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
        let shown = factor?.sessionColumns ?? []
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
                \(again)
            )
            """
    }

    private static let user = Value("user") { .uuid($0.user.uuid) }
    private static let tokenHash = Value("token_hash") { .bytes($0.tokenHash) }
    private static let previous = Value("previous_token_hash") {
        $0.previousTokenHash.map(Bind.bytes) ?? .null(.bytes)
    }
    private static let login = Value("login") { .text($0.login) }
    private static let hash = Value("verified_hash", as: "bytea") {
        guard case .password(let hash) = $0.grounds else { return .null(.bytes) }
        return .bytes(hash.bytes)
    }
}

extension SessionOpening.Grounds {
    fileprivate var provider: String {
        switch self {
        case .password, .server: ProviderName.password.text
        case .passkey: FactorKind.passkey.rawValue
        }
    }

    /// A server answers for whom it logs in.
    fileprivate var asksForFactor: Bool {
        if case .server = self { false } else { true }
    }

    /// When the person has shown who they are.
    fileprivate var proved: SQL<SessionOpening> {
        if case .server = self { "to_timestamp(0)" } else { "now()" }
    }
}

extension SessionOpening {
    /// The text of the statement that opens it.
    func text(of application: Application) -> SQL<SessionOpening> {
        SessionOpeningText(of: self, columns: UserColumns(application: application), application: application).statement
    }
}
