import NIOCore
import NIOHTTP1

/// A writer of the heads and bodies of responses.
///
/// Each event loop has one instance. It keeps the compressor and the formatted date.
final class ReplyWriter {
    let gzip = Gzip()
    private var generator = SplitMix64(seed: .random(in: .min ... .max))
    private var date = (second: 0, text: "")

    /// The headers of every response of Graph.
    private static let common: HTTPHeaders = [
        "Strict-Transport-Security": "max-age=15552000; preload", "Pragma": "no-cache",
        "Expires": "Sat, 01 Jan 2000 00:00:00 GMT", "Access-Control-Allow-Origin": "*", "x-fb-rev": "1031142218",
        "Vary": "Accept-Encoding", "Alt-Svc": #"h3=":443"; ma=86400"#,
    ]

    /// Returns a new `fbtrace_id`: 23 characters beginning with `A`.
    func trace() -> String {
        "A" + TokenText.trace(count: 22, using: &generator)
    }

    /// Returns the body of a response as it is sent, and adds the headers that the body needs.
    ///
    /// The body is compressed if the client accepts compression. If the client already has this body, the response
    /// becomes a 304 without a body.
    func render(_ reply: inout GraphReply, text: [UInt8]?, for request: HTTPRequestHead) -> [UInt8] {
        let body = reply.render(text: text, for: request.headers)
        guard case .json = reply.body, !body.isEmpty, Self.acceptsGzip(request) else { return body }
        reply.headers.append(("Content-Encoding", "gzip"))
        return gzip.compress(body)
    }

    /// Returns the status and the headers of a response.
    ///
    /// `length` is the size of the body in bytes; `nil` for a chunked body.
    func head(of reply: GraphReply, length: Int?, to request: HTTPRequestHead, now: Int) -> HTTPResponseHead {
        var headers = HTTPHeaders()
        headers.reserveCapacity(24)
        headers.add(contentsOf: reply.headers)
        if case .json = reply.body { headers.add(name: "Content-Type", value: "application/json; charset=UTF-8") }
        if reply.origin == .graph { addGraphHeaders(of: reply, to: &headers) }
        headers.add(name: "Cache-Control", value: reply.cacheControl)
        if date.second != now { date = (now, CalendarText.http(now)) }
        headers.add(name: "Date", value: date.text)
        if let length { headers.add(name: "Content-Length", value: String(length)) }
        headers.add(name: "Connection", value: request.leavesOpen ? "keep-alive" : "close")
        return HTTPResponseHead(version: .http1_1, status: .init(statusCode: reply.status), headers: headers)
    }

    private func addGraphHeaders(of reply: GraphReply, to headers: inout HTTPHeaders) {
        if let usage = reply.usage { headers.add(name: "x-app-usage", value: usage.json.plainText) }
        if let version = reply.version { headers.add(name: "facebook-api-version", value: version.description) }
        headers.add(contentsOf: Self.common)
        let trace = TokenText.trace(count: 11 + 22, using: &generator)
        headers.add(name: "x-fb-trace-id", value: String(trace.prefix(11)))
        headers.add(name: "x-fb-request-id", value: "A" + trace.suffix(22))
        headers.add(name: "X-FB-Debug", value: TokenText.alphanumeric(count: 86, using: &generator) + "==")
    }

    /// Whether the header `Accept-Encoding` contains `gzip` with a weight other than 0.
    ///
    /// A wildcard (`*`) in the header does not count as `gzip`.
    private static func acceptsGzip(_ head: HTTPRequestHead) -> Bool {
        head.headers[canonicalForm: "accept-encoding"].contains { coding in
            let parts = coding.lowercased().split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
            guard parts.first == "gzip" else { return false }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }
            return weight?.contains { ("1"..."9").contains($0) } ?? true
        }
    }
}
