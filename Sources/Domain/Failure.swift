import Description
package import Encodings

/// The failure of a use case: a stable reason for programs, a message for humans, and details for programs.
///
/// Only the error table of a protocol, such as `Backendless/Problem`, turns a failure into a response. `cause` is for
/// the service's log and never leaves the process. Neither the cause nor the message may hold a token, a secret, an
/// e-mail address or a value of a property (decision D11).
package struct Failure: Error, Sendable {
    /// The reasons for failures, which docs/api/errors.md explains; the raw value is the name in a response.
    package enum Reason: String, Sendable, CaseIterable {
        case malformedRequest = "malformed_request"
        case queryInvalid = "query_invalid"
        case queryForbidden = "query_forbidden"
        case creationForbidden = "creation_forbidden"
        case deletionForbidden = "deletion_forbidden"
        case tableUnknown = "table_unknown"
        case notOffered = "not_offered"
        case unsupportedMediaType = "unsupported_media_type"
        case payloadTooLarge = "payload_too_large"
        case notFound = "not_found"
        case methodNotAllowed = "method_not_allowed"
        case targetTooLong = "target_too_long"
        case unknownApplication = "unknown_application"
        case providerNotConfigured = "provider_not_configured"
        case providerMisconfigured = "provider_misconfigured"
        case credentialMissing = "credential_missing"
        case credentialAmbiguous = "credential_ambiguous"
        case credentialWrongKind = "credential_wrong_kind"
        case credentialInvalid = "credential_invalid"
        case credentialExpired = "credential_expired"
        case credentialRevoked = "credential_revoked"
        case credentialReplayed = "credential_replayed"
        case userActionRequired = "user_action_required"
        case loginCancelled = "login_cancelled"
        case loginStateInvalid = "login_state_invalid"
        case callbackRefused = "callback_refused"
        case permissionMissing = "permission_missing"
        case profileIncomplete = "profile_incomplete"
        case mappingInvalid = "mapping_invalid"
        case mappingTargetNotAllowed = "mapping_target_not_allowed"
        case valueNotConvertible = "value_not_convertible"
        case constraintViolation = "constraint_violation"
        case providerRateLimited = "provider_rate_limited"
        case providerUnavailable = "provider_unavailable"
        case providerTimeout = "provider_timeout"
        case providerBadReply = "provider_bad_reply"
        case storeUnavailable = "store_unavailable"
        case overloaded = "overloaded"
        case queryTooSlow = "query_too_slow"
        case queryTooLarge = "query_too_large"
        case storedValueUnreadable = "stored_value_unreadable"
        case sessionInvalid = "session_invalid"
        case refreshTokenReplaced = "refresh_token_replaced"
        case accountDisabled = "account_disabled"
        case loginInvalid = "login_invalid"
        case alreadyLoggedIn = "already_logged_in"
        case tooManySessions = "too_many_sessions"
        case loginUnknown = "login_unknown"
        case loginIncomplete = "login_incomplete"
        case tooManyAttempts = "too_many_attempts"
        case emailUnconfirmed = "email_unconfirmed"
        case registrationDisabled = "registration_disabled"
        case newUsersClosed = "new_users_closed"
        case invitationRequired = "invitation_required"
        case invitationInvalid = "invitation_invalid"
        case passwordMissing = "password_missing"
        case passwordNotAllowed = "password_not_allowed"
        case propertyMissing = "property_missing"
        case propertyUndeclared = "property_undeclared"
        case propertyUndeclaredInUpdate = "property_undeclared_in_update"
        case loginMissing = "login_missing"
        case loginTaken = "login_taken"
        case loginTakenByOther = "login_taken_by_other"
        case emailInvalid = "email_invalid"
        case notOwnRecord = "not_own_record"
        case reauthenticationRequired = "reauthentication_required"
        case secondFactorRequired = "second_factor_required"
        case secondFactorEnrolmentRequired = "second_factor_enrolment_required"
        case secondFactorInvalid = "second_factor_invalid"
        case pendingLoginInvalid = "pending_login_invalid"
        case factorReauthenticationRequired = "second_factor_reauthentication_required"
        case factorNotOffered = "factor_not_offered"
        case tooManyFactors = "too_many_factors"
        case lastFactor = "last_factor"
        case codeNotDelivered = "code_not_delivered"
        case passkeyInvalid = "passkey_invalid"
        case idempotencyKeyReused = "idempotency_key_reused"
        case guestInvalid = "guest_invalid"
        case linkInvalid = "link_invalid"
        case mailOff = "mail_off"
        case confirmationOff = "confirmation_off"
        case roleUnknown = "role_unknown"
        case roleFixed = "role_fixed"
        case rolePermanent = "role_permanent"
        case roleAssignmentForbidden = "role_assignment_forbidden"
        case objectLoginForbidden = "object_login_forbidden"
        case serverKeyRequired = "server_key_required"
        case identityTaken = "identity_taken"
        case accountExists = "account_exists"
        case lastLoginMethod = "last_login_method"
        case tokensOff = "tokens_off"
        case operatorTokenInvalid = "operator_token_invalid"
        case operatorForbidden = "operator_forbidden"
        case preconditionRequired = "precondition_required"
        case preconditionFailed = "precondition_failed"
        case conflict = "conflict"
        case documentInvalid = "document_invalid"
        case rateLimited = "rate_limited"
        case `internal` = "internal"
    }

    package var reason: Reason { content.reason }
    /// What went wrong and what to do next, for the human who reads the message.
    package var message: String { content.message }
    /// Further members of the response's `errorData`, besides `reason` and `requestId`.
    package var details: JSONObject { content.details }
    /// The number of seconds after which a retry makes sense; nil if no time is known.
    package var retryAfter: Int? { content.retryAfter }
    /// The internal cause, for the service's log only.
    package var cause: String? { content.cause }

    /// Whether the service itself is at fault.
    ///
    /// No client can correct such a failure. An operator should look for the cause.
    package var isOwnFault: Bool { reason == .internal || reason == .storedValueUnreadable }

    /// Whether the failure has been logged already.
    package private(set) var isLogged = false

    /// The user whose login failed, as the provider described them; nil for other failures.
    ///
    /// No error table writes it. A protocol may tell the client, who has the credential, about its own user.
    package var verified: VerifiedIdentity? { content.verified }

    /// Returns the failure with more members of `errorData`.
    package func adding(_ details: JSONObject) -> Failure {
        Failure(
            reason,
            message,
            details: JSONObject(self.details.members + details.members),
            retryAfter: retryAfter,
            cause: cause,
            verified: verified
        )
    }

    /// Returns the failure with the user of the failed login, as the provider described the user.
    package func of(_ verified: VerifiedIdentity) -> Failure {
        Failure(
            reason,
            message,
            details: details,
            retryAfter: retryAfter,
            cause: cause,
            verified: verified
        )
    }

    /// A copy of the failure that is marked as logged, so that callers do not log it again.
    package var logged: Failure {
        var logged = self
        logged.isLogged = true
        return logged
    }

    /// The reason, the message and the other members, on the heap to keep `Failure` small.
    ///
    /// Every throwing function in a login reserves room for a failure while it waits, and a thousand logins may wait at
    /// once.
    private let content: Content

    private final class Content: Sendable {
        let reason: Reason
        let message: String
        let details: JSONObject
        let retryAfter: Int?
        let cause: String?
        let verified: VerifiedIdentity?

        init(
            reason: Reason,
            message: String,
            details: JSONObject,
            retryAfter: Int?,
            cause: String?,
            verified: VerifiedIdentity?
        ) {
            self.reason = reason
            self.message = message
            self.details = details
            self.retryAfter = retryAfter
            self.cause = cause
            self.verified = verified
        }
    }

    package init(
        _ reason: Reason,
        _ message: String,
        details: JSONObject = JSONObject(),
        retryAfter: Int? = nil,
        cause: String? = nil,
        verified: VerifiedIdentity? = nil
    ) {
        content = Content(
            reason: reason,
            message: message,
            details: details,
            retryAfter: retryAfter,
            cause: cause,
            verified: verified
        )
    }
}

