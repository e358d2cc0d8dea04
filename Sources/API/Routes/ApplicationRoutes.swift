import Federation
import HTTPTypes
import Hummingbird
import Identity

/// Mounts routes under the base paths of applications and resolves the application in front of every handler.
///
/// There are three bases: `/{applicationId}/{apiKey}`; `/api` on a host of the application's; and `/v1`, where headers name
/// application and key, as old client SDKs have it (backendless.md §1.1). An application whose id is `api` or `v1` keeps the first
/// form: a key has at least 16 characters, so what follows it tells the two apart.
struct ApplicationRoutes {
    let router: Router<APIContext>
    let directory: ApplicationDirectory

    typealias Handler = @Sendable (Request, APIContext, LoadedApplication) async throws -> Response

    /// The first segment of host-bound paths.
    static let hostBound = "api"
    /// The first segment of paths whose application the headers name.
    static let headerBound = "v1"

    func on(_ method: HTTPRequest.Method, _ path: String, use handler: @escaping Handler) {
        mount(method, "/{applicationId}/{apiKey}/" + path, use: handler) { _, context in
            (context.parameters["applicationId"] ?? "", context.parameters["apiKey"] ?? "")
        }
        for first in [Self.hostBound, Self.headerBound] {
            mount(method, "/\(first)/{apiKey}/" + path, use: handler) { _, context in
                (first[...], context.parameters["apiKey"] ?? "")
            }
        }
        onHeaderBound(method, path, use: handler)
        router.on(RouterPath("/\(Self.hostBound)/" + path), method: method) { [directory] request, context in
            try await handler(request, context, try directory.application(host: request.hostName ?? ""))
        }
    }

    /// Mounts a route under `/v1` alone.
    func onHeaderBound(_ method: HTTPRequest.Method, _ path: String, use handler: @escaping Handler) {
        mount(method, "/\(Self.headerBound)/" + path, use: handler) { request, _ in
            (request.headers[.applicationID].map { $0[...] } ?? "", request.headers[.secretKey].map { $0[...] } ?? "")
        }
    }

    private func mount(
        _ method: HTTPRequest.Method,
        _ path: String,
        use handler: @escaping Handler,
        naming names: @escaping @Sendable (Request, APIContext) -> (id: Substring, key: Substring)
    ) {
        router.on(RouterPath(path), method: method) { [directory] request, context in
            let (id, key) = names(request, context)
            let found = try directory.application(id: id, key: key)
            guard !found.key.isServer || request.headers[.origin] == nil else { throw Self.exposedKey }
            var context = context
            context.apiKey = found.key
            return try await handler(request, context, found.application)
        }
    }

    /// Whoever looks at the page has the key.
    private static let exposedKey = Failure(
        .unknownApplication,
        "This is a server's key, and a browser sent it. Revoke it, since everybody who opens the page can read it, and give the page another."
    )
}

extension Request {
    /// The session token of the header, if it can be one of ours.
    var userToken: SessionToken? {
        headers[.userToken].flatMap { SessionToken(received: $0) }
    }

    /// The host that the client called, without a port and in lower case; nil when it named none.
    ///
    /// A target in absolute form counts more than the header (RFC 9112 §3.2.2). Forwarded names are not believed.
    var hostName: Substring? {
        guard let host = (uri.host ?? head.authority)?.utf8, host.count <= 300 else { return nil }
        let lowered = host.map(\.asciiLowercased)
        // The colons of an IPv6 address stand in brackets.
        let port = lowered.lastIndex(of: UInt8(ascii: ":")).flatMap { colon in
            lowered[colon...].dropFirst().allSatisfy(\.isASCIIDigit) ? colon : nil
        }
        return String(decoding: lowered[..<(port ?? lowered.endIndex)], as: UTF8.self)[...]
    }
}
