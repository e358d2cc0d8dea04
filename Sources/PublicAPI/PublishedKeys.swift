import Applications
import Description
import Domain
import Encodings
import HTTP
import HTTPTypes
import Hummingbird
import Logins

/// The key sets with which other services verify signed tokens, below the issuer of the tokens: the public URL and the
/// application's id.
struct PublishedKeys {
    let tokens: TokenIssuer
    let directory: ApplicationDirectory

    private static let path = ".well-known/jwks.json"
    private static let servers = [
        ServerAddress(
            ServerAddress.pages,
            "The keys of the application's tokens.",
            variables: [ServerAddress.application]
        ),
        ServerAddress(ServerAddress.local, "The keys of all applications."),
    ]

    /// Mounts the routes: one for all applications, and one for each application below each first segment.
    func mount(on routes: DescribedRouter, below segments: [String]) {
        routes.get("/" + Self.path, .readTokenKeys, at: Self.servers) { _, _ in try await keySet(of: nil) }
        for first in segments {
            routes.router.get(RouterPath("/\(first)/" + Self.path)) { _, context in
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

extension Operation {
    fileprivate static let readTokenKeys = Operation(
        "readTokenKeys",
        under: "session",
        "The keys by which signed tokens are checked.",
        .success(
            """
            A JWK set, which may be kept for as long as `Cache-Control` says: five minutes, one minute while keys are \
            being replaced, an empty one not at all.
            """,
            .object([
                "keys": .array(
                    of: .anyObject.adding([
                        "kty": .any,
                        "crv": .any,
                        "x": .any,
                        "y": .any,
                        "use": .any,
                        "alg": .any,
                        "kid": .any,
                    ])
                )
            ])
        ),
        or: [.notFound, .unavailable]
    )
}
