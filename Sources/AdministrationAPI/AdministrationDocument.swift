import Description
import Domain
package import Encodings
import HTTPTypes

/// The OpenAPI document of the management listener, generated from the routes.
///
/// Each route describes its operation. This type adds path parameters, extension members, and possible failures.
package enum AdministrationDocument {
    /// Returns the document with the version of the service.
    package static func json(version: String) -> JSONValue {
        let tags = (AdministrationRoute.groups.map(\.tag) + ["health"]).map { JSONValue.object(["name": .string($0)]) }
        var document = OpenAPI(
            [
                "openapi": .string("3.1.0"), "info": .object(info(version)),
                "servers": .array([.object(["url": .string("http://127.0.0.1:8081")])]),
                "security": .array([.object(["operator": .array([])])]),
                "tags": .array(tags),
            ],
            security: ["operator": .object(token)]
        )
        for group in AdministrationRoute.groups {
            for route in group.routes {
                document.add(route.method.rawValue, route.path, route.documented(under: group.tag))
            }
        }
        for (path, operation) in open {
            var operation = operation
            operation.tag = "health"
            document.add("get", path, operation)
        }
        return document.json
    }

    private static func info(_ version: String) -> JSONObject {
        [
            "title": .string("Federation service, administration"), "version": .string(version),
            "summary": .string("Applications, providers, properties, mappings, users and operators."),
            "description": .string(
                """
                The management listener. See administration.md for terms and rules. Any request can fail with 400 \
                malformed_request or 414 target_too_long before its operation is determined. Unknown and repeated \
                query parameters are refused. The body of a PATCH is a JSON merge patch; the type \
                application/merge-patch+json is also accepted. x-federation-role is the role that an operation needs; \
                a role includes the ones before it: viewer, editor, owner. An operator with a second factor must have \
                used it with the token as recently as x-federation-second-factor says, otherwise 403 \
                second_factor_reauthentication_required.
                """
            ),
            "license": .object(["name": .string("Apache-2.0"), "identifier": .string("Apache-2.0")]),
        ]
    }

    private static let token: JSONObject = [
        "type": .string("http"), "scheme": .string("bearer"), "bearerFormat": .string("fedop_ and 43 characters"),
        "description": .string("An operator token. Create one with `federation set operators/NAME role=viewer`."),
    ]

    /// The operations outside `/admin`: metrics and health.
    private static let open: [(path: String, operation: Operation)] = [
        (
            "/metrics",
            Operation(
                "readMetrics",
                "Reads the metrics of the instance, for Prometheus.",
                more: "With FEDERATION_METRICS_ACCESS=operator it needs an operator token of any role.",
                marks: ["security": .array([.object([:]), .object(["operator": .array([])])])],
                .success(
                    200,
                    "The text format 0.0.4 of Prometheus.",
                    [Content(.string, as: "text/plain")]
                ),
                or: [.unauthorized, .methodNotAllowed, .rateLimited, .unavailable]
            )
        ),
        (
            "/health/live",
            Operation(
                "isLive",
                "Checks whether the process runs.",
                marks: ["security": .array([])],
                .value(.health, "Yes."),
                or: [.methodNotAllowed]
            )
        ),
        (
            "/health/ready",
            Operation(
                "isReady",
                "Checks whether this instance should get traffic.",
                marks: ["security": .array([])],
                .value(.health, "Yes."),
                or: [.methodNotAllowed, .success(503, "No. `reason` says why.", [Content(.health)])]
            )
        ),
    ]
}

extension AdministrationRoute {
    /// Returns the OpenAPI operation of the route, with its path parameters, its role and its possible failures.
    fileprivate func documented(under tag: String) -> Operation {
        var operation = operation()
        operation.tag = tag
        operation.marks.append("x-federation-role", .string(role.rawValue))
        operation.marks.append("x-federation-second-factor", .string(factor.rawValue))
        if isForPeople { operation.marks.append("x-federation-human", .bool(true)) }
        let isGuarded = operation.parameters.contains { $0.name == Parameter.ifMatch.name }
        var kind: [Reply] = [
            .badRequest, .unauthorized, .methodNotAllowed, .rateLimited, .internal, .unavailable,
        ]
        if role > .viewer || factor != .none || isForPeople { kind.append(.forbidden) }
        if path.contains("{") { kind.append(.notFound) }
        if operation.body != nil { kind += [.payloadTooLarge, .unsupportedMediaType] }
        if isGuarded { kind += [.preconditionFailed, .preconditionRequired] }
        if method == .get, operation.replies.contains(where: { $0.has(.tag) }) {
            operation.parameters.append(.ifNoneMatch)
            kind.append(.notModified)
        }
        operation.parameters = pathParameters + query + operation.parameters
        return operation.or(kind)
    }
}

extension Schema {
    static let health = Schema.object(
        ["status": .oneOf("live", "ready", "degraded", "not ready")],
        optional: [
            "reason": .string,
            "errors": .strings.rule("minItems", .integer(1)).described(
                "What makes logins of some applications fail on every instance: `degraded`, with 200."
            ),
            "warnings": .strings.rule("minItems", .integer(1)).described(
                "What an operator should change. The instance serves all the same."
            ),
        ]
    ).named("Health")
}
