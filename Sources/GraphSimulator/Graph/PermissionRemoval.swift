/// The end of an app's permissions: `DELETE /{user}/permissions`, and the uninstall of Limited Login.
extension World {
    /// `DELETE /{user}/permissions` removes the app, `DELETE /{user}/permissions/{name}` declines one permission.
    ///
    /// The user is `me` or an app-scoped id; with an app token only an id, and any of that app's.
    mutating func removePermissions(_ request: GraphRequest, now: Int) throws(GraphError) -> JSON {
        let name = request.components[0]
        let isMe = name.utf8.elementsEqual("me".utf8)
        let app: App
        let user: Person?
        switch try authorize(request, now: now, missing: isMe ? .missingToken : .tokenRequired) {
        case .app(let issuer):
            if isMe { throw .missingToken }
            app = issuer
            user = person(appScopedID: name, of: issuer)
        case .issued(let token, let issuer):
            app = issuer
            let own = token.kind == .page ? nil : token.person.flatMap(person)
            user = own.flatMap { isMe || $0.id(for: issuer.id).utf8.elementsEqual(name.utf8) ? $0 : nil }
        }
        guard var user else { throw .unsupported("delete", object: name) }
        if request.components.count > 2 {
            user.set(request.components[2], .declined)
            put(user)
        } else {
            remove(app, of: user, now: now)
        }
        return ["success": true]
    }

    /// `POST /platform/uninstall/` with `id_token` and `app_id`: the only way for who has no access token.
    ///
    /// The ID token may have expired: who keeps one for this purpose keeps it longer than an hour.
    mutating func uninstall(_ request: GraphRequest, now: Int) throws(GraphError) -> JSON {
        guard let app = request.parameter("app_id").flatMap(app) else { throw GraphError(code: 101) }
        guard let text = request.parameter("id_token"), let claims = keys.verifiedClaims(of: text),
            let audience = claims["aud"]?.string, audience.utf8.elementsEqual(app.id.utf8),
            let user = claims["sub"]?.string.flatMap({ person(appScopedID: $0, of: app) })
        else { throw GraphError(code: 100, message: "Invalid id_token parameter") }
        remove(app, of: user, now: now)
        return ["success": true]
    }

    private func person(appScopedID id: String, of app: App) -> Person? {
        people.first { $0.id(for: app.id).utf8.elementsEqual(id.utf8) }
    }

    /// All that the app has of this person ends: living tokens become those of a removed app, codes are gone.
    private mutating func remove(_ app: App, of user: Person, now: Int) {
        for token in tokens.values where token.app == app.id && token.person == user.key {
            guard case .issued(var token, _)? = try? credential(token.text), end(of: token, now: now) == nil else {
                continue
            }
            token.kind = .appRemoved
            put(token)
        }
        codes = codes.filter { $0.value.app != app.id || $0.value.person != user.key }
    }
}
