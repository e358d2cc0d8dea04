package import Curl
import Providers

/// The URLs of Facebook's servers, and the timeouts of requests to them.
package struct GraphConfiguration: Sendable {
    /// The scheme, host and port of Graph, and the path of the base URL.
    let base: HTTPURL
    /// The path of the base URL, without a final slash.
    ///
    /// It precedes Graph's own paths.
    let basePath: String
    /// Whether Graph is reached by TLS.
    ///
    /// Only a loopback address may lack TLS.
    package var usesTLS: Bool { base.origin.hasPrefix("https:") }
    /// The URL of the key set (JWKS) with which the service verifies ID tokens.
    let keysURL: HTTPURL
    /// The accepted issuers of ID tokens, compared as bytes.
    package let issuers: [String]
    /// The scheme, host and port of the login dialog, which a browser opens.
    let dialogBase: String
    /// The scheme, host and port of the server for Limited Login.
    let limitedBase: HTTPURL
    /// The timeout of one call, from name resolution to the last byte.
    package let callTimeout: Duration
    /// The timeout for connecting, including the TLS handshake.
    package let connectTimeout: Duration
    /// The maximum size of a decoded response in bytes.
    package let maxReplyBytes: Int

    /// The default URLs of Facebook's servers, and the default timeouts (decisions D8 and D9).
    package enum Default {
        package static let baseURL = "https://graph.facebook.com"
        package static let keysURL = "https://limited.facebook.com/.well-known/oauth/openid/jwks/"
        package static let issuers = [
            "https://www.facebook.com", "https://facebook.com", "https://limited.facebook.com",
        ]
        package static let dialogURL = "https://www.facebook.com"
        package static let limitedURL = "https://www.limited.facebook.com"
        package static let callMilliseconds = 2500
        package static let connectMilliseconds = 1000
    }

    /// Creates a configuration.
    ///
    /// - Parameters:
    ///   - baseURL: The URL of the Graph API, without a query. Plain `http` is allowed for loopback addresses only.
    ///   - keysURL: The URL of the key set (JWKS).
    ///   - issuers: The accepted texts of `iss`.
    ///   - dialogURL: The URL of the login dialog. Only its scheme, host and port are used.
    ///   - limitedURL: The URL of the server that uninstalls Limited Login.
    ///   - callTimeout: The timeout of one call.
    ///   - connectTimeout: The timeout for connecting.
    ///   - maxReplyBytes: The maximum size of a decoded response in bytes.
    /// - Throws: `CurlError.invalidRequest` if no request can be sent to a URL.
    package init(
        baseURL: String = Default.baseURL,
        keysURL: String = Default.keysURL,
        issuers: [String] = Default.issuers,
        dialogURL: String = Default.dialogURL,
        limitedURL: String = Default.limitedURL,
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
        self.keysURL = try HTTPURL(keysURL)
        self.issuers = issuers
        dialogBase = try HTTPURL(dialogURL).origin
        limitedBase = try HTTPURL(limitedURL)
        self.callTimeout = callTimeout
        self.connectTimeout = connectTimeout
        self.maxReplyBytes = maxReplyBytes
    }
}

/// The environment variables for Facebook.
enum FacebookVariables {
    typealias Default = GraphConfiguration.Default

    static let graph = Variable.url(
        "graph.url",
        standard: Default.baseURL,
        "The base URL of the Graph API, or of a simulator. No query."
    )
    static let keys = Variable.url(
        "facebook.jwks.url",
        standard: Default.keysURL,
        """
        The key set for ID tokens of Limited Login. Redirects are not followed. While users log in with ID tokens, it \
        is fetched [every five minutes](security.md#id-tokens).
        """
    )
    static let issuers = Variable(
        "facebook.issuers",
        "list",
        standard: Default.issuers,
        text: Default.issuers.joined(separator: ","),
        "The accepted issuers (`iss`) of ID tokens, compared byte for byte."
    ) { text throws(WrongValue) in
        let issuers = text.split(separator: ",").map { $0.trimmingPrefix(while: \.isWhitespace) }.map(String.init)
        guard !issuers.isEmpty, issuers.allSatisfy({ $0.utf8.starts(with: "https://".utf8) }) else {
            throw WrongValue("must be a list of https URLs, separated by commas")
        }
        return issuers
    }
    static let dialog = Variable.url(
        "facebook.dialog.url",
        standard: Default.dialogURL,
        "The base URL of the login dialog, which a browser opens."
    )
    static let limited = Variable.url(
        "facebook.limited.url",
        standard: Default.limitedURL,
        "The base URL at which a Limited Login is revoked when its user is unlinked or erased."
    )
    static let connect = Variable.milliseconds(
        "graph.connect",
        standard: Default.connectMilliseconds,
        "Timeout of a connection to Graph: address lookup, TCP and TLS."
    )
    static let call = Variable.milliseconds(
        "graph.call",
        standard: Default.callMilliseconds,
        "Timeout of one request to Graph, from the address lookup to the last byte."
    )

    static let all: [any DeclaredVariable] = [graph, keys, issuers, dialog, limited, connect, call]
}

extension GraphConfiguration {
    /// Reads the configuration for Facebook from the environment variables.
    ///
    /// If a variable is invalid, the initializer records the problem and returns nil.
    init?(_ settings: inout some UpstreamSettings) {
        do {
            try self.init(
                baseURL: settings.value(FacebookVariables.graph),
                keysURL: settings.value(FacebookVariables.keys),
                issuers: settings.value(FacebookVariables.issuers),
                dialogURL: settings.value(FacebookVariables.dialog),
                limitedURL: settings.value(FacebookVariables.limited),
                callTimeout: settings.value(FacebookVariables.call),
                connectTimeout: settings.value(FacebookVariables.connect)
            )
        } catch {
            settings.problem(FacebookVariables.graph, "cannot be used: \(error)")
            return nil
        }
    }
}
