/// An HTTP request whose parts were checked when it was created, so that none of them can inject a header or a request.
package struct HTTPRequest: Sendable {
    package enum Method: Sendable {
        case get, post, delete
    }

    /// The maximum total size of the header lines, in bytes.
    package static let maxHeaderBytes = 32768

    package let method: Method
    package let url: HTTPURL
    package let body: [UInt8]?
    package let timeout: Duration
    package let connectTimeout: Duration
    package let maxReplyBytes: Int
    package let reusesConnection: Bool
    /// Whether the call fails unless the host's address is one of the public internet.
    package let isPublicOnly: Bool

    /// The headers in libcurl's notation, in which `name;` stands for an empty value.
    let headerLines: [String]

    /// Checks the parts of a request and creates it.
    ///
    /// - Parameters:
    ///   - method: `get` has no body. `post` without a body sends an empty body.
    ///   - url: The URL to call.
    ///   - headers: Names are HTTP tokens, values printable ASCII. Headers that frame or route the message (`Host`,
    ///     `Content-Length`, `Transfer-Encoding`, `Connection`, …) are set by the client, and are refused here.
    ///   - body: The bytes of the body; its type is `application/x-www-form-urlencoded` unless a header names another.
    ///   - timeout: The time limit of the whole call, from name resolution to the last byte.
    ///   - connectTimeout: The time limit for waiting for a connection, resolving, connecting and the TLS handshake.
    ///   - maxReplyBytes: The maximum size of the decoded body of the response, in bytes.
    ///   - reusesConnection: If false, the call gets a new connection. libcurl then has no reason to repeat the
    ///     request, so the server gets the request at most once.
    ///   - isPublicOnly: Whether the call fails unless the host's address is one of the public internet. The address is
    ///     checked when the connection is opened, so the call needs a new one: pass false for `reusesConnection`.
    /// - Throws: `CurlError.invalidRequest`.
    package init(
        method: Method = .get,
        url: HTTPURL,
        headers: [(name: String, value: String)] = [],
        body: [UInt8]? = nil,
        timeout: Duration,
        connectTimeout: Duration,
        maxReplyBytes: Int,
        reusesConnection: Bool = true,
        isPublicOnly: Bool = false
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
        self.reusesConnection = reusesConnection && !isPublicOnly
        self.isPublicOnly = isPublicOnly
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
