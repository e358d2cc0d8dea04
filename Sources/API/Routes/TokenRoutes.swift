import Federation
import HTTPTypes
import Hummingbird
import Identity

/// Signed tokens, and the keys by which other services check them.
struct TokenRoutes {
    let federation: Federation

    func mount(on routes: ApplicationRoutes) {
        routes.on(.get, "users/token") { request, _, application in
            let token = try await federation.signedToken(ofSession: request.userToken, in: application)
            var writer = JSONWriter(capacity: 1024)
            writer.object { writer in
                writer.member("token", token.text.reveal())
                writer.member("expires", token.expires)
            }
            return .json(writer)
        }
        routes.router.get("/.well-known/jwks.json") { _, _ in
            var writer = JSONWriter(capacity: 1024)
            let keys = try await federation.tokenKeySet()
            writer.value(keys.set)
            var response = Response.json(writer)
            // The first key signs at once: whoever kept the empty set would refuse what it signs.
            response.headers[.cacheControl] =
                keys.isEmpty ? "no-store" : "public, max-age=\(Federation.tokenKeySetSeconds)"
            return response
        }
    }
}
