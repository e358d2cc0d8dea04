import Domain
package import Encodings
package import HTTP
package import Hummingbird

/// A protocol that clients of the public listener use, such as that of Backendless.
///
/// It determines base paths, errors, CORS rules and routes. A listener may have several protocols. Each has its own
/// module, and all call the same internal operations.
package protocol ClientProtocol: Sendable {
    /// The fixed first path segments by which the listener recognizes requests of this protocol.
    ///
    /// No other protocol has the same segments.
    var firstSegments: [String] { get }
    /// The names of the hosts that clients call if they cannot be given another address.
    ///
    /// A request to such a host counts as a request to the path that begins with the name. So each name is also a first
    /// segment.
    var hostNames: [String] { get }
    /// Beginnings of paths that clients call, and the beginnings under which the protocol serves them.
    var pathAliases: [(alias: String, path: String)] { get }
    /// The base paths that only this protocol has; a base path names the application of a request.
    ///
    /// Every protocol also has the base paths of the service itself (`ApplicationBase`).
    var bases: [ApplicationBase] { get }
    var errors: any ErrorTable { get }
    /// The names of the response headers that browser pages of other origins may read.
    var exposedHeaders: String { get }
    /// The security schemes of the OpenAPI document.
    ///
    /// They describe how requests send a session token.
    var securitySchemes: JSONObject { get }
    /// Path parameters that have only one value.
    ///
    /// In the OpenAPI document, the value replaces the parameter.
    var fixedParameters: [String: String] { get }

    /// Returns the origins whose pages may send this request; nil or empty if the application does not limit the
    /// origins.
    func allowedOrigins(of request: Request) -> [String]?

    /// Returns the session token that a request contains, not checked yet; nil if it contains none.
    func session(of request: Request) -> String?

    func mount(on routes: ApplicationRoutes)

    /// Mounts the routes of requests that name no application, such as those for published keys.
    func mount(onRoot routes: DescribedRouter, logging refusals: RefusalLog)
}

extension ClientProtocol {
    package var hostNames: [String] { [] }
    package var pathAliases: [(alias: String, path: String)] { [] }
    package var bases: [ApplicationBase] { [] }
    package var securitySchemes: JSONObject { [:] }
    package var fixedParameters: [String: String] { [:] }

    package func mount(onRoot routes: DescribedRouter, logging refusals: RefusalLog) {}
}

/// The client protocols of a listener.
package struct ClientProtocols: Sendable {
    /// The protocol of all paths whose first segment belongs to no other protocol.
    package let first: any ClientProtocol
    private let others: [any ClientProtocol]

    package init(_ first: any ClientProtocol, beside others: [any ClientProtocol]) {
        self.first = first
        self.others = others
    }

    package var all: [any ClientProtocol] { [first] + others }

    /// The protocol to which a request belongs, by its first path segment, even if no route matches the request.
    package subscript(request: Request) -> any ClientProtocol {
        guard !others.isEmpty else { return first }
        let segment = request.uri.path.split(separator: "/", maxSplits: 1).first ?? ""
        return others.first { $0.firstSegments.contains { $0.utf8.elementsEqual(segment.utf8) } } ?? first
    }

    /// The possible first segments of paths that begin with an application's id.
    ///
    /// They are the parameter `{applicationId}`, and every fixed segment that could also be an application's id. The
    /// router does not try a parameter if a fixed segment matches. So the application's routes must be mounted below
    /// each such segment, too.
    package var applicationSegments: [String] {
        ["{applicationId}", ApplicationBase.hostBound]
            + all.flatMap(\.firstSegments).filter { ApplicationID($0) != nil }
    }

    /// The base paths of applications in all protocols of the listener.
    var applicationBases: [ApplicationBase] {
        applicationSegments.map(ApplicationBase.key(below:)) + [.host] + all.flatMap(\.bases)
    }
}
