internal import CLibCurl

/// An absolute URL that the client may call.
///
/// The URL is checked with the same parser that libcurl uses for the call, so the two cannot read it differently. The
/// scheme must be https, or http if the host is `localhost`, in 127.0.0.0/8 or `[::1]`. A URL with user information,
/// with a fragment, or with a character that must be escaped is refused. Path and query are sent byte for byte as
/// given.
package struct HTTPURL: Sendable {
    /// The maximum length of a URL, in bytes.
    package static let maxBytes = 16384

    /// The URL that is passed to libcurl.
    let text: String
    /// The length of `scheme://host:port` within `text`.
    private let originBytes: Int
    /// Whether the scheme is http; if so, the client connects only to a loopback address.
    let isPlain: Bool

    /// Creates a URL after checking `text`.
    ///
    /// - Throws: `CurlError.invalidRequest`.
    package init(_ text: String) throws(CurlError) {
        try Self.checkCharacters(text)
        let parts = try URLParts(text)
        guard let origin = Self.originLength(text) else { throw .invalidRequest(.malformedURL) }
        isPlain = parts.isPlain
        guard !isPlain || LoopbackAddress.contains(host: parts.host) else {
            throw .invalidRequest(.plainHTTPBeyondLoopback)
        }
        self.text = text
        originBytes = origin
    }

    private init(text: String, originBytes: Int, isPlain: Bool) {
        self.text = text
        self.originBytes = originBytes
        self.isPlain = isPlain
    }

    /// Returns a URL of the same scheme, host and port, with `target` as its path and query.
    ///
    /// `target` must begin with `/`, so it cannot change the host. Therefore only its characters are checked, and the
    /// URL is not parsed again. Throws `CurlError.invalidRequest`.
    package func withTarget(_ target: String) throws(CurlError) -> HTTPURL {
        guard target.utf8.first == UInt8(ascii: "/") else { throw .invalidRequest(.malformedURL) }
        guard originBytes + target.utf8.count <= Self.maxBytes else { throw .invalidRequest(.urlTooLong) }
        try Self.checkCharacters(target)
        return HTTPURL(text: origin + target, originBytes: originBytes, isPlain: isPlain)
    }

    /// The whole URL, as written.
    package var address: String { text }

    /// Returns the text of this URL with a further query, for a browser.
    package func adding(query: String) -> String {
        text + (text.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + query
    }

    /// `scheme://host:port`, as written.
    package var origin: String { String(decoding: text.utf8.prefix(originBytes), as: UTF8.self) }

    /// The path as written, without the query; `/` if there is none.
    package var path: String {
        let path = text.utf8.dropFirst(originBytes).prefix { $0 != UInt8(ascii: "?") }
        return path.isEmpty ? "/" : String(decoding: path, as: UTF8.self)
    }

    private static func checkCharacters(_ text: String) throws(CurlError) {
        guard text.utf8.count <= maxBytes else { throw .invalidRequest(.urlTooLong) }
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "#"): throw .invalidRequest(.fragmentInURL)
            case UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"), UInt8(ascii: "^"),
                UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"):
                throw .invalidRequest(.urlCharacter)
            case 0x21...0x7E: continue
            default: throw .invalidRequest(.urlCharacter)
            }
        }
    }

    /// Returns the length of `scheme://host:port` at the beginning of a URL, in bytes.
    ///
    /// Nil unless two slashes follow the scheme; libcurl's parser also accepts one or three.
    private static func originLength(_ text: String) -> Int? {
        let bytes = text.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8) else {
            return nil
        }
        let authority = bytes[colon...].dropFirst(3).prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        return authority.isEmpty ? nil : bytes.distance(from: bytes.startIndex, to: authority.endIndex)
    }
}

extension HTTPURL: CustomStringConvertible, CustomReflectable {
    /// Scheme, host and port; never the path or the query.
    package var description: String { origin }

    package var customMirror: Mirror { Mirror(self, children: ["origin": origin]) }
}

/// The parts of a URL that decide whether the client may call it.
private struct URLParts {
    /// Whether the scheme is http, not https.
    let isPlain: Bool
    /// The host: IPv4 in dotted decimal notation, whatever notation the URL has, and IPv6 in brackets.
    let host: String

    init(_ text: String) throws(CurlError) {
        let url = try ParsedURL(text, flags: CURLU_DISALLOW_USER | CURLU_PATH_AS_IS)
        switch url.part(CURLUPART_SCHEME) {
        case "https": isPlain = false
        case "http": isPlain = true
        default: throw .invalidRequest(.schemeNotAllowed)
        }
        guard let host = url.part(CURLUPART_HOST), url.part(CURLUPART_ZONEID) == nil else {
            throw .invalidRequest(.malformedURL)
        }
        self.host = host
    }
}
