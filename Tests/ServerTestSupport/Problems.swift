import Encodings
import Testing
import TestSupport

/// The error table of docs/api/errors.md, written independently.
private let problems: [String: (code: Int64, status: Int)] = [
    "malformed_request": (8001, 400),
    "query_invalid": (1017, 400), "query_forbidden": (1013, 403), "creation_forbidden": (1002, 403),
    "deletion_forbidden": (1014, 403), "table_unknown": (1009, 404), "not_offered": (8007, 404),
    "unsupported_media_type": (8002, 415),
    "payload_too_large": (8003, 413),
    "not_found": (8004, 404),
    "method_not_allowed": (8005, 405),
    "target_too_long": (8006, 414),
    "unknown_application": (2002, 401),
    "provider_not_configured": (8101, 400),
    "provider_misconfigured": (8102, 503),
    "credential_missing": (8110, 400),
    "credential_ambiguous": (8110, 400),
    "credential_wrong_kind": (8111, 400),
    "credential_invalid": (8112, 401),
    "credential_expired": (8113, 401),
    "credential_revoked": (8114, 401),
    "user_action_required": (8115, 401),
    "credential_replayed": (8116, 401),
    "callback_refused": (8119, 403),
    "permission_missing": (8120, 403),
    "profile_incomplete": (8121, 422),
    "mapping_invalid": (8130, 400),
    "mapping_target_not_allowed": (8131, 400),
    "value_not_convertible": (8132, 422),
    "constraint_violation": (8133, 422),
    "provider_rate_limited": (8140, 503),
    "provider_unavailable": (8141, 503),
    "provider_timeout": (8142, 504),
    "provider_bad_reply": (8143, 503),
    "store_unavailable": (8150, 503),
    "overloaded": (8151, 503),
    "query_too_slow": (8153, 422),
    "query_too_large": (8154, 422),
    "stored_value_unreadable": (8152, 500),
    "session_invalid": (3064, 401),
    "account_disabled": (3090, 403),
    "login_invalid": (3003, 401),
    "already_logged_in": (3002, 409),
    "too_many_sessions": (3044, 409),
    "login_unknown": (3020, 404),
    "login_incomplete": (3006, 400),
    "too_many_attempts": (3036, 429),
    "email_unconfirmed": (3087, 403),
    "registration_disabled": (3009, 403), "new_users_closed": (3009, 403),
    "invitation_required": (3009, 403), "invitation_invalid": (8165, 403),
    "password_missing": (3011, 400),
    "password_not_allowed": (8160, 422),
    "property_missing": (3012, 400),
    "property_undeclared": (3010, 400), "property_undeclared_in_update": (3031, 400),
    "login_missing": (3013, 400),
    "login_taken": (3033, 409),
    "login_taken_by_other": (3018, 409),
    "email_invalid": (3040, 400),
    "not_own_record": (3029, 403),
    "reauthentication_required": (8161, 403),
    "guest_invalid": (8162, 400),
    "second_factor_required": (8180, 401), "second_factor_enrolment_required": (8181, 401),
    "second_factor_invalid": (8182, 401), "pending_login_invalid": (8183, 401),
    "second_factor_reauthentication_required": (8184, 403), "factor_not_offered": (8185, 400),
    "too_many_factors": (8186, 409), "last_factor": (8187, 409), "code_not_delivered": (8188, 503),
    "passkey_invalid": (8189, 400),
    "idempotency_key_reused": (8190, 422),
    "link_invalid": (8164, 400),
    "mail_off": (8163, 503),
    "confirmation_off": (3103, 400),
    "role_unknown": (2005, 404),
    "role_fixed": (2007, 400),
    "role_permanent": (2008, 400),
    "role_assignment_forbidden": (2011, 403),
    "object_login_forbidden": (2014, 403),
    "server_key_required": (3054, 403),
    "identity_taken": (8170, 409), "account_exists": (8173, 409),
    "last_login_method": (8171, 409),
    "tokens_off": (8172, 400),
    "refresh_token_replaced": (8174, 409),
    "operator_token_invalid": (8200, 401),
    "operator_forbidden": (8201, 403),
    "precondition_required": (8202, 428),
    "precondition_failed": (8203, 412),
    "conflict": (8204, 409),
    "document_invalid": (8205, 400),
    "rate_limited": (999, 429),
]

/// Checks that a response is this error.
///
/// Checked are code, status, the common shape of errors, the headers of every error, and the absence of secrets.
///
/// - Returns: The response's `errorData`.
/// - Throws: An error for any other response.
@discardableResult
func expectProblem(
    _ reply: HTTPReply,
    _ reason: String,
    _ comment: Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
) throws -> JSONObject {
    try expectProblem(reply, oneOf: [reason], comment, sourceLocation: sourceLocation)
}

/// Checks that a response is one of these errors; see ``expectProblem(_:_:_:sourceLocation:)``.
///
/// A response that must repeat a part of the request may contain the canary of that part (`allowsCanary`).
@discardableResult
func expectProblem(
    _ reply: HTTPReply,
    oneOf reasons: [String],
    _ comment: Comment? = nil,
    allowsCanary: Bool = false,
    sourceLocation: SourceLocation = #_sourceLocation
) throws -> JSONObject {
    let comment: Comment = "\(comment.map { "\($0): " } ?? "")\(reply.status) \(reply.text)"
    let body = try #require(JSON.object(reply.text), comment, sourceLocation: sourceLocation)
    let data = try #require(body["errorData"]?.object, comment, sourceLocation: sourceLocation)
    let reason = data["reason"]?.string ?? ""
    try #require(reasons.contains(reason), comment, sourceLocation: sourceLocation)
    let row = try #require(problems[reason], comment, sourceLocation: sourceLocation)
    #expect(reply.status == row.status, comment, sourceLocation: sourceLocation)
    #expect(body["code"]?.integer == row.code, comment, sourceLocation: sourceLocation)
    #expect(body.keys == ["code", "message", "errorData"], comment, sourceLocation: sourceLocation)
    #expect(body["message"]?.string?.isEmpty == false, comment, sourceLocation: sourceLocation)
    #expect(reply.header("Content-Type") == "application/json", comment, sourceLocation: sourceLocation)
    #expect(reply.header("Cache-Control") == "no-store", comment, sourceLocation: sourceLocation)
    #expect(reply.header("X-Content-Type-Options") == "nosniff", comment, sourceLocation: sourceLocation)
    #expect(data["requestId"]?.string?.isEmpty == false, comment, sourceLocation: sourceLocation)
    #expect(reply.values(of: "X-Request-Id") == [data["requestId"]?.string], comment, sourceLocation: sourceLocation)
    let wire = reply.headers.map { "\($0.name): \($0.value)" }.joined(separator: "\n") + reply.text
    let isClean = allowsCanary || !wire.lowercased().contains(Canary.mark)
    #expect(isClean, "a secret in the reply: \(wire)", sourceLocation: sourceLocation)
    let retryAfter = reply.header("Retry-After").flatMap { Int($0) }
    if [429, 503, 504].contains(reply.status) {
        #expect((retryAfter ?? 0) >= 1, comment, sourceLocation: sourceLocation)
    } else {
        #expect(reply.header("Retry-After") == nil, comment, sourceLocation: sourceLocation)
    }
    return data
}
