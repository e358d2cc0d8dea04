internal import CLibCurl
internal import Glibc

/// An absolute URL that this client may call.
///
/// It is parsed by the parser that libcurl itself uses for the call, so that what was checked is what is called:
/// https, or http to `localhost`, 127.0.0.0/8 or `[::1]`; no user information, no fragment; printable ASCII that needs no
/// escaping. The path and query go out byte for byte as they are written here.
package struct HTTPURL: Sendable {
    /// Longest URL, in bytes.
    package static let maxBytes = 16384

    /// The URL as it is handed to libcurl.
    let text: String
    /// Length of `scheme://host:port` within `text`.
    private let originBytes: Int
    /// Whether the scheme is http; the connection's address is then checked to be a loopback one.
    let isPlain: Bool

    /// Checks and keeps `text`.
    ///
    /// - Throws: `CurlError.invalidRequest`.
    package init(_ text: String) throws(CurlError) {
        try Self.checkCharacters(text)
        let parts = try URLParts(text)
        guard let origin = Self.originLength(text) else { throw .invalidRequest(.malformedURL) }
        isPlain = parts.isPlain
        guard !isPlain || Self.isLoopback(parts.host) else { throw .invalidRequest(.plainHTTPBeyondLoopback) }
        self.text = text
        originBytes = origin
    }

    private init(text: String, originBytes: Int, isPlain: Bool) {
        self.text = text
        self.originBytes = originBytes
        self.isPlain = isPlain
    }

    /// The same scheme, host and port with another path and query.
    ///
    /// `target` begins with `/`, which ends the authority, so nothing in it can name another host; hence its characters
    /// are checked and nothing is parsed again. Throws `CurlError.invalidRequest`.
    package func withTarget(_ target: String) throws(CurlError) -> HTTPURL {
        guard target.utf8.first == UInt8(ascii: "/") else { throw .invalidRequest(.malformedURL) }
        guard originBytes + target.utf8.count <= Self.maxBytes else { throw .invalidRequest(.urlTooLong) }
        try Self.checkCharacters(target)
        return HTTPURL(text: origin + target, originBytes: originBytes, isPlain: isPlain)
    }

    /// `scheme://host:port`, as it was written.
    package var origin: String { String(decoding: text.utf8.prefix(originBytes), as: UTF8.self) }

    /// The path as it was written, without the query; `/` when there is none.
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

    /// Bytes up to the end of the authority.
    ///
    /// Nil where only libcurl's parser finds a host, which takes one or three slashes for two.
    private static func originLength(_ text: String) -> Int? {
        let bytes = text.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8) else {
            return nil
        }
        let authority = bytes[colon...].dropFirst(3).prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        return authority.isEmpty ? nil : bytes.distance(from: bytes.startIndex, to: authority.endIndex)
    }

    /// Whether a host, as libcurl's parser writes it, is certain to be this machine.
    ///
    /// libcurl answers `localhost` with the loopback addresses without asking a resolver.
    private static func isLoopback(_ host: String) -> Bool {
        if host.utf8.elementsEqual("localhost".utf8) { return true }
        var v4 = in_addr()
        if inet_pton(AF_INET, host, &v4) == 1 { return LoopbackAddress.contains(v4) }
        guard host.utf8.first == UInt8(ascii: "["), host.utf8.last == UInt8(ascii: "]") else { return false }
        var v6 = in6_addr()
        return inet_pton(AF_INET6, String(host.dropFirst().dropLast()), &v6) == 1 && LoopbackAddress.contains(v6)
    }
}

extension HTTPURL: CustomStringConvertible, CustomReflectable {
    /// Scheme, host and port; never the path or the query.
    package var description: String { origin }

    package var customMirror: Mirror { Mirror(self, children: ["origin": origin]) }
}

/// The parts of a URL on which the rules depend.
private struct URLParts {
    /// Whether the scheme is http, not https.
    let isPlain: Bool
    /// With the number forms of IPv4 brought to four decimals, IPv6 in brackets.
    let host: String

    init(_ text: String) throws(CurlError) {
        guard let url = curl_url() else { throw .library(code: CURLE_OUT_OF_MEMORY.rawValue) }
        defer { curl_url_cleanup(url) }
        switch curl_url_set(url, CURLUPART_URL, text, UInt32(CURLU_DISALLOW_USER | CURLU_PATH_AS_IS)) {
        case CURLUE_OK: break
        case CURLUE_USER_NOT_ALLOWED: throw .invalidRequest(.userInformationInURL)
        case CURLUE_UNSUPPORTED_SCHEME: throw .invalidRequest(.schemeNotAllowed)
        default: throw .invalidRequest(.malformedURL)
        }
        switch Self.part(CURLUPART_SCHEME, of: url) {
        case "https": isPlain = false
        case "http": isPlain = true
        default: throw .invalidRequest(.schemeNotAllowed)
        }
        guard let host = Self.part(CURLUPART_HOST, of: url), Self.part(CURLUPART_ZONEID, of: url) == nil else {
            throw .invalidRequest(.malformedURL)
        }
        self.host = host
    }

    private static func part(_ part: CURLUPart, of url: OpaquePointer) -> String? {
        var value: UnsafeMutablePointer<CChar>?
        guard curl_url_get(url, part, &value, 0) == CURLUE_OK, let value else { return nil }
        defer { curl_free(value) }
        return String(cString: value)
    }
}
