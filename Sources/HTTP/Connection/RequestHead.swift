import Encodings
import NIOHTTP1

extension HTTPRequestHead {
    /// The maximum length of a request target in bytes.
    ///
    /// RFC 9112 §3 asks servers to support request lines of at least 8000 bytes.
    static let longestTarget = 8000

    /// Normalizes the target and the headers for the later handlers; or returns the fault of an invalid request.
    ///
    /// Afterwards the target is a path, or `*`. `Host` is the host that the request names, in the target or in a
    /// header. `Connection` is `close` if the service reads no further request from the connection. `Expect` is present
    /// only if the client waits for 100 Continue.
    mutating func settle() -> RequestFault? {
        guard uri.utf8.count <= Self.longestTarget else { return .longTarget }
        // RFC 9112 §3.2: exactly one, whatever the target says. With two, a proxy and the service could read different
        // hosts, and so take the request for different applications.
        let hosts = headers["host"]
        guard hosts.count == 1 || isOld && hosts.isEmpty, hosts.allSatisfy({ Self.isHost($0.utf8) }) else {
            return .host
        }
        guard settleTarget() else { return .target }
        // RFC 9112 §6.1. The parser has already refused a length beside the coding.
        let codings = headers["transfer-encoding"]
        guard codings.isEmpty || !isOld && codings.count == 1 && Self.isSame(codings[0].utf8, "chunked") else {
            return .framing
        }
        // The parser passes on nothing that follows a request for a protocol upgrade.
        if !isKeepAlive || headers.contains(name: "upgrade") {
            headers.replaceOrAdd(name: "connection", value: "close")
        }
        if headers.contains(name: "expect"), !isWaiting { headers.remove(name: "expect") }
        return nil
    }

    /// Whether the request is HTTP/1.0; the parser accepts no other version but 1.1.
    private var isOld: Bool { version.minor == 0 }

    /// Whether the client waits for 100 Continue before it sends the body (RFC 9110 §10.1.1).
    private var isWaiting: Bool {
        let hasBody =
            headers.contains(name: "transfer-encoding")
            || headers.first(name: "content-length").flatMap { Int($0) } ?? 0 > 0
        return !isOld && hasBody && headers["expect"].contains { Self.isSame($0.utf8, "100-continue") }
    }

    /// Turns an absolute URL as the request target into a path.
    ///
    /// The host in the URL overrides the field `Host` (RFC 9112 §3.2.2).
    ///
    /// - Returns: Whether the target has an accepted form.
    private mutating func settleTarget() -> Bool {
        guard method != .CONNECT, !uri.utf8.contains(UInt8(ascii: "#")) else { return false }
        if uri.utf8.first == UInt8(ascii: "/") { return true }
        if uri.utf8.elementsEqual("*".utf8) { return method == .OPTIONS }
        for scheme in ["http://", "https://"] where Self.isSame(uri.utf8.prefix(scheme.utf8.count), scheme) {
            let rest = uri.utf8.dropFirst(scheme.utf8.count)
            let authority = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
            guard !authority.isEmpty, Self.isHost(authority) else { return false }
            let path = rest[authority.endIndex...]
            headers.replaceOrAdd(name: "host", value: String(Substring(authority)))
            uri = (path.first == UInt8(ascii: "/") ? "" : "/") + String(Substring(path))
            return true
        }
        return false
    }

    /// Returns whether bytes can be a host and port.
    ///
    /// RFC 3986 §3.2.2 allows more characters, but none that real hosts have.
    static func isHost(_ bytes: some Sequence<UInt8>) -> Bool {
        bytes.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || $0.isOne(of: "-._~%:[]") }
    }

    private static func isSame(_ bytes: some Sequence<UInt8>, _ expected: String) -> Bool {
        bytes.lazy.map(\.asciiLowercased).elementsEqual(expected.utf8)
    }
}
