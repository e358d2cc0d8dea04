import FoundationEssentials
import Postgres
package import Vocabulary

/// The user whose identity a verified person becomes, where it is not for the identity to say.
package enum LinkTarget: Sendable {
    /// The guest of this id, whose session has this hash: becomes the person. An identity that is somebody's already
    /// stays theirs, and so does the guest.
    case guest(ObjectID, tokenHash: [UInt8])
    /// The user of the session of this hash. An identity that is somebody else's is refused, and one that is nobody's
    /// needs a session whose person was authenticated within so many seconds: whoever has stolen one must not add a
    /// login method of their own.
    case session(tokenHash: [UInt8], authenticatedWithin: Int)

    /// Whether the identity becomes one of a user's who has shown all that is asked for.
    package var isOfSession: Bool {
        if case .session = self { true } else { false }
    }

    fileprivate var tokenHash: [UInt8] {
        switch self {
        case .guest(_, let hash), .session(let hash, _): hash
        }
    }
}

extension Store {
    /// Writes a sign-in onto the user of a live session, in one transaction: the identity first, then all that a login
    /// writes.
    ///
    /// The user is locked first and the identity after that, as a login does.
    ///
    /// - Throws: What a login throws; `guest_invalid`, `session_invalid`, `identity_taken`. Of a guest who becomes a
    ///   user, `invitation_required` and `invitation_invalid`.
    package func signIn(
        _ write: SignInWrite,
        by statement: SignInStatement,
        linking: LinkTarget
    ) async throws(Failure) -> StatementOutcome<WrittenSignIn> {
        let first = statement.linking(linking)
        let application = statement.application
        return try await current(application) {
            try await tables(of: application).withTransaction { connection in
                let (joined, held) = try await connection.join(linking, to: write, of: application)
                // What is the user's already logs in like every other identity.
                var statement = joined == .known ? statement : first
                // The session of a user has shown what it has to; a guest becomes one by this, as by a first login.
                if linking.isOfSession, joined != .madeUser { statement = statement.withoutFactor }
                let result = try await connection.query(statement.filled(with: write))
                guard var written = try outcome(of: result, by: statement) else {
                    throw Failure(
                        .storeUnavailable,
                        "The login met too many others of the same person. Try again shortly.",
                        retryAfter: 1
                    )
                }
                written.linked = joined != .known
                if let held, let claim = write.invitation {
                    try statement.requireFactor(of: held)
                    written.user = try await accept(held, of: claim, by: written.user, in: application, connection)
                }
                return written
            }
        }
    }
}

/// What has become of an identity that is linked.
private enum Joined {
    /// It was somebody's before.
    case known
    /// It is the user's now.
    case linked
    /// It is, and has made a guest a user.
    case madeUser
}

extension PostgresConnection {
    /// Makes an identity the user's, unless it is somebody's.
    ///
    /// - Returns: What has become of it, and the invitation by which it has made a guest a user.
    fileprivate func join(
        _ linking: LinkTarget,
        to write: SignInWrite,
        of application: Application
    ) async throws -> (Joined, HeldInvitation?) {
        let identity = write.person.identity
        // The login that made the guest this person may have lost its reply: the client repeats it.
        if case .guest(let id, _) = linking, try await owner(of: identity, in: application) == id {
            return (.known, nil)
        }
        guard let user = try await lockUser(ofSession: linking.tokenHash, of: application) else {
            throw linking.refusal
        }
        if case .guest(let id, _) = linking, id != user.id || user.status != .guest { throw linking.refusal }
        guard user.status != .disabled else { throw Store.accountDisabled }
        // Under the lock: what is the user's own now stays so until the end.
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
        // Somebody else was faster: a statement of its own sees what has been committed since the insert began to wait
        // for it.
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
        return try result.first.map { row throws(PostgresError) in ObjectID(try row.decode(0, as: UUID.self)) }
    }
}

extension PostgresConnection {
    /// Makes a guest an ordinary user, whose sessions from before end: whoever else had one is no part of the account
    /// (T-33).
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
    /// The session that goes on; an empty hash is none's.
    fileprivate var keptSession: [UInt8] {
        switch self {
        case .guest: []
        case .session(let hash, _): hash
        }
    }

    /// Holds an identity that is somebody's against whom it is to be.
    fileprivate func take(_ owner: ObjectID, for user: ObjectID) throws(Failure) {
        if case .session = self, owner != user { throw .identityTaken(byAnother: true) }
    }

    /// Guests have nothing but their session.
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
        }
    }
}

extension Failure {
    /// That an identity cannot be linked: it is another user's, or the user has another one at the same app.
    fileprivate static func identityTaken(byAnother: Bool) -> Failure {
        Failure(
            .identityTaken,
            byAnother
                ? "This identity belongs to another user already. Log in by it, or unlink it there first."
                : "This user already has another identity of this provider. Unlink it first.",
            details: ["owner": .string(byAnother ? "other" : "self")]
        )
    }
}

extension SignInStatement {
    /// The same, which asks for no second factor.
    fileprivate var withoutFactor: SignInStatement {
        SignInStatement(
            application: application,
            provider: provider,
            tokens: tokens,
            targets: targets,
            use: use,
            asksForFactor: false
        )
    }

    /// The same for a user who was there before the identity: what is written at the first login is that of a guest who
    /// becomes a user, and fills what is empty for one who has used the application as somebody.
    func linking(_ linking: LinkTarget) -> SignInStatement {
        let first: SyncMode =
            switch linking {
            case .guest: .always
            case .session: .ifEmpty
            }
        return SignInStatement(
            application: application,
            provider: provider,
            tokens: tokens,
            targets: targets.map { target in
                let sync = target.sync == .firstLogin ? first : target.sync
                return Target(
                    name: target.name,
                    type: target.type,
                    sync: sync,
                    mayBeCleared: target.mayBeCleared
                )
            },
            use: use,
            asksForFactor: asksForFactor
        )
    }
}
