import Description
package import Encodings
import HTTP
import HTTPTypes

extension PublicListener {
    /// Returns the OpenAPI document of the public listener.
    ///
    /// It contains all described routes and the version of the service.
    package func document(version: String) -> JSONValue {
        let servers = protocols.applicationBases.compactMap(\.server?.json)
        let security = protocols.all.flatMap(\.securitySchemes.members)
        var document = OpenAPI(
            [
                "openapi": .string("3.1.0"), "info": .object(Self.info(version)), "servers": .array(servers),
                "tags": .array(Self.tags),
            ],
            security: JSONObject(security)
        )
        for route in routes.routes {
            document.add(
                route.method.rawValue,
                path(route.path),
                route.operation.or([.methodNotAllowed, .internal]),
                at: route.servers
            )
        }
        return document.json
    }

    /// Returns a path of the router in OpenAPI's notation, with braces around parameters.
    private func path(_ path: String) -> String {
        path.split(separator: "/").reduce(into: "") { written, segment in
            let name = segment.hasPrefix(":") ? String(segment.dropFirst()) : nil
            let fixed = name.flatMap { name in protocols.all.lazy.compactMap { $0.fixedParameters[name] }.first }
            written += "/" + (fixed ?? name.map { "{\($0)}" } ?? String(segment))
        }
    }

    private static func info(_ version: String) -> JSONObject {
        [
            "title": .string("Federation service, public API"), "version": .string(version),
            "summary": .string("Accounts with password, Facebook and Twitter in your own users table."),
            "description": .string(
                """
                The public listener. See docs/api for terms and rules. Any request can fail with 400 malformed_request \
                or 414 target_too_long before its operation is determined.
                """
            ),
            "license": .object(["name": .string("Apache-2.0"), "identifier": .string("Apache-2.0")]),
        ]
    }

    private static let tags: [JSONValue] = [
        .object(["name": .string("login")]), .object(["name": .string("session")]),
        .object([
            "name": .string("secondFactor"),
            "description": .string("Second factors of logins, passkeys, and the factors of a user."),
        ]),
        .object(["name": .string("user")]), .object(["name": .string("server")]),
        .object(["name": .string("facebook")]), .object(["name": .string("document")]),
    ]
}

extension Operation {
    /// Whether the operation requires a session.
    var needsSession: Bool { marks["security"]?.array?.count == 1 }

    static let readOpenAPI = Operation(
        "readOpenAPI",
        under: "document",
        "This document.",
        .success("The document.", .anyObject.adding(["openapi": .any, "info": .any, "paths": .any]))
    )
}
