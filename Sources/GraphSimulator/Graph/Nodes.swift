/// `/me`, `/{id}`, `/app` and their edges.
extension World {
    func node(
        _ name: String,
        edge: [String],
        request: GraphRequest,
        now: Int
    ) throws(GraphError) -> GraphReply {
        switch try authorize(request, now: now, missing: name == "me" ? .missingToken : .tokenRequired) {
        case .app(let app):
            if name == "me" { throw .missingToken }
            if name == "app" || name == app.id {
                return GraphReply(try appNode(app, edge: edge, request: request))
            }
            guard let person = people.first(where: { $0.id(for: app.id).utf8.elementsEqual(name.utf8) }) else {
                throw .unsupported("get", object: name)
            }
            // The public profile, which an app may read of its users. Fields that do not exist are refused, as at /me.
            let token = Token(
                text: "",
                kind: .app,
                app: app.id,
                person: person.key,
                scopes: ["public_profile"],
                issuedAt: now,
                expiresAt: 0,
                dataAccessExpiresAt: 0
            )
            let version = GraphVersion.answering(request.version, now: now)
            let user = UserNode(world: self, person: person, token: token, now: now, version: version)
            return try userReply(user, edge: edge, request: request)
        case .issued(let token, let app):
            if name == "app" || name == app.id {
                return GraphReply(try appNode(app, edge: edge, request: request))
            }
            if token.kind == .page {
                guard name == "me" || name == token.profileID else { throw .unsupported("get", object: name) }
                return GraphReply(try pageNode(token, edge: edge, request: request))
            }
            guard let person = token.person.flatMap(person) else { throw .unsupported("get", object: name) }
            let version = GraphVersion.answering(request.version, now: now)
            let user = UserNode(world: self, person: person, token: token, now: now, version: version)
            guard name == "me" || name.utf8.elementsEqual(user.id.utf8) else {
                throw .unsupported("get", object: name)
            }
            return try userReply(user, edge: edge, request: request)
        }
    }

    private func userReply(
        _ user: UserNode,
        edge: [String],
        request: GraphRequest
    ) throws(GraphError) -> GraphReply {
        guard let name = edge.first else {
            let fields = try FieldSelection.parse(request.parameter("fields") ?? "")
            return GraphReply(try user.select(fields.isEmpty ? Self.defaultFields : fields))
        }
        guard edge.count == 1, UserField.graphField(name)?.kind == .edge else { throw .unknownPath(edge) }
        var selection = FieldSelection(name: name)
        for modifier in ["width", "height", "type", "limit"] {
            selection.modifiers[modifier] = request.parameter(modifier)
        }
        let fields = try FieldSelection.parse(request.parameter("fields") ?? "")
        selection.fields = fields.isEmpty ? nil : fields
        if name == "picture" {
            let picture = try user.picture(selection)
            let redirect = request.parameter("redirect").map { !["false", "0"].contains($0.prefix(6)) } ?? true
            guard redirect, let url = picture["data"]?["url"]?.string else { return GraphReply(picture) }
            return GraphReply(status: 302, headers: [("Location", url)], bytes: [])
        }
        return GraphReply(try user.value(of: selection) ?? ["data": []])
    }

    private func appNode(_ app: App, edge: [String], request: GraphRequest) throws(GraphError) -> JSON {
        guard edge.isEmpty else { throw .unknownPath(edge) }
        let values: JSON = [
            "category": "Business", "link": .string("https://www.facebook.com/games/?app_id=\(app.id)"),
            "name": .string(app.name), "id": .string(app.id),
        ]
        return try plainNode(values, type: "Application", request: request)
    }

    private func pageNode(_ token: Token, edge: [String], request: GraphRequest) throws(GraphError) -> JSON {
        guard edge.isEmpty else { throw .unknownPath(edge) }
        let values: JSON = ["name": "A page", "id": .string(token.profileID ?? "")]
        return try plainNode(values, type: "Page", request: request)
    }

    private func plainNode(_ values: JSON, type: String, request: GraphRequest) throws(GraphError) -> JSON {
        let fields = try FieldSelection.parse(request.parameter("fields") ?? "")
        if fields.isEmpty { return values }
        var chosen: [JSON.Member] = []
        for field in fields {
            guard let value = values[field.name] else { throw .nonexistingField(field.name, on: type) }
            chosen.append(JSON.Member(field.name, value))
        }
        if !fields.contains(where: { $0.name == "id" }), let id = values["id"] { chosen.append(.init("id", id)) }
        return .object(chosen)
    }

    private static let defaultFields = [FieldSelection(name: "name"), FieldSelection(name: "id")]
}
