package import Administration
package import Description
package import Domain
package import Encodings
import HTTPTypes
import Hummingbird
import NIOCore

/// The routes that the command line also offers as commands.
///
/// A command calls the same handlers as a request, with the command's arguments.
extension AdministrationRoute {
    /// The routes that read, create, change and delete resources of the database.
    package static let resources = groups.flatMap(\.routes).filter { route in
        !elsewhere.contains(route.operation().id) && (route.method != .post || route.makes)
    }

    /// The ids of the operations that are not in `resources`.
    ///
    /// Such an operation has a command of its own, or is about the operator who calls, or about one instance.
    private static let elsewhere: Set<String> = Set(
        (own + setup).map { $0.operation().id } + [
            "readDocument", "putDocument", "readSecrets", "examine", "readLogins", "compareMappingRevisions",
            "createUser", "eraseUser", "exportUser", "unlinkIdentity", "getInstance", "showBackground", "getLogLevel",
            "setLogLevel", "readOpenAPI", "readApplicationSchema",
        ]
    )

    /// Whether the route creates a resource.
    private var makes: Bool { operation().replies.first?.status == 201 }

    package var summary: String { operation().summary }

    /// Returns the schema of the request body; nil if there is none.
    ///
    /// The schema of a provider depends on its provider kind. If the name of the provider in the path is that of a
    /// kind, the result is the schema of this kind only.
    package func document(at segments: [String: Substring] = [:]) -> Schema? {
        let document = operation().body?.schema
        let kind = segments["provider"].flatMap { name in ConfigurationSchemas.kinds.firstIndex { $0 == name } }
        guard let document, let kind, document.resolved.alternatives.indices.contains(kind) else { return document }
        return document.resolved.alternatives[kind]
    }

    /// Whether the route takes the entity tag of the resource in `If-Match`.
    package var takesTag: Bool { operation().parameters.contains { $0.name == Parameter.ifMatch.name } }

    /// The schema of the successful response; nil without a body.
    package var answer: Schema? { operation().replies.first?.content.first?.schema }

    /// The schema of the elements, if the response is a list.
    package var item: Schema? { answer?.resolved.properties.first { $0.name == "items" }?.schema.elements.first }

    /// The path after `/admin/v1/`, with parameter names in braces.
    package var template: String { String(path.dropFirst(Self.base.count)) }

    /// Returns the segments of a path by parameter name; nil for a path of another route.
    package func segments(of path: some Collection<Substring>) -> [String: Substring]? {
        let template = template.split(separator: "/")
        guard template.count == path.count else { return nil }
        var segments: [String: Substring] = [:]
        for (name, segment) in zip(template, path) {
            if name.hasPrefix("{") {
                guard !segment.isEmpty else { return nil }
                segments[String(name.dropFirst().dropLast())] = segment
            } else if name != segment {
                return nil
            }
        }
        return segments
    }

    /// The result of a route that a command calls.
    package enum Outcome: Sendable {
        case resource(Resource)
        case page(Page)
        case done
    }

    /// Calls the route as the operator who runs a command at this machine.
    ///
    /// This operator has all rights.
    ///
    /// - Parameters:
    ///   - segments: The encoded path segment for each parameter.
    ///   - query: The query parameters.
    ///   - body: The document or the merge patch.
    ///   - tag: The entity tag that the resource must have. Nil allows a change of any state.
    ///   - actor: The operator, for the audit log.
    ///   - administration: The use cases.
    /// - Returns: The result.
    /// - Throws: The failure of the use case.
    package func call(
        _ segments: [String: Substring],
        query: [(name: String, value: String)] = [],
        body: JSONValue? = nil,
        tag: String? = nil,
        by actor: ChangeAuthor,
        of administration: Administration
    ) async throws -> Outcome {
        var content = ByteBuffer()
        if let body {
            var writer = JSONWriter(capacity: 1024)
            writer.value(body)
            content.writeBytes(writer.bytes)
        }
        let request = Request(
            head: HTTPRequest(
                method: method,
                scheme: nil,
                authority: nil,
                path: Self.base + (query.isEmpty ? "" : "?" + PercentEncoding.query(query)),
                headerFields: [
                    .contentType: "application/json", .ifMatch: tag.map { "\"\($0)\"" } ?? "*",
                    .contentLength: String(content.readableBytes),
                ]
            ),
            body: RequestBody(buffer: content)
        )
        let call = try AdministrationCall(
            request,
            of: self,
            segments: { segments[$0] },
            caller: Caller(calling: .local, actor: actor, slot: nil),
            administration: administration
        )
        return switch try await handler(call) {
        case .resource(let resource), .created(let resource, _): .resource(resource)
        case .page(let page), .lines(let page, _): .page(page)
        case .value(let value): .resource(Resource(value, tag: nil))
        case .text, .done: .done
        }
    }
}

extension CallingOperator {
    /// The operator who runs a command at this machine.
    ///
    /// The command has the password of the database, so the operator has all rights.
    fileprivate static var local: CallingOperator {
        guard let name = OperatorName("cli") else { preconditionFailure("cli is a name of an operator") }
        return CallingOperator(
            name: name,
            role: .owner,
            id: ObjectID(random: [UInt8](repeating: 0, count: 16)),
            tokenHash: [],
            purpose: .calls,
            isMachine: false,
            hasFactor: false,
            factorShownAgo: nil
        )
    }
}
