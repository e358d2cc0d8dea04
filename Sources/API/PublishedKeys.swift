import Applications
import HTTP
import HTTPTypes
import Hummingbird
import Logins
import Vocabulary

/// The keys by which other services check signed tokens, behind the issuer that tokens name: the public URL and the
/// application.
struct PublishedKeys {
    let tokens: TokenIssuer
    let directory: ApplicationDirectory

    private static let path = ".well-known/jwks.json"

    /// Mounts the routes, those of an application below each of the first segments.
    func mount(on router: Router<APIContext>, below segments: [String]) {
        router.get(RouterPath("/" + Self.path)) { _, _ in try await keySet(of: nil) }
        for first in segments {
            router.get(RouterPath("/\(first)/" + Self.path)) { _, context in
                try await keySet(of: try directory.application(id: context.parameters["applicationId"] ?? first[...]))
            }
        }
    }

    private func keySet(of application: LoadedApplication?) async throws(Failure) -> Response {
        var writer = JSONWriter(capacity: 1024)
        let keys = try await tokens.tokenKeySet(of: application)
        writer.value(keys.set)
        var response = Response.json(writer)
        response.headers[.cacheControl] = keys.seconds == 0 ? "no-store" : "public, max-age=\(keys.seconds)"
        return response
    }
}
