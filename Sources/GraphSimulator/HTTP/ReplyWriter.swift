import NIOCore
import NIOHTTP1

/// Writes replies as HTTP/1.1.
///
/// One instance per event loop, since it keeps the compressor and the date.
final class ReplyWriter {
    /// How long the body will be.
    enum Length {
        case known(Int)
        case chunked
    }

    private let gzip = Gzip()
    private var generator = SplitMix64(seed: .random(in: .min ... .max))
    private var date = (second: 0, text: "")

    /// The headers that no reply of Graph lacks, as one piece.
    private static let common: StaticString = """
        Strict-Transport-Security: max-age=15552000; preload\r
        Pragma: no-cache\r
        Expires: Sat, 01 Jan 2000 00:00:00 GMT\r
        Access-Control-Allow-Origin: *\r
        x-fb-rev: 1031142218\r
        Vary: Accept-Encoding\r
        Alt-Svc: h3=":443"; ma=86400\r

        """

    /// A fresh `fbtrace_id`: 23 characters beginning with `A`.
    func trace() -> String {
        "A" + TokenText.trace(count: 22, using: &generator)
    }

    /// A complete reply: conditional, compressed when asked, without body for HEAD.
    /// - Parameters:
    ///   - reply: What to send.
    ///   - text: What to send in place of the text of a JSON body.
    ///   - head: The request that it answers.
    ///   - now: The second for the date.
    /// - Returns: The bytes and where in them the body begins.
    func write(
        _ reply: GraphReply,
        text: [UInt8]? = nil,
        to head: HTTPRequestHead,
        now: Int
    ) -> (bytes: ByteBuffer, bodyIndex: Int) {
        var reply = reply
        var body = reply.render(text: text, for: head.headers)
        if case .json = reply.body, !body.isEmpty, Self.acceptsGzip(head) {
            body = gzip.compress(body)
            reply.headers.append(("Content-Encoding", "gzip"))
        }
        var buffer = ByteBufferAllocator().buffer(capacity: 1024 + body.count)
        writeHead(of: reply, length: .known(body.count), to: head, now: now, into: &buffer)
        let index = buffer.writerIndex
        if head.method != .HEAD { buffer.writeBytes(body) }
        return (buffer, index)
    }

    /// Status line and headers up to the empty line.
    func writeHead(
        of reply: GraphReply,
        length: Length,
        to head: HTTPRequestHead,
        now: Int,
        into buffer: inout ByteBuffer
    ) {
        let status = HTTPResponseStatus(statusCode: reply.status)
        buffer.writeString("HTTP/1.1 \(reply.status) \(status.reasonPhrase)\r\n")
        for header in reply.headers { Self.write(header.name, header.value, into: &buffer) }
        if case .json = reply.body { buffer.writeStaticString("Content-Type: application/json; charset=UTF-8\r\n") }
        if !reply.isWebsite, !reply.isTwitter { writeGraphHeaders(of: reply, into: &buffer) }
        Self.write("Cache-Control", reply.cacheControl, into: &buffer)
        if date.second != now { date = (now, CalendarText.http(now)) }
        Self.write("Date", date.text, into: &buffer)
        switch length {
        case .known where reply.status == 304: break
        case .known(let count): Self.write("Content-Length", String(count), into: &buffer)
        case .chunked: buffer.writeStaticString("Transfer-Encoding: chunked\r\n")
        }
        buffer.writeStaticString(
            head.leavesOpen ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n"
        )
    }

    private func writeGraphHeaders(of reply: GraphReply, into buffer: inout ByteBuffer) {
        if let usage = reply.usage {
            Self.write("x-app-usage", String(decoding: usage.json.plainBytes, as: UTF8.self), into: &buffer)
        }
        if let version = reply.version { Self.write("facebook-api-version", version.description, into: &buffer) }
        buffer.writeStaticString(Self.common)
        let trace = TokenText.trace(count: 11 + 22, using: &generator)
        Self.write("x-fb-trace-id", trace.prefix(11), into: &buffer)
        Self.write("x-fb-request-id", "A" + trace.suffix(22), into: &buffer)
        Self.write("X-FB-Debug", TokenText.alphanumeric(count: 86, using: &generator) + "==", into: &buffer)
    }

    /// The pieces of a gzip bomb, see ``Gzip/bomb(bytes:)``.
    func bomb(bytes: Int) -> (first: [UInt8], block: [UInt8], count: Int, last: [UInt8]) {
        gzip.bomb(bytes: bytes)
    }

    private static func write(_ name: String, _ value: some StringProtocol, into buffer: inout ByteBuffer) {
        buffer.writeString(name)
        buffer.writeStaticString(": ")
        buffer.writeSubstring(Substring(value))
        buffer.writeStaticString("\r\n")
    }

    /// Whether the client names gzip, and not with the weight 0 that refuses it; `*` names nothing.
    private static func acceptsGzip(_ head: HTTPRequestHead) -> Bool {
        head.headers[canonicalForm: "accept-encoding"].contains { coding in
            let parts = coding.lowercased().split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
            guard parts.first == "gzip" else { return false }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }
            return weight?.contains { ("1"..."9").contains($0) } ?? true
        }
    }
}

extension HTTPRequestHead {
    /// Whether the connection serves another request after this one.
    ///
    /// Behind a wish for another protocol, which nobody here grants, the parser reads no more: the JDK's client has
    /// that wish in each request without TLS (`Upgrade: h2c`).
    var leavesOpen: Bool {
        isKeepAlive && !headers.contains(name: "upgrade") && method != .CONNECT
    }
}
