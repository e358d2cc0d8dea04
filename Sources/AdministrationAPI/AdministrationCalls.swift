import Domain
package import Encodings
package import HTTPTypes
import Hummingbird
import NIOCore

/// Sends requests to the administration API from within the process, as the pages of the console do.
///
/// Such a request passes the same authentication, roles, second factors and audit log as a request over the network.
/// The response is the same, too.
package struct AdministrationCalls: Sendable {
    private let responder: RouterResponder<ManagementContext>

    /// The maximum size of a response in bytes.
    private static let maxBytes = 8_388_608

    init(_ router: Router<ManagementContext>) {
        responder = router.buildResponder()
    }

    /// A request to the administration API from within the process.
    package struct Call: Sendable {
        package var method: HTTPRequest.Method
        /// The decoded segments of the path after `/admin/v1/`.
        package var path: [String]
        package var query: [(name: String, value: String)]
        package var body: JSONValue?
        /// The entity tag that the resource must have, without quotes.
        ///
        /// The request sends it in the header `If-Match`.
        ///
        /// `*` allows a change of any state. Nil sends no header.
        package var tag: String?

        package init(
            _ method: HTTPRequest.Method,
            _ path: [String],
            query: [(name: String, value: String)] = [],
            body: JSONValue? = nil,
            tag: String? = nil
        ) {
            self.method = method
            self.path = path
            self.query = query
            self.body = body
            self.tag = tag
        }
    }

    /// The response to a request from within the process.
    package struct Answer: Sendable {
        package let status: HTTPResponse.Status
        /// The body; nil if there is none.
        package let body: JSONValue?
        /// The entity tag of the resource, without its quotes; nil if the response has none.
        package let tag: String?
        /// The value of the header `Retry-After`: the seconds after which a refused request may be repeated; nil if it
        /// is absent.
        package let retryAfter: String?
    }

    /// Sends a request to the administration API with an operator's token.
    ///
    /// - Parameters:
    ///   - call: The request.
    ///   - token: The text of the operator's token.
    ///   - context: The context of the request from the network that causes this one. Both requests have the same
    ///     source and id.
    /// - Returns: The response, even if the request is refused.
    /// - Throws: `payload_too_large` for a response of more than 8 MiB, and the errors of the connection from the
    ///   network.
    package func send(_ call: Call, as token: String, context: ManagementContext) async throws -> Answer {
        var context = context
        context.waitsForPlace = true
        context.coreContext = CoreRequestContextStorage(source: context)
        var uri = AdministrationRoute.base + call.path.map(PercentEncoding.encode).joined(separator: "/")
        if !call.query.isEmpty { uri += "?" + PercentEncoding.query(call.query) }
        var headers: HTTPFields = [.authorization: "Bearer \(token)", .accept: "application/json"]
        headers[.ifMatch] = call.tag.map { $0 == "*" ? "*" : "\"\($0)\"" }
        var content = ByteBuffer()
        if let body = call.body {
            let isPatch = call.method == .patch
            headers[.contentType] = isPatch ? "application/merge-patch+json" : "application/json"
            var writer = JSONWriter(capacity: 1024)
            writer.value(body)
            content.writeBytes(writer.bytes)
        }
        headers[.contentLength] = String(content.readableBytes)
        let request = Request(
            head: HTTPRequest(method: call.method, scheme: nil, authority: nil, path: uri, headerFields: headers),
            body: RequestBody(buffer: content)
        )
        let response = try await responder.respond(to: request, context: context)
        let collector = AnswerBody(limit: Self.maxBytes)
        try await response.body.write(collector)
        let bytes = Array(collector.bytes.readableBytesView)
        return Answer(
            status: response.status,
            body: bytes.isEmpty ? nil : try? JSONParser.parse(bytes, limits: .stored),
            tag: response.headers[.eTag].map { $0.filter { $0 != "\"" } },
            retryAfter: response.headers[.retryAfter]
        )
    }
}

/// A writer that collects the body of a response, up to a limit.
private final class AnswerBody: ResponseBodyWriter {
    private(set) var bytes = ByteBuffer()
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    func write(_ buffer: ByteBuffer) async throws {
        guard bytes.readableBytes + buffer.readableBytes <= limit else {
            throw Failure(.payloadTooLarge, "This is too large to show here.")
        }
        bytes.writeImmutableBuffer(buffer)
    }

    func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
