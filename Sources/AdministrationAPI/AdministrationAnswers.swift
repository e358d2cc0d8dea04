import Description
import HTTP

// The descriptions of responses: of routes, in the forms of `AdministrationReply`, and of failures, in the form of the
// error table.

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
        "What the resource has now, for If-Match; left out where there is nothing any more.",
        isRequired: false
    )
    static let location = ReplyHeader(
        "Location",
        as: "Location",
        .string.format("uri-reference"),
        "The path of what was made."
    )
}

extension Reply {
    /// Describes 200 with the entity tag.
    static func resource(_ schema: Schema, _ description: String) -> Reply {
        success(200, description, headers: [.tag], [Content(schema)])
    }

    /// Describes 201 with the path of the new resource, and its entity tag unless the resource has none.
    static func created(_ schema: Schema, _ description: String, tagged isTagged: Bool = true) -> Reply {
        success(201, description, headers: isTagged ? [.tag, .location] : [.location], [Content(schema)])
    }

    /// Describes 200 with a page of a list; with `orLines`, clients can get the whole list as JSON lines.
    static func page(
        of item: Schema,
        as name: String? = nil,
        _ description: String,
        orLines: Bool = false
    ) -> Reply {
        let lines = Schema.string.described("A JSON text of the items' schema on each line.")
        let content = [Content(.page(of: item, as: name))]
        return success(200, description, content + (orLines ? [Content(lines, as: "application/jsonl")] : []))
    }

    /// Describes 200 with a whole list and an entity tag.
    static func list(of item: Schema, _ description: String) -> Reply {
        resource(.list(of: item), description)
    }

    /// Describes 200 without an entity tag.
    static func value(_ schema: Schema, _ description: String) -> Reply {
        success(200, description, [Content(schema)])
    }

    /// The description of 204.
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
        "The caller has this version.",
        headers: [.tag, .requestID]
    )
    static let badRequest = problem(
        400,
        "BadRequest",
        """
        malformed_request: path, query, header or body cannot be read. document_invalid: `problems` lists all that is \
        wrong with a document, each with its place.
        """
    )
    static let unauthorized = problem(
        401,
        "Unauthorized",
        "operator_token_invalid: there is no token, or it does not count.",
        headers: [.challenge]
    )
    static let factorRefused = problem(
        401,
        "FactorRefused",
        "operator_token_invalid, with WWW-Authenticate; pending_sign_in_invalid or second_factor_invalid, without."
    )
    static let forbidden = problem(
        403,
        "Forbidden",
        """
        operator_forbidden: `role` is the one that this needs, or the token is a program's and this is for people \
        (`x-federation-people`).
        """
    )
    static let notFound = problem(404, "NotFound", "not_found.")
    static let methodNotAllowed = problem(
        405,
        "MethodNotAllowed",
        "method_not_allowed, to any other method of the path.",
        headers: [.allow]
    )
    static let conflict = problem(
        409,
        "Conflict",
        "conflict: what is there does not allow it, or somebody else is changing it."
    )
    static let preconditionFailed = problem(
        412,
        "PreconditionFailed",
        "precondition_failed: it has changed since it was read; `etag` is what it has now, and so is the header.",
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
        "rate_limited: too many tokens from this address did not count.",
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
            "id": .uuid.described("The open invitation of a contact that has one."),
            "role": .operatorRole,
            "etag": .string.described("What the resource has now, in quotes, as If-Match takes it."),
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
