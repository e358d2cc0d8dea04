package import Applications
package import KeptTokens
package import Logging
import Providers
package import Store
package import Vocabulary

/// Carries out requests for deletion: at once when they come, or when they are due.
package struct Erasures: Sendable {
    private let store: Store
    private let revoker: PermissionRevoker
    private let banKey: BanKey

    /// Requests that one round takes on at most.
    private static let mostOfARound = 20

    package init(store: Store, revoker: PermissionRevoker, banKey: BanKey) {
        self.store = store
        self.revoker = revoker
        self.banKey = banKey
    }

    /// Carries out what is due: one round, which any number of instances may do at once.
    ///
    /// - Parameters:
    ///   - loaded: The application.
    ///   - logger: Gets a line for each request.
    /// - Returns: How many were carried out. What something stands in the way of is tried again after ten minutes.
    /// - Throws: `store_unavailable` and its like.
    package func eraseWhatIsDue(of loaded: LoadedApplication, logger: Logger) async throws(Failure) -> Int {
        let due = try await store.dueDeletions(of: loaded.application, limit: Self.mostOfARound)
        var erased = 0
        for request in due where !Task.isCancelled {
            if await erase(code: request.code, by: request.requester, of: loaded, logger: logger) { erased += 1 }
        }
        return erased
    }

    /// Carries one request out, and revokes our permissions at the provider where a token is left that can do it.
    ///
    /// What it tells by mail is on its way once everything is gone, and not before.
    ///
    /// - Returns: Whether this call did it.
    package func erase(
        code: String,
        by requester: DeletionRequester,
        telling notices: [Notice] = [],
        of loaded: LoadedApplication,
        logger: Logger
    ) async -> Bool {
        var metadata: Logger.Metadata = ["application": "\(loaded.application.id)", "deletion": "\(code)"]
        do throws(Failure) {
            let actor = requester.actor
            let application = loaded.application
            let hash = try await banKey.hasher(of: application.id)
            let erasure = try await store.erase(
                code: code,
                of: application,
                banningBy: hash,
                telling: notices,
                by: actor
            )
            switch erasure {
            case .notOurs:
                return false
            case .hindered(let hindrance):
                metadata["table"] = "\(hindrance)"
                logger.error("deletion is hindered; it is tried again every ten minutes", metadata: metadata)
                return false
            case .nobody:
                metadata["outcome"] = "nobody"
            case .identity(let user, let tokens):
                metadata["outcome"] = "identity"
                metadata["user"] = "\(user)"
                await revokePermissions(by: tokens, formerlyOf: user, in: loaded, actor: actor, logger: logger)
            case .user(let user, let tokens):
                metadata["outcome"] = "user"
                metadata["user"] = "\(user)"
                await revokePermissions(by: tokens, formerlyOf: user, in: loaded, actor: actor, logger: logger)
            }
            logger.info("deletion done", metadata: metadata)
            return true
        } catch {
            metadata["reason"] = "\(error.reason.rawValue)"
            if let cause = error.cause { metadata["cause"] = "\(cause)" }
            logger.warning("deletion failed; it is tried again", metadata: metadata)
            return false
        }
    }

    private func revokePermissions(
        by tokens: [KeptIdentity],
        formerlyOf user: ObjectID,
        in loaded: LoadedApplication,
        actor: Actor,
        logger: Logger
    ) async {
        for revocation in await revoker.revokePermissions(by: tokens, formerlyOf: user, in: loaded, actor: actor) {
            guard case .failed(let failure) = revocation.removal else { continue }
            logger.warning(
                "permissions could not be given up",
                metadata: [
                    "application": "\(loaded.application.id)", "user": "\(user)", "app": "\(revocation.app)",
                    "reason": "\(failure.reason.rawValue)", "cause": "\(failure.cause ?? "")",
                ]
            )
        }
    }
}

extension DeletionRequester {
    /// For the audit log.
    fileprivate var actor: Actor {
        switch self {
        case .provider(let name): Actor.provider(name, by: "deletion")
        case .user(let user): Actor(name: "user:\(user)", source: "deletion")
        }
    }
}
