package import Applications
package import Domain
package import Logging
package import Logins
import Providers
package import Store

/// Carries out deletion requests: at once, or when they are due.
package struct Erasures: Sendable {
    private let store: Store
    private let revoker: PermissionRevoker
    private let banKey: BanKey

    /// The maximum number of deletion requests that one call of `eraseWhatIsDue` carries out.
    private static let maxPerRound = 20

    package init(store: Store, revoker: PermissionRevoker, banKey: BanKey) {
        self.store = store
        self.revoker = revoker
        self.banKey = banKey
    }

    /// Carries out the due deletion requests of an application, up to a maximum.
    ///
    /// Several instances may call this method at the same time.
    ///
    /// - Parameters:
    ///   - loaded: The application.
    ///   - logger: Gets a line for each request.
    /// - Returns: The number of requests carried out. A failed request is retried after ten minutes.
    /// - Throws: `store_unavailable` and similar errors.
    package func eraseWhatIsDue(of loaded: LoadedApplication, logger: Logger) async throws(Failure) -> Int {
        let due = try await store.dueDeletions(of: loaded.application, limit: Self.maxPerRound)
        var erased = 0
        for request in due where !Task.isCancelled {
            if await erase(code: request.code, by: request.requester, of: loaded, logger: logger) { erased += 1 }
        }
        return erased
    }

    /// Carries out one deletion request, logs the outcome, and sends the given mails.
    ///
    /// After the erasure, uses the kept tokens to ask the providers to withdraw the app's permissions. The mails are
    /// sent only after everything is erased.
    ///
    /// - Returns: Whether this call carried out the request. An error is logged, not thrown.
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
            case .blocked(let obstacle):
                metadata["table"] = "\(obstacle)"
                logger.error("deletion is blocked; it is tried again every ten minutes", metadata: metadata)
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

    /// Carries out one due deletion request.
    ///
    /// After the erasure, uses the kept tokens to ask the providers to withdraw the app's permissions.
    ///
    /// - Parameters:
    ///   - code: The code of the request.
    ///   - actor: The requester, for the audit log.
    ///   - notices: The mails that are sent after everything is erased.
    ///   - loaded: The application.
    /// - Returns: The outcome of the erasure, and each provider's response about the permissions.
    /// - Throws: `store_unavailable` and similar errors; nothing has changed then.
    package func carryOut(
        code: String,
        by actor: ChangeAuthor,
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
        case .notOurs, .blocked, .nobody: return (erasure, [])
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
    /// The author that the audit log names for the deletion.
    fileprivate var actor: ChangeAuthor {
        switch self {
        case .provider(let name): ChangeAuthor.provider(name, by: "deletion")
        case .user(let user): ChangeAuthor(name: "user:\(user)", source: "deletion")
        }
    }
}
