package import Curl

/// Where Graph is, and how long we wait for it.
package struct GraphConfiguration: Sendable {
    /// Scheme, host and port, and a path in front of Graph's own ones if the base URL has one.
    let base: HTTPURL
    /// That path, without a slash at its end.
    let basePath: String
    /// Whether Graph is reached by TLS; everything but a loopback address is.
    package var usesTLS: Bool { base.origin.hasPrefix("https:") }
    /// Limit of one call, from name resolution to the last byte.
    package let callTimeout: Duration
    /// Limit of connecting and the TLS handshake.
    package let connectTimeout: Duration
    /// Most bytes of a reply, decoded.
    package let maxReplyBytes: Int

    /// Makes a configuration; the defaults are those of decisions D8 and D9.
    ///
    /// - Parameters:
    ///   - baseURL: `https://graph.facebook.com`; plain `http` is for loopback addresses. No query.
    ///   - callTimeout: Limit of one call.
    ///   - connectTimeout: Limit of connecting.
    ///   - maxReplyBytes: Most bytes of a decoded reply.
    /// - Throws: `CurlError.invalidRequest` when the URL cannot be called.
    package init(
        baseURL: String = "https://graph.facebook.com",
        callTimeout: Duration = .milliseconds(2500),
        connectTimeout: Duration = .seconds(1),
        maxReplyBytes: Int = 262_144
    ) throws(CurlError) {
        guard !baseURL.utf8.contains(UInt8(ascii: "?")) else { throw .invalidRequest(.malformedURL) }
        guard callTimeout > .zero, connectTimeout > .zero, maxReplyBytes > 0 else {
            throw .invalidRequest(.limitNotPositive)
        }
        base = try HTTPURL(baseURL)
        var path = base.path[...]
        while path.utf8.last == UInt8(ascii: "/") { path.removeLast() }
        basePath = String(path)
        self.callTimeout = callTimeout
        self.connectTimeout = connectTimeout
        self.maxReplyBytes = maxReplyBytes
    }
}
