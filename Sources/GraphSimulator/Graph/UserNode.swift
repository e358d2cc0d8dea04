import Crypto
import Domain
import Encodings

/// The data of a user that the Graph API returns to the holder of an access token.
struct UserNode {
    let world: World
    let person: Person
    let token: Token
    let now: Int
    /// The version of the Graph API that serves the request, on which some fields depend.
    var version: GraphVersion?

    /// The user's id for the app to which the token was issued.
    var id: String { person.id(for: token.app) }

    /// The permissions that the token has now: those with which it was issued, without the declined and revoked ones.
    var scopes: [String] {
        guard let scopes = token.scopes else {
            return person.permissions.filter { $0.status == .granted }.map(\.name)
        }
        return scopes.filter { (person.status(of: $0) ?? .granted) == .granted }
    }

    func select(_ selections: [FieldSelection]) throws(GraphError) -> JSON {
        var reply: [JSON.Member] = []
        for selection in selections {
            if let value = try value(of: selection) { reply.append((selection.key, value)) }
        }
        if !reply.contains(where: { $0.name.hasSameBytes(as: "id") }) { reply.append(("id", .string(id))) }
        return .object(reply)
    }

    /// Returns the value of a field; `nil` if the user's profile has no such field, or if the token may not read it.
    func value(of selection: FieldSelection) throws(GraphError) -> JSON? {
        if let removed = world.removedFields[selection.name], let version, version >= removed.since {
            throw .removedField(removed)
        }
        guard let field = UserField.graphField(selection.name) else {
            guard isExtra(selection.name) else { throw .nonexistingField(selection.name, on: "User") }
            return person.fields["extra"]?[selection.name]
        }
        if field.kind == .withdrawn { return person.fields["extra"]?[selection.name] }
        if field.kind == .scalar {
            if let alias = selection.alias { throw GraphError(code: 100, message: "(#100) Unknown fields: \(alias).") }
            if selection.fields != nil {
                throw GraphError(code: 2500, message: "Subfields are not supported by \(selection.name)")
            }
        }
        guard isReadable(field) else { return nil }
        switch field.name {
        case "id": return .string(id)
        case "picture": return try picture(selection)
        case "friends": return try friends(selection)
        case "permissions": return permissions
        case "ids_for_business": return idsForBusiness
        case "hometown", "location":
            return try person.fields[field.name].map { value throws(GraphError) in
                try Self.choose(selection.fields, from: value, node: "Page", known: ["id", "name"], always: "id")
            }
        case "age_range":
            return try person.fields[field.name].map { value throws(GraphError) in
                try Self.choose(selection.fields, from: value, node: "AgeRange", known: ["min", "max"])
            }
        default: return person.fields[field.name]
        }
    }

    /// All permissions that were ever requested: `{"data":[{"permission":"email","status":"granted"},…]}`.
    var permissions: JSON {
        var all = person.permissions
        for scope in token.scopes ?? [] where person.status(of: scope) == nil {
            all.append(Person.Permission(scope))
        }
        let listed: [JSON] = all.map { permission in
            let withheld = permission.status == .granted && !scopes.contains(permission.name)
            let status = withheld ? Person.PermissionStatus.declined : permission.status
            return ["permission": .string(permission.name), "status": .string(status.rawValue)]
        }
        return ["data": .array(listed)]
    }

    /// Returns the value of the field `picture`: `{"data":{"height":…,"is_silhouette":…,"url":…,"width":…}}`.
    ///
    /// The default size is 50 pixels square.
    func picture(_ selection: FieldSelection) throws(GraphError) -> JSON {
        var width = selection.number("width")
        var height = selection.number("height")
        if width == nil, height == nil {
            let side =
                switch selection.modifiers["type"]?.prefix(6) {
                case "large": 200
                case "normal", "album": 100
                default: 50
                }
            (width, height) = (side, side)
        }
        let side = (width: min(max(width ?? height ?? 50, 1), 5000), height: min(max(height ?? width ?? 50, 1), 5000))
        let own = person.fields["picture"]
        let hash = SHA256.hash(data: Array("picture\n\(id)".utf8)).prefix(12).reduce("") { text, byte in
            text + String(byte, radix: 36)
        }
        let url =
            "https://platform-lookaside.fbsbx.com/platform/profilepic/?asid=\(id)&height=\(side.height)"
            + "&width=\(side.width)&ext=\(now / 86400 * 86400 + 30 * 86400)&hash=\(hash)"
        let data: JSON = [
            "height": own?["height"] ?? .integer(side.height),
            "is_silhouette": own?["is_silhouette"] ?? false,
            "url": own?["url"] ?? .string(url),
            "width": own?["width"] ?? .integer(side.width),
        ]
        let known = ["height", "is_silhouette", "url", "width", "cache_key"]
        return ["data": try Self.choose(selection.fields, from: data, node: "ProfilePictureSource", known: known)]
    }

    /// Returns up to `limit` of the user's friends, and the number of all friends.
    ///
    /// The simulator assumes that all friends use the token's app.
    func friends(_ selection: FieldSelection) throws(GraphError) -> JSON {
        let all = person.friends.compactMap { world.people[$0] }
        let limit = min(max(selection.number("limit") ?? 25, 0), 5000)
        var page: [JSON] = []
        for friend in all.prefix(limit) {
            let known = ["id", "name", "first_name", "last_name", "middle_name", "short_name"]
            var values: JSON = ["name": friend.fields["name"] ?? "", "id": .string(friend.id(for: token.app))]
            for name in known.dropFirst(2) { values[name] = friend.fields[name] }
            let selected = selection.fields ?? [FieldSelection(name: "name"), FieldSelection(name: "id")]
            page.append(try Self.choose(selected, from: values, node: "User", known: known, always: "id"))
        }
        var reply: JSON = ["data": .array(page)]
        if !page.isEmpty { reply["paging"] = ["cursors": ["before": "QVFIUmJlZA", "after": "QVFIUmFmdA"]] }
        reply["summary"] = ["total_count": .integer(all.count)]
        return reply
    }

    private var idsForBusiness: JSON {
        let ids: [JSON] = world.apps.map { app in
            ["id": .string(person.id(for: app.id)), "app": ["id": .string(app.id), "name": .string(app.name)]]
        }
        return ["data": .array(ids)]
    }

    /// Whether the token may read a field.
    ///
    /// The token needs the field's permission. If its data access has expired, it may read only the public profile.
    private func isReadable(_ field: UserField) -> Bool {
        guard let permission = field.permission else { return true }
        guard scopes.contains(permission) else { return false }
        let dataAccessIsOver = token.dataAccessExpiresAt != 0 && now >= token.dataAccessExpiresAt
        return permission == "public_profile" || !dataAccessIsOver
    }

    private func isExtra(_ name: String) -> Bool {
        world.people.contains { $0.fields["extra"]?[name] != nil }
    }

    static func choose(
        _ selections: [FieldSelection]?,
        from value: JSON,
        node: String,
        known: [String],
        always: String? = nil
    ) throws(GraphError) -> JSON {
        guard let selections else { return value }
        var chosen: [JSON.Member] = []
        for selection in selections {
            guard known.contains(where: { $0.hasSameBytes(as: selection.name) }) else {
                throw .nonexistingField(selection.name, on: node)
            }
            if let found = value[selection.name] { chosen.append((selection.key, found)) }
        }
        if let always, let found = value[always], !chosen.contains(where: { $0.name == always }) {
            chosen.append((always, found))
        }
        return .object(chosen)
    }
}
