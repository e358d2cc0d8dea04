package import Encodings

/// Describes a parameter in the path, the query or the headers of a request, for an OpenAPI document.
package struct Parameter: Sendable {
    package enum Place: String, Sendable {
        case path, query, header
    }

    package let name: String
    package let place: Place
    /// The parameter's name in `components` of the OpenAPI document, used if several operations have the parameter.
    let component: String
    package let description: String
    let schema: Schema
    let isRequired: Bool
    let example: String?
    /// Further OpenAPI members of the parameter, such as `style`.
    let marks: JSONObject

    /// - Parameters:
    ///   - name: The name.
    ///   - place: The part of the request that contains the parameter.
    ///   - component: The name in `components`. By default, the name with a capital letter.
    ///   - schema: The schema of the value.
    ///   - description: The meaning of the value.
    ///   - isRequired: Whether every request must have the parameter.
    ///   - example: An example of the value.
    ///   - marks: Further OpenAPI members, such as `style`.
    package init(
        _ name: String,
        in place: Place,
        as component: String? = nil,
        _ schema: Schema,
        _ description: String,
        isRequired: Bool = false,
        example: String? = nil,
        marks: JSONObject = [:]
    ) {
        self.name = name
        self.place = place
        self.component = component ?? name.prefix(1).uppercased() + name.dropFirst()
        self.schema = schema
        self.description = description
        self.isRequired = isRequired || place == .path
        self.example = example
        self.marks = marks
    }

    fileprivate var json: JSONValue {
        var object: JSONObject = ["name": .string(name), "in": .string(place.rawValue)]
        if isRequired { object.append("required", .bool(true)) }
        object.append("description", .string(description))
        object.append("schema", schema.json(referringTo: OpenAPI.schemas))
        if let example { object.append("example", .string(example)) }
        for mark in marks.members { object.append(mark.key, mark.value) }
        return .object(object)
    }
}

/// Describes a header of a response, for an OpenAPI document.
package struct ReplyHeader: Sendable {
    package let name: String
    let component: String
    let description: String
    let schema: Schema
    /// Whether every response with this description contains the header.
    let isRequired: Bool

    package init(
        _ name: String,
        as component: String,
        _ schema: Schema,
        _ description: String,
        isRequired: Bool = true
    ) {
        self.name = name
        self.component = component
        self.schema = schema
        self.description = description
        self.isRequired = isRequired
    }

    fileprivate var json: JSONValue {
        var object: JSONObject = ["description": .string(description)]
        if isRequired { object.append("required", .bool(true)) }
        object.append("schema", schema.json(referringTo: OpenAPI.schemas))
        return .object(object)
    }
}

/// Describes the body of a request or response in one media type, for an OpenAPI document.
package struct Content: Sendable {
    let type: String
    package let schema: Schema
    /// JSON texts as examples, each with a name.
    let examples: [(name: String, json: String)]
    /// The body's name in `components` of the OpenAPI document, if several operations have this body; nil otherwise.
    let component: String?
    /// Whether every request must have the body.
    let isRequired: Bool
    /// Whether a request may also have a body of any other type.
    package let takesAnyType: Bool

    /// - Parameters:
    ///   - schema: The schema of the value.
    ///   - type: The media type.
    ///   - examples: JSON texts as examples, each with a name.
    ///   - component: The name in `components`, if several operations have this body.
    ///   - isRequired: Whether every request must have the body.
    ///   - takesAnyType: Whether a request may also have a body of any other type.
    package init(
        _ schema: Schema,
        as type: String = "application/json",
        examples: KeyValuePairs<String, String> = [:],
        named component: String? = nil,
        isRequired: Bool = true,
        takesAnyType: Bool = false
    ) {
        self.type = type
        self.schema = schema
        self.examples = examples.map { ($0.key, $0.value) }
        self.component = component
        self.isRequired = isRequired
        self.takesAnyType = takesAnyType
    }

    /// The OpenAPI object for the body of a request.
    fileprivate var request: JSONValue {
        .object(["required": .bool(isRequired), "content": OpenAPI.object([self])])
    }

    fileprivate var json: JSONValue {
        var object: JSONObject = ["schema": schema.json(referringTo: OpenAPI.schemas)]
        if !examples.isEmpty {
            let members = examples.map { example in
                JSONObject.Member(example.name, .object(["value": OpenAPI.value(of: example.json)]))
            }
            object.append("examples", .object(JSONObject(members)))
        }
        return .object(object)
    }
}

