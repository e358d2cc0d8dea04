import Hummingbird
import Logging
package import Vocabulary

/// Leaves a line in the log for each request that is refused for who sends it: by an unknown application or key, by a
/// session that does not count, for want of a right, after too many attempts.
///
/// A protocol logs what the routes of an application throw in the one place through which all of them go, so no route
/// can forget; one that answers by a page logs what it catches. A use case that says how it went in a line of its own,
/// as logins do, throws a failure that is logged already.
package struct RefusalLog: Sendable {
    /// What stands for a text that was sent to an application, or to none that is known.
    package typealias Pseudonym = @Sendable (String, ApplicationID?) -> String

    private let pseudonym: Pseudonym

    package init(pseudonym: @escaping Pseudonym) {
        self.pseudonym = pseudonym
    }

    /// What the request has shown, and what is known of it by now; the secrets appear as pseudonyms.
    package struct Facts: Sendable {
        package var application: ApplicationID?
        /// As it was sent.
        let key: String?
        /// As it was sent.
        let session: String?

        package init(application: ApplicationID? = nil, key: String? = nil, session: String? = nil) {
            self.application = application
            self.key = key
            self.session = session
        }
    }

    /// Logs a failure, if it is a refusal and is not in the log.
    ///
    /// - Returns: The failure for those above.
    package func logged(_ failure: Failure, _ facts: Facts, in context: APIContext) -> Failure {
        guard !failure.isLogged, Self.isRefusal(failure.reason) else { return failure }
        log(failure.reason, facts, cause: failure.cause, in: context)
        return failure.logged
    }

    /// Logs a refusal that is no failure.
    package func log(_ reason: Failure.Reason, _ facts: Facts, cause: String? = nil, in context: APIContext) {
        var metadata: Logger.Metadata = [
            "reason": "\(reason.rawValue)",
            // The pattern: a path may hold a token.
            "route": "\(context.endpointPath ?? "")",
        ]
        if let application = facts.application { metadata["application"] = "\(application)" }
        for (name, text) in [("key", facts.key), ("session", facts.session)] {
            guard let text, !text.isEmpty else { continue }
            metadata[name] = "\(pseudonym(text, facts.application))"
        }
        if let cause { metadata["cause"] = "\(cause)" }
        context.logger.notice("refused", metadata: metadata)
    }

    /// Whether a reason says of somebody that they are not known, may not, or have to wait; its status is each
    /// protocol's own.
    static func isRefusal(_ reason: Failure.Reason) -> Bool { refusals.contains(reason) }

    private static let refusals: Set<Failure.Reason> = [
        .unknownApplication, .credentialInvalid, .credentialExpired, .credentialRevoked, .credentialReplayed,
        .userActionRequired, .loginCancelled, .loginStateInvalid, .callbackRefused, .permissionMissing,
        .sessionInvalid, .accountDisabled, .loginInvalid, .tooManyAttempts, .emailUnconfirmed, .registrationDisabled,
        .newUsersClosed, .invitationRequired, .invitationInvalid, .notOwnRecord, .reauthenticationRequired,
        .guestInvalid, .linkInvalid,
        .roleAssignmentForbidden, .objectLoginForbidden, .serverKeyRequired, .queryForbidden, .creationForbidden,
        .deletionForbidden, .operatorTokenInvalid, .operatorForbidden, .rateLimited, .secondFactorRequired,
        .secondFactorEnrolmentRequired, .secondFactorInvalid, .pendingSignInInvalid, .factorReauthenticationRequired,
    ]
}
