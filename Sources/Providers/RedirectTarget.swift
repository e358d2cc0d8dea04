package import Description
package import Domain
import Encodings

/// The rule for URLs to which a redirect may send secrets, such as an authorization code.
///
/// The URL is of a web page, or of an app with a URL scheme of its own.
package enum RedirectTarget {
    /// A list of redirect URIs of a provider's clients.
    package static func ofClients<Owner>(_ path: any WritableKeyPath<Owner, [String]> & Sendable) -> Field<Owner> {
        Field(
            "redirectUris",
            path,
            list,
            "Redirect URIs of clients",
            "Redirect URIs that are accepted with a client's authorization code. Compared byte for byte."
        )
    }

    /// A list of URLs to which a browser may return after the dialog of a provider.
    package static func afterLogin<Owner>(_ path: any WritableKeyPath<Owner, [String]> & Sendable) -> Field<Owner> {
        Field(
            "returnUrls",
            path,
            list,
            "Return URLs",
            """
            Where a browser may return after a login through the server. Compared byte for byte. The first one is the \
            default.
            """
        )
    }

    /// Checks the redirect URI of a client's authorization code against those that the operator has listed.
    ///
    /// - Throws: `credential_invalid`.
    package static func check(_ redirectURI: String, among listed: [String]) throws(Failure) {
        guard !listed.contains(where: { $0.hasSameBytes(as: redirectURI) }) else { return }
        throw Failure(
            .credentialInvalid,
            """
            redirectUri is not allowed for this application. It must match an allowed URI byte for byte. The operator \
            can add it to the option redirectUris of the provider.
            """
        )
    }

    /// The codec for a list of at most 20 redirect URLs.
    private static let list = Codec.list(of: .text(rule), max: 20)

    private static let rule = TextRule(
        "must be a complete URL, like https://app.example.com/done",
        schema: schema,
        example: "https://app.example.com/done",
        problem: problem
    )

    /// The rule for redirect URLs as JSON Schema; `problem(with:)` checks the same rule.
    ///
    /// It allows `https`, the URL scheme of an app, and `http` only for hosts that are the device itself.
    private static let schema: JSONObject = {
        let path = #"(?:[/?][A-Za-z0-9._~:/?\[\]@!$&'()*+,;=%-]*)?"#
        let port = "(?::[0-9]{1,5})?"
        let taken = "https?|about|blob|data|file|filesystem|ftp|intent|javascript|vbscript|view-source|wss?"
        let patterns = [
            #"^https://(?:[A-Za-z0-9._-]{1,253}|\[[A-Za-z0-9:.]{1,253}\])"# + port + path + "$",
            #"^http://(?:localhost|127\.0\.0\.1|\[::1\])"# + port + path + "$",
            #"^(?!(?:"# + taken + #"):)[a-z][a-z0-9+.-]{0,63}:"#
                + #"(?://[A-Za-z0-9._~:\[\]!$&'()*+,;=%-]*"# + path + #"|/(?!/)[A-Za-z0-9._~:/?\[\]@!$&'()*+,;=%-]*)$"#,
        ]
        return [
            "description": .string(
                "https://…, http:// for localhost only, or an app's own scheme. No fragment, no user name."
            ),
            "maxLength": .integer(Int64(maxBytes)),
            "pattern": .string(patterns.joined(separator: "|")),
        ]
    }()

    /// Returns a text for operators that says what is wrong with a URL; nil if the URL is valid.
    package static func problem(with text: String) -> String? {
        guard (1...maxBytes).contains(text.utf8.count), text.utf8.allSatisfy(isAllowed) else {
            return "must be a URL of at most \(maxBytes) bytes, in the characters of RFC 3986, without a fragment"
        }
        let bytes = text.utf8
        let scheme = bytes.prefix { $0 != UInt8(ascii: ":") }
        let rest = bytes.dropFirst(scheme.count + 1)
        guard isScheme(scheme), rest.first == UInt8(ascii: "/") else {
            return """
                must be a complete URL with its scheme in lower case, like https://app.example.com/done, \
                fb1234567890://authorize or com.example.app:/done
                """
        }
        let authority = rest.starts(with: "//".utf8) ? rest.dropFirst(2).prefix { !$0.isOne(of: "/?") } : nil
        guard authority?.contains(UInt8(ascii: "@")) != true else { return "must not contain a user name or password" }
        switch String(decoding: scheme, as: UTF8.self) {
        case "https":
            return authority.flatMap(host) == nil ? "must name a host, like https://app.example.com/done" : nil
        case "http":
            return authority.flatMap(host).map(isLoopback) == true
                ? nil : "must begin with https://; http:// is only for localhost, 127.0.0.1 and [::1]"
        case let name where takenByBrowsers.contains(name):
            return "must not have the scheme \(name), which browsers handle themselves"
        default: return nil
        }
    }

    private static let maxBytes = 2048
    /// URL schemes that browsers handle themselves.
    ///
    /// No app can register them, and some of them execute their content.
    private static let takenByBrowsers: Set = [
        "about", "blob", "data", "file", "filesystem", "ftp", "intent", "javascript", "vbscript", "view-source", "ws",
        "wss",
    ]

    /// Returns whether a byte is a character of RFC 3986 §2 other than `#`.
    ///
    /// A `#` would begin a fragment.
    private static func isAllowed(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || byte.isOne(of: "-._~:/?[]@!$&'()*+,;=%")
    }

    private static func isScheme(_ scheme: Substring.UTF8View) -> Bool {
        guard (1...64).contains(scheme.count), let first = scheme.first, isLowerLetter(first) else { return false }
        return scheme.allSatisfy { isLowerLetter($0) || $0.isASCIIDigit || $0.isOne(of: "+-.") }
    }

    private static func isLowerLetter(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z") }

    /// Returns the host of `host`, `host:port`, `[IPv6]` or `[IPv6]:port`; nil for any other form.
    private static func host(of authority: Substring.UTF8View) -> Substring.UTF8View? {
        let isLiteral = authority.first == UInt8(ascii: "[")
        var host = authority.prefix { $0 != UInt8(ascii: isLiteral ? "]" : ":") }
        if isLiteral {
            guard host.count < authority.count else { return nil }
            host = authority.prefix(host.count + 1)
        }
        let port = authority.dropFirst(host.count)
        let isPort =
            port.isEmpty
            || (2...6).contains(port.count) && port.first == UInt8(ascii: ":")
                && port.dropFirst().allSatisfy(\.isASCIIDigit)
        let name = isLiteral ? host.dropFirst().dropLast() : host
        let others = (isLiteral ? ":." : "-._").utf8
        guard isPort, (1...253).contains(name.count), name.allSatisfy({ $0.isASCIIAlphanumeric || others.contains($0) })
        else { return nil }
        return host
    }

    /// Returns whether requests to a host stay on the user's device (RFC 8252 §7.3).
    private static func isLoopback(_ host: Substring.UTF8View) -> Bool {
        ["localhost", "127.0.0.1", "[::1]"].contains { host.elementsEqual($0.utf8) }
    }
}
