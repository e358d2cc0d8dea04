/// Why a use case did not succeed: a stable reason for programs, a message for people, and what a program needs beside it.
///
/// `API/Problem` is the only place that turns a failure into a response. `cause` is for our log and never leaves the process;
/// neither it nor the message may hold a token, a secret, an e-mail or a value of a property (decision D11).
package struct Failure: Error, Sendable {
    /// The reasons of design.md §7, by their names on the wire.
    package enum Reason: String, Sendable, CaseIterable {
        case malformedRequest = "malformed_request"
        case unsupportedMediaType = "unsupported_media_type"
        case payloadTooLarge = "payload_too_large"
        case notFound = "not_found"
        case methodNotAllowed = "method_not_allowed"
        case unknownApplication = "unknown_application"
        case providerNotConfigured = "provider_not_configured"
        case providerMisconfigured = "provider_misconfigured"
        case credentialMissing = "credential_missing"
        case credentialAmbiguous = "credential_ambiguous"
        case credentialWrongKind = "credential_wrong_kind"
        case credentialInvalid = "credential_invalid"
        case credentialExpired = "credential_expired"
        case credentialRevoked = "credential_revoked"
        case userActionRequired = "user_action_required"
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
        case sessionInvalid = "session_invalid"
        case accountDisabled = "account_disabled"
        case `internal` = "internal"
    }

    package let reason: Reason
    /// What went wrong and what to do next, for the person who reads it.
    package let message: String
    /// Members of `errorData` beside `reason` and `requestId`.
    package let details: JSONObject
    /// Seconds after which a repetition makes sense.
    package let retryAfter: Int?
    /// What happened inside, for our log only.
    package let cause: String?

    package init(
        _ reason: Reason,
        _ message: String,
        details: JSONObject = JSONObject(),
        retryAfter: Int? = nil,
        cause: String? = nil
    ) {
        self.reason = reason
        self.message = message
        self.details = details
        self.retryAfter = retryAfter
        self.cause = cause
    }
}
