import HTTP
import HTTPTypes
import Hummingbird
import NIOCore

/// `GET /metrics`: what the service says of itself, for a scraper.
package struct MetricsPage: Sendable {
    /// Who may read it.
    package enum Access: String, Sendable, CaseIterable {
        /// Everybody who reaches the management listener, as its health.
        case open
        /// Who has the token of an operator of any role.
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

    /// Mounts the route; where it asks for a token, it stands behind the `OperatorGate`.
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
