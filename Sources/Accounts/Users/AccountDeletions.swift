package import Applications
package import Domain
package import Logging
import Logins
import Messaging
import Secrets
import Store

/// Deletes accounts, at the request of a server or of the users themselves.
///
/// App stores require that users can delete their own accounts in every app.
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

    /// Deletes a user.
    ///
    /// A client deletes only the user of its session; a server deletes any user.
    ///
    /// Deletes identities, sessions and password, revokes the app's permissions at providers, and mails a notice to the
    /// user. A server's deletion erases all data at once.
    ///
    /// A user's own deletion requires a recent authentication, and ends all sessions at once. The data is erased later,
    /// after the longest `eraseAfterDays` of the providers that the user could log in by. It is never erased while a
    /// link can still restore the account.
    ///
    /// - Parameters:
    ///   - id: The id of the user.
    ///   - token: The session.
    ///   - server: The server that makes the request; nil for a client.
    ///   - loaded: The application.
    ///   - logger: The logger of the request.
    /// - Returns: The time of the erasure, past or future, in milliseconds since 1970 UTC.
    /// - Throws: `session_invalid`, `reauthentication_required`; `deletion_forbidden` for every id that is not the
    ///   session's user, whether it exists or not (T-117), and if the application does not let users delete their
    ///   account; for servers `not_found`, and `conflict` while rows of the operator's own tables refer to the user.
    package func delete(
        _ id: ObjectID?,
        token: SessionKey?,
        server: ServerCaller?,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> Int64 {
        if let server { return try await erase(id, by: server, in: loaded, logger: logger) }
        let (user, token) = try await sessions.session(of: token, in: loaded)
        guard id == user.objectID else {
            throw Failure(.deletionForbidden, "This user does not exist or is not the user of this session.")
        }
        guard try await collection.has(.deleteOwn, user, in: loaded) else {
            throw Failure(.deletionForbidden, "Users cannot delete their accounts in this app. Contact its operator.")
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

    /// Returns the days from the deletion of an account to the erasure of its data.
    ///
    /// This is the longest delay among the providers of the user's login methods. It is never less than the time in
    /// which a link can restore the account.
    private func waitingDays(
        of user: User,
        token: SessionKey,
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
        let user = try await store.existingUser(id, of: loaded.application).user
        let farewell = try await notices.notices(of: .accountDeleted(days: 0, name: user.name), to: user, in: loaded)
        let hash = try await banKey.hasher(of: loaded.application.id)
        let changed: ChangedUser
        do {
            changed = try await store.change(user.objectID, of: loaded.application, by: server.actor) { _ in
                .erase(banningBy: hash, telling: farewell)
            }
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure(.internal, "The user could not be deleted.", cause: "\(error)")
        }
        _ = await revoker.revokePermissions(
            by: changed.tokens,
            formerlyOf: user.objectID,
            in: loaded,
            actor: server.actor
        )
        return clock.milliseconds
    }
}
