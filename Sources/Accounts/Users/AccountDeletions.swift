package import Applications
package import Deletions
package import KeptTokens
package import Logging
package import Logins
import Mailing
package import Notifications
import Secrets
package import Store
package import Vocabulary

/// Accounts that are deleted: by their users, as app stores demand of every app, or by servers.
package struct AccountDeletions: Sendable {
    let store: Store
    let sessions: Sessions
    let collection: UserCollection
    let notices: Notices
    let erasures: Erasures
    let revoker: PermissionRevoker
    let banKey: BanKey
    let clock: WallClock
    let random: RandomSource

    package init(
        store: Store,
        sessions: Sessions,
        collection: UserCollection,
        notices: Notices,
        erasures: Erasures,
        revoker: PermissionRevoker,
        banKey: BanKey,
        clock: WallClock,
        random: RandomSource
    ) {
        self.store = store
        self.sessions = sessions
        self.collection = collection
        self.notices = notices
        self.erasures = erasures
        self.revoker = revoker
        self.banKey = banKey
        self.clock = clock
        self.random = random
    }

    /// Deletes a user: the session's own, or any for a server.
    ///
    /// Identities, sessions and password go with it, our permissions at providers are given up, and the user is told by
    /// mail. The own account takes a session whose person has shown of late who they are; it ends at once with all
    /// others, and the data wait as long as the provider among the login methods that lets erasures wait the longest
    /// (`eraseAfterDays`), or until a link ends that takes the account back.
    ///
    /// - Parameters:
    ///   - id: Whose account it is.
    ///   - token: The session.
    ///   - server: The server that calls; nil for everybody else.
    ///   - loaded: The application.
    ///   - logger: Of the request.
    /// - Returns: Milliseconds since 1970 UTC at which the data are or will be gone.
    /// - Throws: `session_invalid`, `reauthentication_required`; `deletion_forbidden` for every other id, whether it
    ///   exists or not (T-117), and where the application does not let users delete their account; of servers
    ///   `not_found`, and `conflict` while rows of the operator's own tables refer to the user.
    package func delete(
        _ id: ObjectID?,
        token: SessionToken?,
        server: ServerCaller?,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> Int64 {
        if let server { return try await erase(id, by: server, in: loaded, logger: logger) }
        let (user, token) = try await sessions.session(of: token, in: loaded)
        guard id == user.objectID else {
            throw Failure(.deletionForbidden, "There is no such user, or it is not the one of this session.")
        }
        guard try await collection.has(.deleteOwn, user, in: loaded) else {
            throw Failure(.deletionForbidden, "This app does not let users delete their account: ask its operator.")
        }
        let days = try await waitingDays(of: user, token: token, in: loaded)
        let farewell = try await notices.notices(of: .accountDeleted(days: days, name: user.name), to: user, in: loaded)
        let stored = try await store.requestDeletion(
            AccountDeletion(
                code: DeletionCode.make(random),
                hash: Digest.sha256("account \(user.objectID)"),
                days: days,
                notices: days > 0 ? farewell : []
            ),
            bySession: token.hash,
            authenticatedWithin: Sessions.reauthenticationSeconds,
            of: loaded.application
        )
        logger.info(
            "account deletion requested",
            metadata: [
                "application": "\(loaded.application.id)", "deletion": "\(stored.code)", "user": "\(user.objectID)",
            ]
        )
        guard stored.due <= stored.requested else { return stored.due }
        let isGone = await erasures.erase(
            code: stored.code,
            by: .user(user.objectID),
            telling: farewell,
            of: loaded,
            logger: logger
        )
        return isGone ? clock.milliseconds : clock.milliseconds + 1000 * Int64(Store.secondsBetweenErasures)
    }

    /// How many days the data wait: as long as the provider among the user's login methods that lets erasures wait the
    /// longest, and until no link can take the account back any more.
    private func waitingDays(
        of user: User,
        token: SessionToken,
        in loaded: LoadedApplication
    ) async throws(Failure) -> Int64 {
        let methods = try await store.loginMethods(of: user.objectID, session: token.hash, in: loaded.application)
        let days = methods.compactMap { ProviderName($0.provider).flatMap(loaded.eraseAfterDays(of:)) }
        let contested = try await store.secondsToTakeBack(user.objectID, of: loaded.application)
        return max(days.max() ?? 0, (contested + 86_399) / 86_400)
    }

    private func erase(
        _ id: ObjectID?,
        by server: ServerCaller,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> Int64 {
        guard let id, let user = try await store.person(id, of: loaded.application)?.user else { throw .noSuchUser }
        let farewell = try await notices.notices(of: .accountDeleted(days: 0, name: user.name), to: user, in: loaded)
        let hash = try await banKey.hasher(of: loaded.application.id)
        let changed: ChangedPerson
        do {
            changed = try await store.change(id, of: loaded.application, by: server.actor) { _ in
                .erase(banningBy: hash, telling: farewell)
            }
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure(.internal, "The user could not be deleted.", cause: "\(error)")
        }
        _ = await revoker.revokePermissions(by: changed.tokens, formerlyOf: id, in: loaded, actor: server.actor)
        return clock.milliseconds
    }
}
