/// An HTTP request, checked on creation for everything that could change the meaning of the bytes on the wire.
package struct HTTPRequest: Sendable {
    package enum Method: Sendable {
        case get, post, delete
    }

    /// The most bytes of all header lines together.
    package static let maxHeaderBytes = 32768

    package let method: Method
    package let url: HTTPURL
    package let body: [UInt8]?
    package let timeout: Duration
    package let connectTimeout: Duration
    package let maxReplyBytes: Int
    package let reusesConnection: Bool

    /// The headers in libcurl's notation, in which `name;` stands for an empty value.
    let headerLines: [String]

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - method: `get` has no body. `post` without a body sends an empty body.
    ///   - url: The URL to call.
    ///   - headers: Names are HTTP tokens, values printable ASCII. Headers that frame or route the message (`Host`,
    ///     `Content-Length`, `Transfer-Encoding`, `Connection`, …) belong to the client and are refused.
    ///   - body: The bytes of the body; its type is `application/x-www-form-urlencoded` unless a header names another.
    ///   - timeout: Limit of the whole call, from name resolution to the last byte.
    ///   - connectTimeout: Limit for waiting for a connection, resolving, connecting and the TLS handshake.
    ///   - maxReplyBytes: The most bytes of the decoded body.
    ///   - reusesConnection: If false, the call gets a new connection. libcurl then has no reason to repeat the
    ///     request, so the server gets the request at most once.
    /// - Throws: `CurlError.invalidRequest`.
    package init(
        method: Method = .get,
        url: HTTPURL,
        headers: [(name: String, value: String)] = [],
        body: [UInt8]? = nil,
        timeout: Duration,
        connectTimeout: Duration,
        maxReplyBytes: Int,
        reusesConnection: Bool = true
    ) throws(CurlError) {
        guard method != .get || body == nil else { throw .invalidRequest(.bodyNotAllowed) }
        guard timeout > .zero, connectTimeout > .zero, maxReplyBytes > 0 else {
            throw .invalidRequest(.limitNotPositive)
        }
        self.method = method
        self.url = url
        self.body = body
        self.timeout = timeout
        self.connectTimeout = connectTimeout
        self.maxReplyBytes = maxReplyBytes
        self.reusesConnection = reusesConnection
        headerLines = try Self.lines(of: headers)
    }

    private static func lines(of headers: [(name: String, value: String)]) throws(CurlError) -> [String] {
        var lines: [String] = []
        lines.reserveCapacity(headers.count)
        var bytes = 0
        for (name, value) in headers {
            guard name.utf8.count + value.utf8.count <= maxHeaderBytes - bytes else {
                throw .invalidRequest(.headersTooLarge)
            }
            bytes += name.utf8.count + value.utf8.count
            guard HeaderSyntax.isToken(name), !HeaderSyntax.isOfTheClient(name) else {
                throw .invalidRequest(.headerName)
            }
            guard HeaderSyntax.isValue(value) else { throw .invalidRequest(.headerValue) }
            lines.append(value.utf8.isEmpty ? name + ";" : name + ": " + value)
        }
        return lines
    }
}

extension HTTPRequest: CustomStringConvertible, CustomReflectable {
    /// Method, scheme, host and port, and no other part of the request.
    package var description: String { "\(method) \(url)" }

    package var customMirror: Mirror { Mirror(self, children: ["method": method, "url": url]) }
}
