package import Curl
import Upstream

/// Where Twitter is, and how long we wait for it.
package struct TwitterConfiguration: Sendable {
    /// Scheme, host and port; the host is a part of what is signed.
    let base: HTTPURL
    /// A path in front of Twitter's own ones if the base URL has one, without a slash at its end.
    let basePath: String
    /// Whether Twitter is reached by TLS; everything but a loopback address is.
    package var usesTLS: Bool { base.origin.hasPrefix("https:") }
    /// Limit of one call, from name resolution to the last byte.
    package let callTimeout: Duration
    /// Limit of connecting and the TLS handshake.
    package let connectTimeout: Duration
    /// Most bytes of a reply, decoded.
    package let maxReplyBytes: Int

    /// Where Twitter is, unless somebody says otherwise, and the waits of decisions D8 and D9.
    package enum Default {
        package static let baseURL = "https://api.twitter.com"
        package static let callMilliseconds = 2500
        package static let connectMilliseconds = 1000
    }

    /// Makes a configuration.
    ///
    /// - Parameters:
    ///   - baseURL: Twitter itself; plain `http` is for loopback addresses. No query. `https://api.twitter.com` and
    ///     `https://api.x.com` give different signatures.
    ///   - callTimeout: Limit of one call.
    ///   - connectTimeout: Limit of connecting.
    ///   - maxReplyBytes: Most bytes of a decoded reply.
    /// - Throws: `CurlError.invalidRequest` when the URL cannot be called.
    package init(
        baseURL: String = Default.baseURL,
        callTimeout: Duration = .milliseconds(Default.callMilliseconds),
        connectTimeout: Duration = .milliseconds(Default.connectMilliseconds),
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

extension TwitterConfiguration {
    /// Reads where Twitter is; nil after noting what is wrong.
    init?(_ settings: inout some UpstreamSettings) {
        let url = settings.upstream("twitter.url", default: TwitterConfiguration.Default.baseURL)
        let call = settings.milliseconds("twitter.call", default: TwitterConfiguration.Default.callMilliseconds)
        let connect = settings.milliseconds(
            "twitter.connect",
            default: TwitterConfiguration.Default.connectMilliseconds
        )
        guard let url else { return nil }
        do { try self.init(baseURL: url, callTimeout: call, connectTimeout: connect) } catch {
            settings.problem("twitter.url", "cannot be used: \(error)")
            return nil
        }
    }
}
