import NIOCore
import NIOHTTP1

/// Handles `POST /` with the parameter `batch`, which contains several requests.
///
/// The response contains the response to each of these requests, in the same order.
extension World {
    private static let maximumBatch = 50

    mutating func batch(_ text: String, of request: GraphRequest, now: Int) throws(GraphError) -> GraphReply {
        if request.isPartOfBatch { throw GraphError(code: 100, message: "(#100) A batch holds no other batch.") }
        guard let operations = try? JSON(parsing: text.utf8).array else {
            throw GraphError(code: 100, message: "(#100) param batch must be an array.")
        }
        guard operations.count <= Self.maximumBatch else { throw .batchTooLarge(maximum: Self.maximumBatch) }
        // Graph requires a token here even if each operation has its own.
        guard let token = request.accessToken, !token.isEmpty else { throw .tokenRequired }
        let hasHeaders = request.parameter("include_headers").map { !["false", "0"].contains($0.prefix(6)) } ?? true
        var replies: [JSON] = []
        for (index, json) in operations.enumerated() {
            let operation: BatchOperation
            do {
                operation = try BatchOperation(json: json, path: "batch[\(index)]")
            } catch {
                throw GraphError(code: 100, message: "(#100) \(error)")
            }
            replies.append(answer(operation, of: request, hasHeaders: hasHeaders, now: now))
        }
        return GraphReply(.array(replies))
    }

    private mutating func answer(
        _ operation: BatchOperation,
        of batch: GraphRequest,
        hasHeaders: Bool,
        now: Int
    ) -> JSON {
        var request = GraphRequest(head: operation.head, body: operation.body)
        request.become(operationOf: batch)
        var reply = answer(request, now: now, trace: "A" + TokenText.trace(count: 22, using: &generator))
        let body = reply.render(for: operation.head.headers)
        if operation.omitsSuccess, reply.status < 400 { return .null }
        var element: JSON = ["code": .integer(reply.status)]
        if hasHeaders {
            element["headers"] = .array(reply.headersInBatch.map { ["name": "\($0.name)", "value": "\($0.value)"] })
        }
        element["body"] = reply.status == 304 ? .null : .string(String(decoding: body, as: UTF8.self))
        return element
    }
}

/// One of the requests in a batch request.
private struct BatchOperation {
    let head: HTTPRequestHead
    let body: ByteBufferView?
    /// Whether the batch response contains `null` in place of the response to this request, if the request succeeds.
    ///
    /// The member `omit_response_on_success` of the request decides this.
    let omitsSuccess: Bool

    /// Reads one of the requests in a batch request from its JSON object.
    ///
    /// - Throws: ``DataError`` for a missing or wrong member, and for a feature of Graph's batches that is not
    ///   simulated.
    init(json: JSON, path: String) throws(DataError) {
        var reader = try JSONReader(json, path: path)
        let method = try reader.requiredString("method").uppercased()
        guard let url = try reader.string("relative_url") else { throw reader.failure("relative_url", "is missing") }
        let body = try reader.string("body")
        // SDKs put a number into `name` for each operation of a list.
        _ = try reader.read("name", "a string or a number") { $0.string ?? $0.integer.map(String.init) }
        omitsSuccess = try reader.bool("omit_response_on_success") ?? false
        var headers = HTTPHeaders()
        for entry in try reader.read("headers", "a list", { $0.array }) ?? [] {
            guard let header = Self.header(entry) else {
                throw reader.failure("headers", #"expected {"name": …, "value": …} or "name: value""#)
            }
            headers.add(name: header.name, value: header.value)
        }
        try reader.finish()
        for (name, text) in [("relative_url", url), ("body", body ?? "")] where text.contains("{result=") {
            throw reader.failure(name, "references to another operation's result are not simulated")
        }
        head = HTTPRequestHead(
            version: .http1_1,
            method: HTTPMethod(rawValue: method),
            uri: url.hasPrefix("/") ? url : "/" + url,
            headers: headers
        )
        self.body = body.map { ByteBuffer(string: $0).readableBytesView }
    }

    private static func header(_ entry: JSON) -> (name: String, value: String)? {
        if let line = entry.string, let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) {
            return (String(line[..<colon]), String(line[line.utf8.index(after: colon)...].drop { $0 == " " }))
        }
        guard let name = entry["name"]?.string, let value = entry["value"]?.string else { return nil }
        return (name, value)
    }
}

extension GraphReply {
    /// The headers of this response in the form in which a batch response contains them.
    ///
    /// Names and values follow batch responses that were captured from Facebook. There, the content type differs from
    /// that of a response outside a batch.
    fileprivate var headersInBatch: [(name: String, value: String)] {
        var all = headers
        all.append(("Access-Control-Allow-Origin", "*"))
        all.append(("Expires", "Sat, 01 Jan 2000 00:00:00 GMT"))
        if let version { all.append(("Facebook-API-Version", version.description)) }
        if case .json = body { all.append(("Content-Type", "text/javascript; charset=UTF-8")) }
        if let usage { all.append(("X-App-Usage", usage.json.plainText)) }
        all.append(("Cache-Control", cacheControl))
        all.append(("Vary", "Accept-Encoding"))
        all.append(("Pragma", "no-cache"))
        return all
    }
}

extension GraphError {
    /// Returns the error for a batch with more than the maximum number of requests.
    ///
    /// Errors about a whole batch have no code.
    fileprivate static func batchTooLarge(maximum: Int) -> GraphError {
        GraphError(
            code: 0,
            message: "Too many requests in batch message. Maximum batch size is \(maximum)",
            type: batchException
        )
    }
}
