package import HTTPTypes
import Hummingbird
import NIOCore
package import Vocabulary

/// The routes of the administration for who is in the same process: a call passes the same gate, roles, second factors
/// and audit log as one over the network, and gets the same answer.
package struct AdministrationCalls: Sendable {
    private let responder: RouterResponder<ManagementContext>

    /// Bytes of an answer that is read at most.
    private static let mostBytes = 8_388_608

    init(_ router: Router<ManagementContext>) {
        responder = router.buildResponder()
    }

    /// A call.
    package struct Call: Sendable {
        package var method: HTTPRequest.Method
        /// Segments behind `/admin/v1/`, not encoded.
        package var path: [String]
        package var query: [(name: String, value: String)]
        package var body: JSONValue?
        /// The tag that the resource must have; `*` overwrites whatever is there.
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

    /// What a call is answered.
    package struct Answer: Sendable {
        package let status: HTTPResponse.Status
        /// Nil where there is none.
        package let body: JSONValue?
        /// The tag of the resource, without its quotes.
        package let tag: String?
        /// Seconds after which a refused call may be repeated.
        package let retryAfter: String?
    }

    /// Makes a call as the operator of a token.
    ///
    /// - Parameters:
    ///   - call: What is called.
    ///   - token: The text of the token.
    ///   - context: That of the request for which it is made: its source and its id are those of the call.
    /// - Returns: The answer, of a refusal as well.
    /// - Throws: What the connection of the request may.
    package func send(_ call: Call, as token: String, context: ManagementContext) async throws -> Answer {
        var context = context
        context.waitsForPlace = true
        context.coreContext = CoreRequestContextStorage(source: context)
        var uri = AdministrationRoute.base + call.path.map(PercentEncoding.encode).joined(separator: "/")
        let pairs = call.query.map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }
        if !pairs.isEmpty { uri += "?" + pairs.joined(separator: "&") }
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
        let collector = AnswerBody(limit: Self.mostBytes)
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

/// Gathers the body of a response up to a limit.
private final class AnswerBody: ResponseBodyWriter {
    private(set) var bytes = ByteBuffer()
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    func write(_ buffer: ByteBuffer) async throws {
        guard bytes.readableBytes + buffer.readableBytes <= limit else {
            throw Failure(.payloadTooLarge, "This is larger than can be shown here.")
        }
        bytes.writeImmutableBuffer(buffer)
    }

    func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
