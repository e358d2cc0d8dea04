import Domain
import Encodings

/// The nodes `/me`, `/{id}` and `/app`, and their edges.
extension World {
    func node(
        _ name: String,
        edge: [String],
        request: GraphRequest,
        now: Int
    ) throws(GraphError) -> GraphReply {
        let (app, token): (App, Token?) =
            switch try authorize(request, now: now, missing: name == "me" ? .missingToken : .tokenRequired) {
            case .app(let app): (app, nil)
            case .issued(let token, let app): (app, token)
            }
        if token == nil, name == "me" { throw .missingToken }
        let fields = try FieldSelection.parse(request.parameter("fields") ?? "")
        if name == "app" || name == app.id {
            let values: JSON = [
                "category": "Business", "link": "https://www.facebook.com/games/?app_id=\(app.id)",
                "name": .string(app.name), "id": .string(app.id),
            ]
            return try Self.plainNode(values, fields, edge: edge, type: "Application")
        }
        if let token, token.kind == .page {
            guard name == "me" || name == token.profileID else { throw .unsupported("get", object: name) }
            let values: JSON = ["name": "A page", "id": .string(token.profileID ?? "")]
            return try Self.plainNode(values, fields, edge: edge, type: "Page")
        }
        let seen = token == nil ? people : token?.person.flatMap { people[$0] }.map { [$0] } ?? []
        guard let person = seen.first(where: { name == "me" || $0.id(for: app.id).hasSameBytes(as: name) }) else {
            throw .unsupported("get", object: name)
        }
        // An app may read the public profiles of its users. Unknown fields are refused, as with `/me`.
        let user = UserNode(
            world: self,
            person: person,
            token: token ?? Token(for: person, app: app, scopes: ["public_profile"]),
            now: now,
            version: GraphVersion.answering(request.version, now: now)
        )
        return try userReply(user, fields, edge: edge, request: request)
    }

    private func userReply(
        _ user: UserNode,
        _ fields: [FieldSelection],
        edge: [String],
        request: GraphRequest
    ) throws(GraphError) -> GraphReply {
        guard let name = edge.first else {
            return GraphReply(try user.select(fields.isEmpty ? Self.defaultFields : fields))
        }
        guard edge.count == 1, UserField.graphField(name)?.kind == .edge else { throw .unknownPath(edge) }
        var selection = FieldSelection(name: name)
        for modifier in ["width", "height", "type", "limit"] {
            selection.modifiers[modifier] = request.parameter(modifier)
        }
        selection.fields = fields.isEmpty ? nil : fields
        if name == "picture" {
            let picture = try user.picture(selection)
            let redirect = request.parameter("redirect").map { !["false", "0"].contains($0.prefix(6)) } ?? true
            guard redirect, let url = picture["data"]?["url"]?.string else { return GraphReply(picture) }
            return GraphReply(status: 302, headers: [("Location", url)])
        }
        return GraphReply(try user.value(of: selection) ?? ["data": []])
    }

    private static func plainNode(
        _ values: JSON,
        _ fields: [FieldSelection],
        edge: [String],
        type: String
    ) throws(GraphError) -> GraphReply {
        guard edge.isEmpty else { throw .unknownPath(edge) }
        let known = values.members?.map(\.name) ?? []
        return GraphReply(
            try UserNode.choose(fields.isEmpty ? nil : fields, from: values, node: type, known: known, always: "id")
        )
    }

    private static let defaultFields = [FieldSelection(name: "name"), FieldSelection(name: "id")]
}

/// Handles `GET /?ids=…`, which returns several nodes in one response.
extension World {
    private static let maximumIDs = 50

    func nodes(_ list: String, request: GraphRequest, now: Int) throws(GraphError) -> GraphReply {
        _ = try authorize(request, now: now, missing: .tokenRequired)
        let ids = try Self.ids(list)
        guard ids.count <= Self.maximumIDs else {
            throw GraphError(
                code: 100,
                message: "(#100) Too many IDs. Maximum: \(Self.maximumIDs). Provided: \(ids.count)."
            )
        }
        let strangers = ids.filter { !Self.isNodeID($0) }
        guard strangers.isEmpty else { throw .unknownAliases(strangers) }
        var nodes: JSON = [:]
        for id in ids {
            if case .json(let node) = try node(id, edge: [], request: request, now: now).body { nodes[id] = node }
        }
        return GraphReply(nodes)
    }

    /// Whether a path segment can name a node: it is `me`, `app` or a number.
    static func isNodeID(_ text: String) -> Bool {
        text == "me" || text == "app" || text.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains)
    }

    /// Parses a list of ids.
    ///
    /// The ids are separated by commas, or they are the elements of a JSON array. The client library RestFB sends such
    /// an array.
    private static func ids(_ list: String) throws(GraphError) -> [String] {
        let texts = (try? JSON(parsing: list.utf8).array)?.compactMap(\.string)
        let ids = texts ?? list.split(separator: ",", omittingEmptySubsequences: false).map { $0.filter { $0 != " " } }
        // A longer text cannot be an id.
        guard !ids.isEmpty, ids.allSatisfy({ (1...64).contains($0.utf8.count) }) else { throw .emptyIdentifier }
        return ids
    }
}

extension GraphError {
    fileprivate static let emptyIdentifier = GraphError(code: 2500, message: "Cannot specify an empty identifier")

    fileprivate static func unknownAliases(_ names: [String]) -> GraphError {
        GraphError(
            code: 803,
            message: "(#803) Some of the aliases you requested do not exist: \(names.joined(separator: ","))"
        )
    }
}
