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
            let (erasure, revocations) = try await carryOut(
                code: code,
                by: requester.actor,
                telling: notices,
                of: loaded
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
            case .identity(let user, _):
                metadata["outcome"] = "identity"
                metadata["user"] = "\(user)"
            case .user(let user, _):
                metadata["outcome"] = "user"
                metadata["user"] = "\(user)"
            }
            for revocation in revocations { logger.warn(of: revocation, metadata) }
            logger.info("deletion done", metadata: metadata)
            return true
        } catch {
            metadata["reason"] = "\(error.reason.rawValue)"
            if let cause = error.cause { metadata["cause"] = "\(cause)" }
            logger.warning("deletion failed; it is tried again", metadata: metadata)
            return false
        }
    }

    /// Carries out one request that is due, and gives up our permissions at the provider where a kept token allows
    /// that.
    ///
    /// - Parameters:
    ///   - code: The request.
    ///   - actor: Who asked for it, for the audit log.
    ///   - notices: The mails that are sent once everything is gone.
    ///   - loaded: The application.
    /// - Returns: The outcome of the erasure, and of giving up the permissions.
    /// - Throws: `store_unavailable` and its like; nothing has changed then.
    package func carryOut(
        code: String,
        by actor: Actor,
        telling notices: [Notice] = [],
        of loaded: LoadedApplication
    ) async throws(Failure) -> (erasure: Erasure, revocations: [PermissionRevocation]) {
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
        case .notOurs, .hindered, .nobody: return (erasure, [])
        case .identity(let user, let tokens), .user(let user, let tokens):
            let revocations = await revoker.revokePermissions(by: tokens, formerlyOf: user, in: loaded, actor: actor)
            return (erasure, revocations)
        }
    }
}

extension Logger {
    fileprivate func warn(of revocation: PermissionRevocation, _ about: Metadata) {
        guard case .failed(let failure) = revocation.removal else { return }
        var metadata = about
        metadata["app"] = "\(revocation.app)"
        metadata["reason"] = "\(failure.reason.rawValue)"
        metadata["cause"] = "\(failure.cause ?? "")"
        warning("permissions could not be given up", metadata: metadata)
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
