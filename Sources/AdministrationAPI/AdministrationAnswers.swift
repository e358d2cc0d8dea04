import Description
import HTTP

// The descriptions of responses. Responses of routes have the forms of `AdministrationReply`. Failures have the form of
// the error table.

extension ReplyHeader {
    static let challenge = ReplyHeader(
        "WWW-Authenticate",
        as: "WWWAuthenticate",
        .string.const("Bearer"),
        "`Bearer`."
    )
    static let tag = ReplyHeader("ETag", as: "ETag", .entityTag, "For If-Match and If-None-Match.")
    static let currentTag = ReplyHeader(
        "ETag",
        as: "CurrentETag",
        .entityTag,
        "The current ETag of the resource, for If-Match. Absent if the resource does not exist any more.",
        isRequired: false
    )
    static let location = ReplyHeader(
        "Location",
        as: "Location",
        .string.format("uri-reference"),
        "The path of the created resource."
    )
}

extension Reply {
    /// Describes a response of status 200 with a resource and its entity tag, for the OpenAPI document.
    static func resource(_ schema: Schema, _ description: String) -> Reply {
        success(200, description, headers: [.tag], [Content(schema)])
    }

    /// Describes a response of status 201 with a new resource and its path, for the OpenAPI document.
    ///
    /// With `isTagged`, the response also has the entity tag of the resource.
    static func created(_ schema: Schema, _ description: String, tagged isTagged: Bool = true) -> Reply {
        success(201, description, headers: isTagged ? [.tag, .location] : [.location], [Content(schema)])
    }

    /// Describes a response of status 200 with a page of a list, for the OpenAPI document.
    ///
    /// With `orLines`, clients can also get the whole list as JSON lines.
    static func page(
        of item: Schema,
        as name: String? = nil,
        _ description: String,
        orLines: Bool = false
    ) -> Reply {
        let lines = Schema.string.described("One JSON text per line, with the schema of the items.")
        let content = [Content(.page(of: item, as: name))]
        return success(200, description, content + (orLines ? [Content(lines, as: "application/jsonl")] : []))
    }

    /// Describes a response of status 200 with a whole list and an entity tag, for the OpenAPI document.
    static func list(of item: Schema, _ description: String) -> Reply {
        resource(.list(of: item), description)
    }

    /// Describes a response of status 200 with a value and without an entity tag, for the OpenAPI document.
    static func value(_ schema: Schema, _ description: String) -> Reply {
        success(200, description, [Content(schema)])
    }

    /// The description of a response of status 204, which has no body, for the OpenAPI document.
    static let done = success(204, "Done.")

    static func success(
        _ status: Int,
        _ description: String,
        headers: [ReplyHeader] = [],
        _ content: [Content] = []
    ) -> Reply {
        Reply(status, description, headers: headers + [.requestID], content)
    }
}

extension Reply {
    private static func problem(
        _ status: Int,
        _ name: String,
        _ description: String,
        headers: [ReplyHeader] = []
    ) -> Reply {
        Reply(status, as: name, description, headers: [.requestID] + headers, [Content(.problem)])
    }

    static let notModified = Reply(
        304,
        as: "NotModified",
        "The client already has this version.",
        headers: [.tag, .requestID]
    )
    static let badRequest = problem(
        400,
        "BadRequest",
        """
        malformed_request: path, query, header or body cannot be read. document_invalid: `problems` lists all problems \
        of a document with their places.
        """
    )
    static let unauthorized = problem(
        401,
        "Unauthorized",
        "operator_token_invalid: the token is missing or not valid.",
        headers: [.challenge]
    )
    static let factorRefused = problem(
        401,
        "FactorRefused",
        "operator_token_invalid, with WWW-Authenticate; pending_login_invalid or second_factor_invalid, without."
    )
    static let forbidden = problem(
        403,
        "Forbidden",
        """
        operator_forbidden: `role` is the required role, or the request is not allowed with a program's token \
        (`x-federation-human`).
        """
    )
    static let notFound = problem(404, "NotFound", "not_found.")
    static let methodNotAllowed = problem(
        405,
        "MethodNotAllowed",
        "method_not_allowed, for other methods.",
        headers: [.allow]
    )
    static let conflict = problem(
        409,
        "Conflict",
        "conflict: the stored state does not allow it, or another change is running."
    )
    static let preconditionFailed = problem(
        412,
        "PreconditionFailed",
        "precondition_failed: the resource was changed since it was read. `etag` and the header have its current ETag.",
        headers: [.currentTag]
    )
    static let payloadTooLarge = problem(413, "PayloadTooLarge", "payload_too_large: more than 1 MiB.")
    static let fileTooLarge = problem(413, "FileTooLarge", "payload_too_large: more than 4 MiB.")
    static let unsupportedMediaType = problem(415, "UnsupportedMediaType", "unsupported_media_type.")
    static let unprocessable = problem(
        422,
        "Unprocessable",
        "constraint_violation: rows of the users table do not allow it."
    )
    static let preconditionRequired = problem(
        428,
        "PreconditionRequired",
        "precondition_required: If-Match is missing."
    )
    static let rateLimited = problem(
        429,
        "RateLimited",
        "rate_limited: too many invalid tokens from this address.",
        headers: [.retryAfter]
    )
    static let `internal` = problem(500, "Internal", "internal.")
    static let unavailable = problem(
        503,
        "Unavailable",
        """
        store_unavailable, overloaded, provider_misconfigured, provider_rate_limited, provider_unavailable or \
        provider_bad_reply.
        """,
        headers: [.retryAfter]
    )
    static let timeout = problem(504, "Timeout", "provider_timeout.", headers: [.retryAfter])
}

extension Schema {
    static let problem = problem(
        optional: [
            "id": .uuid.described("The existing open invitation of the contact."),
            "role": .operatorRole,
            "etag": .string.described("The current ETag of the resource, in quotes, for If-Match."),
            "hostName": .string,
            "application": .string,
            "entries": .array(of: .mappingEntry),
        ],
        each: .object(
            ["message": .string],
            optional: [
                "pointer": .string.format("json-pointer"),
                "reason": .reason,
                "entry": .mappingEntry,
            ]
        )
    )
}
