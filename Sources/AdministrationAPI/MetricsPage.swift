import HTTP
import HTTPTypes
import Hummingbird
import NIOCore

/// `GET /metrics`: the metrics of the service for a scraper.
package struct MetricsPage: Sendable {
    /// Which clients may read the metrics.
    package enum Access: String, Sendable, CaseIterable {
        /// Every client that reaches the management listener may read the metrics, without a token.
        case open
        /// Only operators may read the metrics, with a token. Any role is enough.
        case `operator`
    }

    let access: Access
    let contentType: String
    let text: @Sendable () async -> [UInt8]

    package init(access: Access, contentType: String, text: @escaping @Sendable () async -> [UInt8]) {
        self.access = access
        self.contentType = contentType
        self.text = text
    }

    /// Adds the route `GET /metrics` to the router.
    ///
    /// If the route requires a token, the router must have the middleware `OperatorGate` before it.
    func mount(on router: Router<ManagementContext>) {
        router.get("/metrics") { _, context in
            guard access == .open || context.caller != nil else { throw OperatorGate.refusal }
            return Response(
                status: .ok,
                headers: [.contentType: contentType, .cacheControl: "no-store"],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: await text()))
            )
        }
    }
}