/// Describes a response with a certain HTTP status, for an OpenAPI document.
package struct Reply: Sendable {
    package let status: Int
    /// The response's name in `components` of the OpenAPI document, if many operations have it; nil otherwise.
    let component: String?
    let description: String
    let headers: [ReplyHeader]
    package let content: [Content]

    package init(
        _ status: Int,
        as component: String? = nil,
        _ description: String,
        headers: [ReplyHeader] = [],
        _ content: [Content] = []
    ) {
        self.status = status
        self.component = component
        self.description = description
        self.headers = headers
        self.content = content
    }

    package func has(_ header: ReplyHeader) -> Bool { headers.contains { $0.name == header.name } }

    fileprivate var json: JSONValue {
        var object: JSONObject = ["description": .string(description)]
        if !headers.isEmpty {
            let members = headers.map { JSONObject.Member($0.name, OpenAPI.reference("headers", $0.component)) }
            object.append("headers", .object(JSONObject(members)))
        }
        if !content.isEmpty { object.append("content", OpenAPI.object(content)) }
        return .object(object)
    }
}

/// Describes an operation for an OpenAPI document: a method of a path, with its parameters, body and responses.
package struct Operation: Sendable {
    package private(set) var id: String
    package private(set) var summary: String
    private var description: String?
    package var tag: String?
    /// Further OpenAPI members of the operation: `x-…`, and a `security` that differs from the document's.
    package var marks: JSONObject
    package var parameters: [Parameter]
    package let body: Content?
    package var replies: [Reply]

    /// - Parameters:
    ///   - id: The operation's name in programs (`operationId`).
    ///   - tag: The group.
    ///   - summary: The effect, in a sentence.
    ///   - more: Further sentences.
    ///   - marks: Members `x-…` and `security`.
    ///   - parameters: The parameters.
    ///   - body: The body of the request.
    ///   - reply: The usual response.
    ///   - failures: The other responses.
    package init(
        _ id: String,
        under tag: String? = nil,
        _ summary: String,
        more: String? = nil,
        marks: JSONObject = [:],
        parameters: [Parameter] = [],
        body: Content? = nil,
        _ reply: Reply,
        or failures: [Reply] = []
    ) {
        self.id = id
        self.tag = tag
        self.summary = summary
        self.description = more
        self.marks = marks
        self.parameters = parameters
        self.body = body
        self.replies = [reply] + failures
    }

    /// Returns a copy of the operation with another id and other texts, for a second path with the same effect.
    package func again(_ id: String, _ summary: String, more: String? = nil) -> Operation {
        var operation = self
        (operation.id, operation.summary, operation.description) = (id, summary, more)
        return operation
    }

    /// Returns a copy of the operation with another id, for a second path with the same effect.
    ///
    /// The texts stay the same.
    package func again(_ id: String) -> Operation { again(id, summary, more: description) }

    /// Returns a copy of the operation with further responses.
    ///
    /// If the operation already has a response with the same status, the further response is left out.
    package func or(_ further: [Reply]) -> Operation {
        var operation = self
        let particular = replies.map(\.status)
        operation.replies += further.filter { !particular.contains($0.status) }
        return operation
    }

    fileprivate func json(sharing shared: JSONObject) -> JSONValue {
        var object: JSONObject = ["operationId": .string(id)]
        if let tag { object.append("tags", .array([.string(tag)])) }
        object.append("summary", .string(summary))
        if let description { object.append("description", .string(description)) }
        for mark in marks.members { object.append(mark.key, mark.value) }
        if !parameters.isEmpty {
            let parameters = parameters.map { parameter in
                let json = parameter.json
                return shared[parameter.component] == json ? OpenAPI.reference("parameters", parameter.component) : json
            }
            object.append("parameters", .array(parameters))
        }
        if let body {
            let reference = body.component.map { OpenAPI.reference("requestBodies", $0) }
            object.append("requestBody", reference ?? body.request)
        }
        let replies = replies.sorted { $0.status < $1.status }.map { reply in
            JSONObject.Member(
                String(reply.status),
                reply.component.map { OpenAPI.reference("responses", $0) } ?? reply.json
            )
        }
        object.append("responses", .object(JSONObject(replies)))
        return .object(object)
    }
}

/// A base URL of paths in an OpenAPI document (an element of `servers`).
package struct ServerAddress: Sendable {
    let url: String
    let description: String?
    let variables: [(name: String, value: String, description: String)]

    package init(
        _ url: String,
        _ description: String? = nil,
        variables: [(name: String, value: String, description: String)] = []
    ) {
        self.url = url
        self.description = description
        self.variables = variables
    }

    package var json: JSONValue {
        var object: JSONObject = ["url": .string(url)]
        if let description { object.append("description", .string(description)) }
        if !variables.isEmpty {
            let members = variables.map { name, value, description in
                JSONObject.Member(name, .object(["default": .string(value), "description": .string(description)]))
            }
            object.append("variables", .object(JSONObject(members)))
        }
        return .object(object)
    }
}

