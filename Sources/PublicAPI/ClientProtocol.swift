import Domain
package import Encodings
package import HTTP
package import Hummingbird

/// A protocol of clients, as the public listener sees it: base paths, failures, CORS rules and routes.
///
/// A listener may have several protocols. Each has its own module, and all call the same use cases.
package protocol ClientProtocol: Sendable {
    /// The fixed first segments of the protocol's paths.
    ///
    /// No other protocol has these.
    var firstSegments: [String] { get }
    /// The base paths of applications in this protocol, in addition to the service's own.
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

    /// Returns the origins whose pages may send a request; nil or empty if the application lists none.
    func allowedOrigins(of request: Request) -> [String]?

    /// Returns the session token of a request, as received.
    func session(of request: Request) -> String?

    func mount(on routes: ApplicationRoutes)
}

extension ClientProtocol {
    package var bases: [ApplicationBase] { [] }
    package var securitySchemes: JSONObject { [:] }
    package var fixedParameters: [String: String] { [:] }
}

/// The protocols of a listener.
package struct ClientProtocols: Sendable {
    /// The protocol of all paths whose first segment belongs to no other protocol.
    package let first: any ClientProtocol
    private let others: [any ClientProtocol]

    package init(_ first: any ClientProtocol, beside others: [any ClientProtocol]) {
        self.first = first
        self.others = others
    }

    package var all: [any ClientProtocol] { [first] + others }

    /// The protocol to which a request belongs, even if the request matches no route.
    package subscript(request: Request) -> any ClientProtocol {
        guard !others.isEmpty else { return first }
        let segment = request.uri.path.split(separator: "/", maxSplits: 1).first ?? ""
        return others.first { $0.firstSegments.contains { $0.utf8.elementsEqual(segment.utf8) } } ?? first
    }

    /// The first segments of paths that name an application and belong to no protocol.
    ///
    /// The router tries no parameter below a fixed segment. If an application's id equals a fixed segment, its routes
    /// must be mounted below this segment, too.
    package var applicationSegments: [String] {
        ["{applicationId}", ApplicationBase.hostBound]
            + all.flatMap(\.firstSegments).filter { ApplicationID($0) != nil }
    }

    /// The base paths of applications in all protocols of the listener.
    var applicationBases: [ApplicationBase] {
        applicationSegments.map(ApplicationBase.key(below:)) + [.host] + all.flatMap(\.bases)
    }
}
