package import Description
import Domain
import HTTP
import Pages

extension Reply {
    /// Returns the OpenAPI description of a successful response, which has JSON or no body.
    ///
    /// - Parameters:
    ///   - description: The meaning of the response.
    ///   - status: The status.
    ///   - component: The name in `components`, if several operations have this response.
    ///   - headers: The headers, in addition to the request's id.
    ///   - schema: The schema; nil for a response without a body.
    /// - Returns: The description.
    package static func success(
        _ description: String,
        status: Int = 200,
        as component: String? = nil,
        headers: [ReplyHeader] = [],
        _ schema: Schema? = nil
    ) -> Reply {
        let content = schema.map { [Content($0)] } ?? []
        return Reply(status, as: component, description, headers: headers + [.requestID], content)
    }

    package static let redirect = Reply(
        303,
        as: "Redirect",
        "A redirect to `Location`.",
        headers: [.requestID, .location]
    )

    private static func problem(
        _ status: Int,
        _ name: String,
        _ description: String,
        headers: [ReplyHeader] = []
    ) -> Reply {
        Reply(status, as: name, description, headers: [.requestID] + headers, [Content(.problem)])
    }

    package static let badRequest = problem(
        400,
        "BadRequest",
        """
        malformed_request, query_invalid, provider_not_configured, credential_missing, credential_ambiguous, \
        credential_wrong_kind, guest_invalid, property_undeclared, property_undeclared_in_update, mapping_invalid or \
        mapping_target_not_allowed; for second factors factor_not_offered and passkey_invalid.
        """
    )

    static let unauthorized = problem(
        401,
        "Unauthorized",
        """
        unknown_application, credential_invalid, credential_expired, credential_revoked, credential_replayed, \
        user_action_required or session_invalid; for logins second_factor_required and \
        second_factor_enrolment_required, for their second factor second_factor_invalid and pending_login_invalid.
        """
    )

    package static let forbidden = problem(
        403,
        "Forbidden",
        """
        permission_missing, account_disabled, reauthentication_required or second_factor_reauthentication_required; \
        where they apply, not_own_record, new_users_closed, invitation_required, invitation_invalid, \
        registration_disabled, email_unconfirmed and the errors of server keys.
        """
    )

    package static let notFound = problem(404, "NotFound", "not_found.")

    static let methodNotAllowed = problem(
        405,
        "MethodNotAllowed",
        "method_not_allowed, for other methods.",
        headers: [.allow]
    )

    package static let conflict = problem(
        409,
        "Conflict",
        """
        login_taken, login_taken_by_other, identity_taken, account_exists, last_login_method, too_many_factors, \
        last_factor or conflict.
        """
    )

    static let payloadTooLarge = problem(413, "PayloadTooLarge", "payload_too_large.")

    static let unsupportedMediaType = problem(415, "UnsupportedMediaType", "unsupported_media_type.")

    package static let unprocessable = problem(
        422,
        "Unprocessable",
        """
        profile_incomplete, value_not_convertible, constraint_violation, password_not_allowed, idempotency_key_reused, \
        query_too_slow or query_too_large.
        """
    )

    static let tooMany = problem(429, "TooMany", "rate_limited or too_many_attempts.", headers: [.retryAfter])

    static let `internal` = problem(500, "Internal", "internal.")

    static let unavailable = problem(
        503,
        "Unavailable",
        """
        provider_misconfigured, provider_rate_limited, provider_unavailable, provider_bad_reply, store_unavailable or \
        overloaded; for sent codes code_not_delivered and mail_off.
        """,
        headers: [.retryAfter]
    )

    package static let timeout = problem(504, "Timeout", "provider_timeout.", headers: [.retryAfter])
}

extension Schema {
    package static let problem = problem(
        optional: [
            "type": .string.described("With value_not_convertible: the type of the property."),
            "owner": .oneOf("self", "other").described(
                """
                With identity_taken: the user has another identity of this provider, or the identity is another \
                user's.
                """
            ),
            "rule": .string.described("With password_not_allowed: the violated rule."),
            "missing": .strings.described("Of the simple register contract: the missing fields."),
            "pending": .string.described(
                "With second_factor_required, second_factor_enrolment_required and account_exists: the pending login."
            ),
            "loginMethods": .strings.described(
                """
                With account_exists: the login methods of the account (providers, password, passkey). Absent unless \
                the application sets allowAccountEnumeration.
                """
            ),
            "factors": .array(of: .offeredFactor).described(
                "With the same: the factors that can be used, or the kinds that can be enrolled."
            ),
            "expires": .moment.described("With pending: the expiry, in milliseconds since 1970 UTC."),
            "passkey": .string.described(
                "With second_factor_invalid and passkey_invalid: why the passkey is not accepted."
            ),
        ],
        each: .object(["reason": .reason, "message": .string], optional: ["entry": .mappingEntry])
    )

    package static let offeredFactor = object(
        ["kind": .factorKind],
        optional: [
            "id": .uuid.described("Absent for kinds to enrol."),
            "hint": .string.examples("+41 •••• 67", "a•••@e•••.com").described(
                "The masked address or number that gets codes."
            ),
            "created": .moment.described("The enrolment, in milliseconds since 1970 UTC. Absent for kinds to enrol."),
        ]
    ).named("OfferedFactor")

    package static let factorKind = cases(of: FactorKind.self).named("FactorKind")
}