/// Builds an OpenAPI 3.1 document from operations, with the components to which the operations refer.
package struct OpenAPI {
    /// The members of the document that precede `paths`.
    let head: JSONObject
    let security: JSONObject
    private var paths: [Path] = []

    private struct Path {
        let path: String
        /// The base URLs of this path; empty if the path has the base URLs of the whole document.
        let servers: [ServerAddress]
        var operations: [(method: String, operation: Operation)]
    }

    /// The beginning of every reference to a schema.
    static let schemas = "#/components/schemas/"

    /// - Parameters:
    ///   - head: The members of the document that precede `paths`.
    ///   - security: The security schemes, by name.
    package init(_ head: JSONObject, security: JSONObject) {
        self.head = head
        self.security = security
    }

    /// Adds an operation to the document, after the other operations of the same path.
    package mutating func add(
        _ method: String,
        _ path: String,
        _ operation: Operation,
        at servers: [ServerAddress] = []
    ) {
        let entry = (method.lowercased(), operation)
        if let index = paths.firstIndex(where: { $0.path == path }) {
            precondition(paths[index].servers.map(\.json) == servers.map(\.json), "\(path) has two lists of servers.")
            paths[index].operations.append(entry)
        } else {
            paths.append(Path(path: path, servers: servers, operations: [entry]))
        }
    }

    package var json: JSONValue {
        var object = head
        let shared = sharedParameters
        let members = paths.map { path in
            let operations = path.operations.map { JSONObject.Member($0.method, $0.operation.json(sharing: shared)) }
            let servers = path.servers.isEmpty ? [] : [JSONObject.Member("servers", .array(path.servers.map(\.json)))]
            return JSONObject.Member(path.path, .object(JSONObject(servers + operations)))
        }
        object.append("paths", .object(JSONObject(members)))
        var parts = Components()
        for operation in operations { parts.add(operation) }
        let components: KeyValuePairs = [
            "securitySchemes": security, "parameters": shared, "headers": parts.headers.object,
            "requestBodies": parts.bodies.object, "responses": parts.replies.object, "schemas": parts.schemas.object,
        ]
        let used = components.filter { !$0.value.members.isEmpty }
            .map { JSONObject.Member($0.key, .object($0.value)) }
        object.append("components", .object(JSONObject(used)))
        return .object(object)
    }

    private var operations: [Operation] { paths.flatMap(\.operations).map(\.operation) }

    /// The parameters that several operations have, by their names in `components`.
    private var sharedParameters: JSONObject {
        var (seen, shared): ([(name: String, json: JSONValue)], Components.Table) = ([], .init())
        for parameter in operations.flatMap(\.parameters) {
            let json = parameter.json
            if seen.contains(where: { $0.name == parameter.component && $0.json == json }) {
                _ = shared.add(parameter.component, json)
            } else {
                seen.append((parameter.component, json))
            }
        }
        return shared.object
    }

    static func reference(_ kind: String, _ name: String) -> JSONValue {
        .object(["$ref": .string("#/components/\(kind)/\(name)")])
    }

    static func object(_ content: [Content]) -> JSONValue {
        .object(JSONObject(content.map { JSONObject.Member($0.type, $0.json) }))
    }

    /// Parses a JSON text that is a literal in the service's source code.
    ///
    /// If the text is invalid, the process stops.
    static func value(of text: String) -> JSONValue {
        guard let value = try? JSONParser.parse(text, limits: .document) else {
            preconditionFailure("no JSON: \(text)")
        }
        return value
    }
}

/// Collects the components of an OpenAPI document to which operations refer.
///
/// Each component occurs once. Components are in the order in which operations first refer to them.
private struct Components {
    /// Components of one kind by their names, in the order in which they were added.
    struct Table {
        private(set) var object = JSONObject()

        /// Adds a component; stops the process if a different component already has the name.
        ///
        /// - Returns: Whether the component is new.
        mutating func add(_ name: String, _ value: JSONValue) -> Bool {
            if let known = object[name] {
                precondition(known == value, "There are two of the name \(name).")
                return false
            }
            object.append(name, value)
            return true
        }
    }

    var headers = Table()
    var bodies = Table()
    var replies = Table()
    var schemas = Table()

    mutating func add(_ operation: Operation) {
        for parameter in operation.parameters { add(parameter.schema) }
        if let body = operation.body {
            if let component = body.component { _ = bodies.add(component, body.request) }
            add(body.schema)
        }
        for reply in operation.replies {
            if let component = reply.component, !replies.add(component, reply.json) { continue }
            for header in reply.headers where headers.add(header.component, header.json) { add(header.schema) }
            for content in reply.content { add(content.schema) }
        }
    }

    private mutating func add(_ schema: Schema) {
        if let definition = schema.definition {
            let json = definition.schema.json(referringTo: OpenAPI.schemas)
            guard schemas.add(definition.name, json) else { return }
        }
        for part in schema.parts { add(part) }
    }
}
