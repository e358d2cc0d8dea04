package import Curl
import Providers

/// The address of Twitter's API, and the timeouts of its calls.
package struct TwitterConfiguration: Sendable {
    /// Scheme, host and port; the host is part of the signed text.
    let base: HTTPURL
    /// The path in front of Twitter's paths if the base URL has one, without a slash at its end.
    let basePath: String
    /// Whether Twitter is reached by TLS, as everything but a loopback address is.
    package var usesTLS: Bool { base.origin.hasPrefix("https:") }
    /// The timeout of one call, from name resolution to the last byte.
    package let callTimeout: Duration
    /// The timeout of connecting, with the TLS handshake.
    package let connectTimeout: Duration
    /// The largest size of a decoded response in bytes.
    package let maxReplyBytes: Int

    /// The default address of Twitter, and the timeouts of decisions D8 and D9.
    package enum Default {
        package static let baseURL = "https://api.twitter.com"
        package static let callMilliseconds = 2500
        package static let connectMilliseconds = 1000
    }

    /// Creates a configuration.
    ///
    /// - Parameters:
    ///   - baseURL: Twitter's API; plain `http` is for loopback addresses. No query. `https://api.twitter.com` and
    ///     `https://api.x.com` give different signatures.
    ///   - callTimeout: The timeout of one call.
    ///   - connectTimeout: The timeout of connecting.
    ///   - maxReplyBytes: The largest size of a decoded response in bytes.
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

/// The environment variables for Twitter.
enum TwitterVariables {
    typealias Default = TwitterConfiguration.Default

    static let url = Variable.url(
        "twitter.url",
        standard: Default.baseURL,
        """
        Twitter's API, or a simulator of it; no query. The host is a part of what is signed, so name the one that your \
        app is registered with: `https://api.x.com` gives other signatures
        """
    )
    static let connect = Variable.milliseconds(
        "twitter.connect",
        standard: Default.connectMilliseconds,
        "connecting to Twitter: address, TCP and TLS"
    )
    static let call = Variable.milliseconds(
        "twitter.call",
        standard: Default.callMilliseconds,
        "one call of Twitter, from the address to the last byte"
    )

    static let all: [any DeclaredVariable] = [url, connect, call]
}

extension TwitterConfiguration {
    /// Reads the configuration from the environment; nil after noting what is wrong.
    init?(_ settings: inout some UpstreamSettings) {
        do {
            try self.init(
                baseURL: settings.value(TwitterVariables.url),
                callTimeout: settings.value(TwitterVariables.call),
                connectTimeout: settings.value(TwitterVariables.connect)
            )
        } catch {
            settings.problem(TwitterVariables.url, "cannot be used: \(error)")
            return nil
        }
    }
}
