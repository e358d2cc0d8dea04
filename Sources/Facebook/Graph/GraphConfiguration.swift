package import Curl
import Upstream

/// Where Facebook is, and how long we wait for it.
package struct GraphConfiguration: Sendable {
    /// Scheme, host and port, and a path in front of Graph's own ones if the base URL has one.
    let base: HTTPURL
    /// That path, without a slash at its end.
    let basePath: String
    /// Whether Graph is reached by TLS; everything but a loopback address is.
    package var usesTLS: Bool { base.origin.hasPrefix("https:") }
    /// Where the keys are published that ID tokens are signed with.
    let keysURL: HTTPURL
    /// What ID tokens may name as their issuer, compared as bytes.
    package let issuers: [String]
    /// Scheme and host of the login dialog, which a browser opens.
    let dialogBase: String
    /// Scheme, host and port of what serves Limited Login.
    let limitedBase: HTTPURL
    /// Limit of one call, from name resolution to the last byte.
    package let callTimeout: Duration
    /// Limit of connecting and the TLS handshake.
    package let connectTimeout: Duration
    /// Most bytes of a reply, decoded.
    package let maxReplyBytes: Int

    /// Where Facebook is, unless somebody says otherwise, and the waits of decisions D8 and D9.
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

    /// Makes a configuration.
    ///
    /// - Parameters:
    ///   - baseURL: Graph itself; plain `http` is for loopback addresses. No query.
    ///   - keysURL: The JWKS document.
    ///   - issuers: The exact texts of `iss` that are taken.
    ///   - dialogURL: Where the login dialog is.
    ///   - limitedURL: Where Limited Login is given up.
    ///   - callTimeout: Limit of one call.
    ///   - connectTimeout: Limit of connecting.
    ///   - maxReplyBytes: Most bytes of a decoded reply.
    /// - Throws: `CurlError.invalidRequest` when the URL cannot be called.
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

extension GraphConfiguration {
    /// Reads where Facebook is; nil after noting what is wrong.
    init?(_ settings: inout some UpstreamSettings) {
        let graph = settings.upstream("graph.url", default: GraphConfiguration.Default.baseURL)
        let keys = settings.upstream("facebook.jwks.url", default: GraphConfiguration.Default.keysURL)
        let dialog = settings.upstream("facebook.dialog.url", default: GraphConfiguration.Default.dialogURL)
        let limited = settings.upstream("facebook.limited.url", default: GraphConfiguration.Default.limitedURL)
        let issuers = Self.issuers(&settings)
        let call = settings.milliseconds("graph.call", default: GraphConfiguration.Default.callMilliseconds)
        let connect = settings.milliseconds("graph.connect", default: GraphConfiguration.Default.connectMilliseconds)
        guard let graph, let keys, let dialog, let limited else { return nil }
        do {
            try self.init(
                baseURL: graph,
                keysURL: keys,
                issuers: issuers,
                dialogURL: dialog,
                limitedURL: limited,
                callTimeout: call,
                connectTimeout: connect
            )
        } catch {
            settings.problem("graph.url", "cannot be used: \(error)")
            return nil
        }
    }

    /// The issuers of ID tokens, separated by commas.
    private static func issuers(_ settings: inout some UpstreamSettings) -> [String] {
        let text = settings.text("facebook.issuers") ?? GraphConfiguration.Default.issuers.joined(separator: ",")
        let issuers = text.split(separator: ",").map { $0.trimmingPrefix(while: \.isWhitespace) }.map(String.init)
        if issuers.isEmpty || !issuers.allSatisfy({ $0.utf8.starts(with: "https://".utf8) }) {
            settings.problem("facebook.issuers", "must be a list of https URLs with commas between them")
        }
        return issuers
    }
}
