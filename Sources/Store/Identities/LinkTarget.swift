package import Domain
import Encodings
import FoundationEssentials
import Postgres

/// The user to whom a login links the verified identity.
///
/// Without a target, the identity's own user logs in, or a new user is created.
package enum LinkTarget: Sendable {
    /// The guest with this id, who becomes an ordinary user.
    ///
    /// The hash is that of the token of one of the guest's sessions. If the identity already belongs to a user, it
    /// stays with that user, and the guest stays a guest.
    case guest(ObjectID, tokenHash: [UInt8])
    /// The user of the session whose token has this hash.
    ///
    /// The identity of another user is refused. To link a new identity, the session's user must have authenticated
    /// within `authenticatedWithin` seconds: a stolen session must not suffice to add a login method.
    case session(tokenHash: [UInt8], authenticatedWithin: Int)
    /// The account whose mailbox the client can read.
    case mailbox(Mailbox)

    /// An account's mailbox, to which the client has shown access by a mailed code.
    package struct Mailbox: Sendable {
        package let user: ObjectID
        /// The address to which the code was mailed.
        ///
        /// It must still be the user's.
        package let email: String
        /// Whether the reader of the mailbox says that the account's identities are their own.
        package let keepsIdentities: Bool

        package init(user: ObjectID, email: String, keepsIdentities: Bool) {
            self.user = user
            self.email = email
            self.keepsIdentities = keepsIdentities
        }
    }

    /// Whether the target is an account, and not a guest.
    ///
    /// Its user needs no admission as a new user.
    package var isOfAccount: Bool {
        if case .guest = self { false } else { true }
    }

    /// Whether the target is the user of a session.
    ///
    /// Such a user has presented all required second factors already.
    package var isOfSession: Bool {
        if case .session = self { true } else { false }
    }
}

extension Store {
    /// Links an identity to the user of a live session and writes the login, in one transaction.
    ///
    /// Locks the user first and then the identity, as a login does.
    ///
    /// - Throws: The errors of a login; `guest_invalid`, `session_invalid`, `identity_taken`. For a guest who becomes a
    ///   user, `invitation_required` and `invitation_invalid`. For the reader of a mailbox, `second_factor_required`,
    ///   `pending_login_invalid`, and `conflict` while the account can still be restored to another address.
    package func login(
        _ write: LoginWrite,
        by statement: LoginStatement,
        linking: LinkTarget
    ) async throws(Failure) -> StatementOutcome<WrittenLogin> {
        let first = statement.linking(linking)
        let application = statement.application
        return try await current(application) {
            try await tables(of: application).withTransaction { connection in
                var lost: [KeptIdentity] = []
                if case .mailbox(let mailbox) = linking {
                    lost = try await connection.open(mailbox, showing: write.factor, in: application)
                }
                let (joined, held) = try await connection.join(linking, to: write, of: application)
                // An identity that belongs to the user already logs in like any other.
                var statement = joined == .known ? statement : first
                // A session's user has presented the required factors. A guest who becomes a user has not, as at a
                // first login.
                if linking.isOfSession, joined != .madeUser { statement = statement.withoutFactor }
                let result = try await connection.query(statement.filled(with: write))
                guard var written = try outcome(of: result, by: statement, for: write) else {
                    throw Failure(
                        .storeUnavailable,
                        "Too many logins of the same user at once. Try again shortly.",
                        retryAfter: 1
                    )
                }
                written.linked = joined != .known
                written.lost = lost
                if let held, let claim = write.invitation {
                    try statement.requireFactor(of: held)
                    written.user = try await accept(held, of: claim, by: written.user, in: application, connection)
                }
                return written
            }
        }
    }
}

/// The outcome of linking an identity.
private enum Joined {
    /// The identity belonged to a user before.
    case known
    /// The identity belongs to the user now.
    case linked
    /// The identity belongs to the user now, and has made a guest an ordinary user.
    case madeUser
}

extension PostgresConnection {
    /// Links an identity to a user, unless the identity already belongs to one.
    ///
    /// - Returns: The outcome, and the locked invitation of a guest who becomes a user by this link.
    fileprivate func join(
        _ linking: LinkTarget,
        to write: LoginWrite,
        of application: Application
    ) async throws -> (Joined, HeldInvitation?) {
        let identity = write.verified.identity
        // The client may repeat the login that made the guest a user, because the response was lost.
        if case .guest(let id, _) = linking, try await owner(of: identity, in: application) == id {
            return (.known, nil)
        }
        let locked =
            switch linking {
            case .guest(_, let hash), .session(let hash, _): try await lockUser(ofSession: hash, of: application)
            case .mailbox(let mailbox): SessionUser(readerOf: mailbox)
            }
        guard let user = locked else { throw linking.refusal }
        if case .guest(let id, _) = linking, id != user.id || user.status != .guest { throw linking.refusal }
        guard user.status != .disabled else { throw Store.accountDisabled }
        // The lock keeps the user's own identities with the user until the end of the transaction.
        if let owner = try await owner(of: identity, in: application) {
            try linking.take(owner, for: user.id)
            return (.known, nil)
        }
        guard try await !isBanned(write.banHash, schema: application.schema) else { throw Store.accountDisabled }
        try linking.requireAuthentication(of: user)
        let held =
            user.status == .guest
            ? try await requireInvitation(write.invitation, or: identity, ofGuest: user.id, to: application) : nil
        let inserted = try await query(
            """
            insert into \(identifier: application.schema).identities (provider, provider_app, subject, object_id)
            select \(identity.provider.text), \(identity.app.text), \(identity.subject.text), \(user.id.uuid)
            where not exists (
                select from \(identifier: application.schema).identities
                where object_id = \(user.id.uuid) and provider = \(identity.provider.text)
                    and provider_app = \(identity.app.text)
            )
            on conflict (provider, provider_app, subject) do nothing
            """
        )
        if inserted.affectedRows == 1 {
            guard user.status == .guest else { return (.linked, nil) }
            try await admit(user.id, by: identity, linking, in: application)
            return (.madeUser, held)
        }
        guard let owner = try await self.owner(of: identity, in: application) else {
            throw Failure.identityTaken(byAnother: false)
        }
        // Another login has inserted the identity first. Only a separate statement sees what that login committed while
        // the insert waited for it.
        try linking.take(owner, for: user.id)
        return (.known, nil)
    }

