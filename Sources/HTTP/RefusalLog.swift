package import Domain
import Hummingbird
import Logging

/// Logs each request that is refused because of its sender.
///
/// Examples are requests with an unknown API key, with an invalid session, without a required right, or after too many
/// attempts. Each protocol calls this log in the one piece of code through which all errors of its routes pass, so that
/// every refusal is logged. A route that responds with a web page calls the log itself. Code that has already logged a
/// failure, such as the code of a login, marks the failure as logged.
package struct RefusalLog: Sendable {
    /// A function that returns a pseudonym for a secret, to be logged in place of the secret.
    ///
    /// The function gets the secret and the id of the application to which the secret was sent. The id is nil for an
    /// unknown application.
    package typealias Pseudonym = @Sendable (String, ApplicationID?) -> String

    private let pseudonym: Pseudonym

    package init(pseudonym: @escaping Pseudonym) {
        self.pseudonym = pseudonym
    }

    /// The known facts about a request, for its log line, in which secrets appear as pseudonyms.
    package struct Facts: Sendable {
        package var application: ApplicationID?
        /// The API key as it was sent.
        let key: String?
        /// The session token as it was sent.
        let session: String?

        package init(application: ApplicationID? = nil, key: String? = nil, session: String? = nil) {
            self.application = application
            self.key = key
            self.session = session
        }
    }

    /// Logs a failure, if it is a refusal that has not been logged yet.
    ///
    /// - Returns: The failure, marked as logged.
    package func logged(_ failure: Failure, _ facts: Facts, in context: APIContext) -> Failure {
        guard !failure.isLogged, Self.isRefusal(failure.reason) else { return failure }
        log(failure.reason, facts, cause: failure.cause, in: context)
        return failure.logged
    }

    /// Logs a refusal that is not thrown as a failure.
    package func log(_ reason: Failure.Reason, _ facts: Facts, cause: String? = nil, in context: APIContext) {
        var metadata: Logger.Metadata = [
            "reason": "\(reason.rawValue)",
            // The route's pattern, since a path may hold a token.
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

    /// Returns whether a request was refused because its sender is unknown, lacks a right, or must wait.
    ///
    /// The status does not tell this, since each protocol has statuses of its own for the reasons.
    static func isRefusal(_ reason: Failure.Reason) -> Bool { refusals.contains(reason) }

    private static let refusals: Set<Failure.Reason> = [
        .unknownApplication, .credentialInvalid, .credentialExpired, .credentialRevoked, .credentialReplayed,
        .userActionRequired, .loginCancelled, .loginStateInvalid, .callbackRefused, .permissionMissing,
        .sessionInvalid, .accountDisabled, .loginInvalid, .tooManyAttempts, .emailUnconfirmed, .registrationDisabled,
        .newUsersClosed, .invitationRequired, .invitationInvalid, .notOwnRecord, .reauthenticationRequired,
        .guestInvalid, .linkInvalid, .operatorTokenInvalid, .operatorForbidden,
        .roleAssignmentForbidden, .objectLoginForbidden, .serverKeyRequired, .queryForbidden, .creationForbidden,
        .deletionForbidden, .rateLimited, .secondFactorRequired,
        .secondFactorEnrolmentRequired, .secondFactorInvalid, .pendingLoginInvalid, .factorReauthenticationRequired,
    ]
}
