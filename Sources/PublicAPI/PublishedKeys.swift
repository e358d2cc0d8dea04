import Applications
import Description
import Domain
import Encodings
import HTTP
import HTTPTypes
import Hummingbird
import Logins

/// Serves the key sets (JWKS) with which other services verify the signed tokens that this service issues.
///
/// The issuer of the tokens is the public URL followed by the application's id. The URL of the key set begins with the
/// issuer.
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

    /// Mounts the route for the keys of all applications, and the route for the keys of one application.
    ///
    /// The path of the second route begins with the application's id. `segments` are the possible first segments: a
    /// parameter for the id, or a fixed text that may be an id.
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
        "The keys to verify signed tokens.",
        .success(
            """
            A JWK set. Cache it as `Cache-Control` says: five minutes, one minute during a rotation, and not at all \
            before the first ES256 key.
            """,
            .object([
                "keys": .array(
                    of: .anyObject.adding(
                        ["kty": .any, "use": .any, "alg": .any, "kid": .any],
                        optional: ["crv": .any, "x": .any, "y": .any, "n": .any, "e": .any]
                    )
                )
            ])
        ),
        or: [.notFound, .unavailable]
    )
}
