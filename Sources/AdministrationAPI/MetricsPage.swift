import HTTP
import HTTPTypes
import Hummingbird
import NIOCore

/// `GET /metrics`: the metrics of the service for a scraper.
package struct MetricsPage: Sendable {
    /// The right to read the metrics.
    package enum Access: String, Sendable, CaseIterable {
        /// Every client of the management listener, as for its health.
        case open
        /// The owner of an operator's token, of any role.
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

    /// Mounts the route; where it requires a token, behind the `OperatorGate`.
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
