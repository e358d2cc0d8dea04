import Encodings

/// The removal of permissions: `DELETE /{user}/permissions`, and the removal of an app that uses Limited Login.
extension World {
    /// Handles `DELETE /{user}/permissions` and `DELETE /{user}/permissions/{name}`.
    ///
    /// The first form removes the app from the user. The second form sets one permission to declined. With a user's
    /// token, `{user}` is `me` or the app-scoped id of the token's user. With an app token, it is the app-scoped id of
    /// any user.
    mutating func removePermissions(_ request: GraphRequest, now: Int) throws(GraphError) -> JSON {
        let name = request.components[0]
        let isMe = name.hasSameBytes(as: "me")
        let app: App
        let user: Person?
        switch try authorize(request, now: now, missing: isMe ? .missingToken : .tokenRequired) {
        case .app(let issuer):
            if isMe { throw .missingToken }
            app = issuer
            user = person(appScopedID: name, of: issuer)
        case .issued(let token, let issuer):
            app = issuer
            let own = token.kind == .page ? nil : token.person.flatMap { people[$0] }
            user = own.flatMap { isMe || $0.id(for: issuer.id).utf8.elementsEqual(name.utf8) ? $0 : nil }
        }
        guard var user else { throw .unsupported("delete", object: name) }
        if request.components.count > 2 {
            user.set(request.components[2], .declined)
            people[user.key] = user
        } else {
            remove(app, of: user, now: now)
        }
        return ["success": true]
    }

    /// Handles `POST /platform/uninstall/`, which removes the app `app_id` from the user whom `id_token` names.
    ///
    /// An app that uses Limited Login has no access token, only an ID token. The simulator accepts an expired ID token,
    /// since clients keep it after its lifetime of one hour for this request.
    mutating func uninstall(_ request: GraphRequest, now: Int) throws(GraphError) -> JSON {
        guard let app = request.parameter("app_id").flatMap({ apps[$0] }) else { throw GraphError(code: 101) }
        guard let text = request.parameter("id_token"), let claims = keys.verifiedClaims(of: text),
            let audience = claims["aud"]?.string, audience.hasSameBytes(as: app.id),
            let user = claims["sub"]?.string.flatMap({ person(appScopedID: $0, of: app) })
        else { throw GraphError(code: 100, message: "Invalid id_token parameter") }
        remove(app, of: user, now: now)
        return ["success": true]
    }

    private func person(appScopedID id: String, of app: App) -> Person? {
        people.first { $0.id(for: app.id).utf8.elementsEqual(id.utf8) }
    }

    /// Removes an app from a user.
    ///
    /// The user's valid tokens for the app get the kind ``TokenKind/appRemoved``. The user's authorization codes for
    /// the app are deleted.
    private mutating func remove(_ app: App, of user: Person, now: Int) {
        for token in tokens.values where token.app == app.id && token.person == user.key {
            guard case .issued(var token, _)? = try? credential(token.text), end(of: token, now: now) == nil else {
                continue
            }
            token.kind = .appRemoved
            tokens[token.text] = token
        }
        codes = codes.filter { $0.value.request.app != app.id || $0.value.request.person != user.key }
    }
}
