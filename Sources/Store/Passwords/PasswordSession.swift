import FoundationEssentials
import Postgres
package import Vocabulary

/// What opens a session for a person who has shown the password.
package struct PasswordSession: Sendable {
    package let user: ObjectID
    /// The stored hash that the password was held against, by its sealed bytes; nil when no password was asked for.
    package let verifiedHash: SealedSecret?
    /// What the person logged in by.
    package let login: String
    package let tokenHash: [UInt8]
    /// The session that the client had; it ends if it is the same user's.
    package let previousTokenHash: [UInt8]?

    package init(
        user: ObjectID,
        verifiedHash: SealedSecret?,
        login: String,
        tokenHash: [UInt8],
        previousTokenHash: [UInt8]?
    ) {
        self.user = user
        self.verifiedHash = verifiedHash
        self.login = login
        self.tokenHash = tokenHash
        self.previousTokenHash = previousTokenHash
    }
}

extension Store {
    /// Opens a session by a password in one statement.
    ///
    /// The user is locked first and the password after that, as a change of the password does: a login that was held
    /// against the hash from before the change opens nothing when the change was faster.
    ///
    /// - Parameters:
    ///   - session: what to open.
    ///   - application: whose user it is.
    /// - Returns: The user; nil when the hash is not the stored one any more, or the user is gone.
    /// - Throws: `account_disabled`, `email_unconfirmed`, `already_logged_in`, `too_many_sessions`, `store_unavailable`
    ///   and its like.
    package func openPasswordSession(
        _ session: PasswordSession,
        of application: Application
    ) async throws(Failure) -> StatementOutcome<User?> {
        let columns = UserColumns(application: application)
        let statement = StatementTemplate(session.text(columns, of: application)).filled(with: session)
        return try await current(application) {
            guard let row = try await postgres.query(statement, near: application.affinity).first else { return nil }
            let status = try row.decode(0, as: String.self)
            if try row.decode(1, as: UUID?.self) != nil { return try columns.user(in: row, from: 1) }
            switch UserStatus(rawValue: status) {
            case .emailConfirmationPending: throw Self.emailUnconfirmed
            case .disabled, nil: throw Self.accountDisabled
            case .enabled, .guest: throw application.settings.excessLogin
            }
        }
    }

    package static let emailUnconfirmed = Failure(
        .emailUnconfirmed,
        "The e-mail address of this account has not been confirmed yet. Follow the link in the mail that was sent to it."
    )
}

extension PasswordSession {
    /// The text of the statement that opens one.
    func text(_ columns: UserColumns, of application: Application) -> SQL<PasswordSession> {
        typealias Value = Parameter<PasswordSession>
        let schema: SQL<PasswordSession> = "\(identifier: application.schema)"
        let user = Value("user") { .uuid($0.user.uuid) }
        let tokenHash = Value("token_hash") { .bytes($0.tokenHash) }
        let previous = Value("previous_token_hash") { $0.previousTokenHash.map(Bind.bytes) ?? .null(.bytes) }
        let hash = Value("verified_hash", as: "bytea") { $0.verifiedHash.map { .bytes($0.bytes) } ?? .null(.bytes) }
        let login = Value("login") { .text($0.login) }
        let seconds = Value("session_seconds") { _ in .int64(application.settings.sessionAbsoluteSeconds) }
        let verified: SQL<PasswordSession> =
            verifiedHash == nil
            ? """
            select u.object_id, u.user_status from \(schema).users u where u.object_id = \(user) and \(hash) is null
            for no key update of u
            """
            : """
            select u.object_id, u.user_status from \(schema).users u join \(schema).passwords p using (object_id)
            where u.object_id = \(user) and p.hash = \(hash)
            for no key update of u, p
            """
        let ending = SessionEnding(application: application, opened: tokenHash, previous: previous)
        let room = ending.room(of: "verified")
        let looking: SQL<PasswordSession> = room.map { ", \($0)" as SQL<PasswordSession> } ?? ""
        let isFree: SQL<PasswordSession> = room == nil ? "" : " and (select room.room from room)"
        return """
            with verified as (
                \(verified)
            )\(looking), person as (
                update \(schema).users u set last_login = now()
                where u.object_id = (
                    select verified.object_id from verified
                    where verified.user_status not in ('DISABLED', 'EMAIL_CONFIRMATION_PENDING')\(isFree)
                )
                returning \(unsafeRaw: columns.list(of: "u"))
            ), session as (
                insert into \(schema).sessions (token_hash, object_id, expires, provider, provider_app, subject, proved)
                select
                    \(tokenHash), object_id, now() + make_interval(secs => \(seconds)), 'password', '', \(login),
                    case when \(hash) is null then to_timestamp(0) else now() end
                from person
            ), \(ending.expressions)
            select verified.user_status, person.*, previous.ended
            from verified left join person on true left join previous on true
            """
    }
}