extension Failure: CustomStringConvertible {
    /// Reason and message; code that needs the cause uses `cause`.
    package var description: String { "\(reason.rawValue): \(message)" }
}

extension Failure.Reason {
    /// Whether the user may enter a second factor again, or use another one, after a second factor failed for this
    /// reason.
    ///
    /// For other reasons, the page cannot continue.
    package var leavesAnotherFactor: Bool {
        switch self {
        case .secondFactorInvalid, .passkeyInvalid, .tooManyAttempts, .codeNotDelivered, .factorNotOffered, .mailOff,
            .emailInvalid, .malformedRequest, .notFound, .overloaded, .storeUnavailable:
            true
        default: false
        }
    }
}

extension Failure {
    package static let sessionInvalid = Failure(
        .sessionInvalid,
        "This user-token is missing, unknown or has expired. Log in again."
    )
    package static let noSuchFactor = Failure(.notFound, "This second factor does not exist.")
}

extension DocumentProblems {
    /// The failure `document_invalid`, whose message has the first problem and the number of problems.
    ///
    /// Its detail `problems` lists all problems: `{"pointer", "message", "entry"?}`.
    package var failure: Failure {
        let first = lines.first ?? "The document is not valid."
        let others = problems.count > 1 ? " (the first of \(problems.count) problems)" : ""
        let list = problems.map { problem in
            var object: JSONObject = [
                "pointer": .string(problem.pointer.text), "message": .string(problem.message),
            ]
            if let entry = problem.entry { object.append("entry", entry) }
            return JSONValue.object(object)
        }
        return Failure(.documentInvalid, first + others, details: ["problems": .array(list)])
    }
}
