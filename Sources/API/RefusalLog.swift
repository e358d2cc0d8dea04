import Federation
import Hummingbird
import Vocabulary
import Logging

/// Leaves a line in the log for each request that is refused for who sends it: by an unknown application or key, by a session that does
/// not count, for want of a right, after too many attempts.
///
/// Every route of an application is inside `ApplicationRoutes`, which logs what its handler throws, so no route can forget; one that
/// answers by a page logs what it catches. A use case that says how it went in a line of its own, as logins do, throws a failure that is
/// logged already.
struct RefusalLog: Sendable {
    let pseudonyms: Pseudonyms

    /// What the request has shown, and what is known of it by now; the secrets appear as pseudonyms.
    struct Facts {
        var application: ApplicationID?
        /// As it was sent.
        var key: String?
        /// As it was sent.
        var session: String?
    }

    /// Logs a failure, if it is a refusal and is not in the log.
    ///
    /// - Returns: The failure for those above.
    func logged(_ failure: Failure, _ facts: Facts, in context: APIContext) -> Failure {
        guard !failure.isLogged, Self.isRefusal(failure.reason) else { return failure }
        log(failure.reason, facts, cause: failure.cause, in: context)
        return failure.logged
    }

    /// Logs a refusal that is no failure.
    func log(_ reason: Failure.Reason, _ facts: Facts, cause: String? = nil, in context: APIContext) {
        var metadata: Logger.Metadata = [
            "reason": "\(reason.rawValue)",
            // The pattern: a path may hold a token.
            "route": "\(context.endpointPath ?? "")",
        ]
        if let application = facts.application { metadata["application"] = "\(application)" }
        for (name, text) in [("key", facts.key), ("session", facts.session)] {
            guard let text, !text.isEmpty else { continue }
            metadata[name] = "\(pseudonyms.pseudonym(of: text, in: facts.application))"
        }
        if let cause { metadata["cause"] = "\(cause)" }
        context.logger.notice("refused", metadata: metadata)
    }

    /// Whether a reason says of somebody that they are not known, may not, or have to wait.
    static func isRefusal(_ reason: Failure.Reason) -> Bool {
        switch reason {
        // What was to show who somebody is, but not by a status of HTTP.
        case .linkInvalid, .loginStateInvalid, .guestInvalid: true
        default: [.unauthorized, .forbidden, .tooManyRequests].contains(Problem.row(of: reason).status)
        }
    }
}
