package import Curl
import Providers

/// The URL of Twitter's API, and the timeouts of requests to it.
package struct TwitterConfiguration: Sendable {
    /// The scheme, host and port of Twitter's API.
    ///
    /// The OAuth signature of a request covers them.
    let base: HTTPURL
    /// The path of the base URL, without a final slash.
    ///
    /// It precedes Twitter's own paths.
    let basePath: String
    /// Whether Twitter is reached by TLS.
    ///
    /// Only a loopback address may lack TLS.
    package var usesTLS: Bool { base.origin.hasPrefix("https:") }
    /// The timeout of one call, from name resolution to the last byte.
    package let callTimeout: Duration
    /// The timeout for connecting, including the TLS handshake.
    package let connectTimeout: Duration
    /// The maximum size of a decoded response in bytes.
    package let maxReplyBytes: Int

    /// The default URL of Twitter's API, and the default timeouts (decisions D8 and D9).
    package enum Default {
        package static let baseURL = "https://api.twitter.com"
        package static let callMilliseconds = 2500
        package static let connectMilliseconds = 1000
    }

    /// Creates a configuration.
    ///
    /// - Parameters:
    ///   - baseURL: The URL of Twitter's API, without a query. Plain `http` is allowed for loopback addresses only.
    ///     Requests to `https://api.twitter.com` and to `https://api.x.com` have different signatures.
    ///   - callTimeout: The timeout of one call.
    ///   - connectTimeout: The timeout for connecting.
    ///   - maxReplyBytes: The maximum size of a decoded response in bytes.
    /// - Throws: `CurlError.invalidRequest` if no request can be sent to the URL.
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
        The base URL of Twitter's API, or of a simulator. No query. The host is part of the signature, so use the host \
        that your app is registered with: `https://api.x.com` gives other signatures.
        """
    )
    static let connect = Variable.milliseconds(
        "twitter.connect",
        standard: Default.connectMilliseconds,
        "Timeout of a connection to Twitter: address lookup, TCP and TLS."
    )
    static let call = Variable.milliseconds(
        "twitter.call",
        standard: Default.callMilliseconds,
        "Timeout of one request to Twitter, from the address lookup to the last byte."
    )

    static let all: [any DeclaredVariable] = [url, connect, call]
}

extension TwitterConfiguration {
    /// Reads the configuration for Twitter from the environment variables.
    ///
    /// If a variable is invalid, the initializer records the problem and returns nil.
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
