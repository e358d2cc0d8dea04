import Federation
import HTTPTypes
import Hummingbird
import Identity

/// Mounts routes under the base paths of applications and resolves the application in front of every handler.
///
/// There are two bases: `/{applicationId}/{apiKey}`, and `/api` on a host of the application's. An application whose id is
/// `api` keeps the first form: a key has at least 16 characters, so what follows it tells the two apart.
struct ApplicationRoutes {
    let router: Router<APIContext>
    let directory: ApplicationDirectory

    typealias Handler = @Sendable (Request, APIContext, LoadedApplication) async throws -> Response

    /// The first segment of host-bound paths.
    static let hostBound = "api"

    func on(_ method: HTTPRequest.Method, _ path: String, use handler: @escaping Handler) {
        router.on(RouterPath("/{applicationId}/{apiKey}/" + path), method: method) { [directory] request, context in
            let application = try directory.application(
                id: context.parameters["applicationId"] ?? "",
                key: context.parameters["apiKey"] ?? ""
            )
            return try await handler(request, context, application)
        }
        router.on(RouterPath("/\(Self.hostBound)/{apiKey}/" + path), method: method) { [directory] request, context in
            let key = context.parameters["apiKey"] ?? ""
            return try await handler(request, context, try directory.application(id: Self.hostBound[...], key: key))
        }
        router.on(RouterPath("/\(Self.hostBound)/" + path), method: method) { [directory] request, context in
            try await handler(request, context, try directory.application(host: request.hostName ?? ""))
        }
    }
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
        let lowered = host.map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }
        // The colons of an IPv6 address stand in brackets.
        let port = lowered.lastIndex(of: UInt8(ascii: ":")).flatMap { colon in
            lowered[colon...].dropFirst().allSatisfy(\.isASCIIDigit) ? colon : nil
        }
        return String(decoding: lowered[..<(port ?? lowered.endIndex)], as: UTF8.self)[...]
    }
}
