import Federation
import HTTPTypes
import Hummingbird
import Vocabulary

/// Signed tokens, and the keys by which other services check them.
struct TokenRoutes {
    let federation: Federation
    let directory: ApplicationDirectory

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
        routes.router.get(RouterPath("/" + Self.keys)) { _, _ in try await keySet(of: nil) }
        for first in ApplicationRoutes.idSegments {
            routes.router.get(RouterPath("/\(first)/" + Self.keys)) { _, context in
                try await keySet(of: try directory.application(id: context.parameters["applicationId"] ?? first[...]))
            }
        }
    }

    /// Behind the issuer that tokens name, which is the public URL and the application.
    private static let keys = ".well-known/jwks.json"

    private func keySet(of application: LoadedApplication?) async throws(Failure) -> Response {
        var writer = JSONWriter(capacity: 1024)
        let keys = try await federation.tokenKeySet(of: application)
        writer.value(keys.set)
        var response = Response.json(writer)
        // The first key signs at once: whoever kept the empty set would refuse what it signs.
        response.headers[.cacheControl] =
            keys.isEmpty ? "no-store" : "public, max-age=\(Federation.tokenKeySetSeconds)"
        return response
    }
}