    private func owner(
        of identity: IdentityKey,
        in application: Application
    ) async throws(PostgresError) -> ObjectID? {
        let result = try await query(
            "select object_id from \(identifier: application.schema).identities where \(identity.condition)"
        )
        return try result.first(ObjectID.self)
    }
}

extension PostgresConnection {
    /// Makes a guest an ordinary user and revokes the guest's former sessions.
    ///
    /// Others who hold a former session's token must not get into the account (T-33).
    private func admit(
        _ guest: ObjectID,
        by identity: IdentityKey,
        _ linking: LinkTarget,
        in application: Application
    ) async throws(PostgresError) {
        _ = try await query(
            """
            update \(identifier: application.schema).users
            set user_status = 'ENABLED', social_account = \(identity.provider.socialAccount)
            where object_id = \(guest.uuid)
            """
        )
        _ = try await query(
            """
            delete from \(identifier: application.schema).sessions
            where object_id = \(guest.uuid) and token_hash <> \(linking.keptSession)
            """
        )
    }
}

extension LinkTarget {
    /// The token hash of the session that stays valid when a guest becomes a user; empty if none does.
    fileprivate var keptSession: [UInt8] {
        switch self {
        case .guest, .mailbox: []
        case .session(let hash, _): hash
        }
    }

    /// Throws if the identity belongs to another user than the target.
    ///
    /// For a guest it does not matter: the login is then one of the other user.
    fileprivate func take(_ owner: ObjectID, for user: ObjectID) throws(Failure) {
        if case .guest = self { return }
        guard owner == user else { throw .identityTaken(byAnother: true) }
    }

    /// Requires a recent authentication.
    ///
    /// A guest is exempt, since a guest has no credential but the session.
    fileprivate func requireAuthentication(of user: SessionUser) throws(Failure) {
        guard case .session(_, let seconds) = self, user.status != .guest else { return }
        guard user.authenticatedAgo <= seconds else { throw .reauthenticationRequired }
        try user.requireFactor(within: seconds)
    }

    fileprivate var refusal: Failure {
        switch self {
        case .guest:
            Failure(
                .guestInvalid,
                "guestUser is no guest with a live session. Log in without it, or begin as a guest again."
            )
        case .session: .sessionInvalid
        case .mailbox: FactorDemand.unusable.failure
        }
    }
}

extension SessionUser {
    /// The user whose mailbox the client can read; the user's row is locked.
    ///
    /// Access to the mailbox counts as an authentication of this moment.
    fileprivate init(readerOf mailbox: LinkTarget.Mailbox) {
        self.init(id: mailbox.user, status: .enabled, authenticatedAgo: 0, factorAgo: nil, hasFactor: false)
    }
}

extension Failure {
    /// Returns the failure for an identity of another user, or for a second identity of the user at the same app.
    fileprivate static func identityTaken(byAnother: Bool) -> Failure {
        Failure(
            .identityTaken,
            byAnother
                ? "This identity already belongs to another user. Log in with it, or unlink it there first."
                : "This user already has another identity of this provider. Unlink it first.",
            details: ["owner": .string(byAnother ? "other" : "self")]
        )
    }
}

extension LoginStatement {
    /// This statement, but without asking for a second factor.
    fileprivate var withoutFactor: LoginStatement { with { $0.asksForFactor = false } }

    /// Returns a copy of this statement for a user who existed before the identity.
    ///
    /// The copy differs for the properties that the mapping writes at the first login only. For a guest who becomes a
    /// user, it always writes them. For any other user, who has already used the application, it writes them only if
    /// they are empty.
    func linking(_ linking: LinkTarget) -> LoginStatement {
        let first: SyncMode =
            switch linking {
            case .guest: .always
            case .session, .mailbox: .ifEmpty
            }
        return with { form in
            form.targets = form.targets.map { target in
                Target(
                    name: target.name,
                    type: target.type,
                    sync: target.sync == .firstLogin ? first : target.sync,
                    mayBeCleared: target.mayBeCleared
                )
            }
        }
    }
}
