package import Hummingbird
import Vocabulary

/// A protocol that clients speak, as the public listener sees it: where its paths begin, how it tells failures, what
/// browsers may do with it, and its routes.
///
/// Several stand beside each other, each in a module of its own, over the same use cases.
package protocol ClientProtocol: Sendable {
    /// The fixed first segments of its paths: no other protocol has them.
    var firstSegments: [String] { get }
    var errors: any ErrorTable { get }
    /// Names of headers that browser pages of other origins may read.
    var exposedHeaders: String { get }

    /// The origins whose pages may send a request; nil or none where its application lists none.
    func allowedOrigins(of request: Request) -> [String]?

    func mount(on router: Router<APIContext>, refusals: RefusalLog)
}

/// The protocols of a listener.
package struct ClientProtocols: Sendable {
    /// Has what begins with a segment of no other's.
    package let first: any ClientProtocol
    private let others: [any ClientProtocol]

    package init(_ first: any ClientProtocol, beside others: [any ClientProtocol]) {
        self.first = first
        self.others = others
    }

    package var all: [any ClientProtocol] { [first] + others }

    /// The protocol that a request is in, whether it fits a route or not.
    package subscript(request: Request) -> any ClientProtocol {
        guard !others.isEmpty else { return first }
        let segment = request.uri.path.split(separator: "/", maxSplits: 1).first ?? ""
        return others.first { $0.firstSegments.contains { $0.utf8.elementsEqual(segment.utf8) } } ?? first
    }

    /// The first segments of paths that name an application and belong to no protocol.
    ///
    /// Below a fixed segment the router looks at no other, so that an application whose id is one needs the routes
    /// there, too.
    package var applicationSegments: [String] {
        ["{applicationId}"] + all.flatMap(\.firstSegments).filter { ApplicationID($0) != nil }
    }
}
