import NIOHTTP1
import Vocabulary

extension HTTPRequestHead {
    /// Bytes of the longest target that is taken: the least that RFC 9112 §3 wants to be supported.
    static let longestTarget = 8000

    /// Brings the head to the one form that everything behind it reads, or says what is wrong with it.
    ///
    /// Afterwards the target is a path, or `*`; `Host` is what the request calls, wherever it said so; `Connection` is
    /// `close` when no further request is read; and `Expect` is there only when the client waits to be told to go on.
    mutating func settle() -> RequestFault? {
        guard uri.utf8.count <= Self.longestTarget else { return .longTarget }
        // RFC 9112 §3.2: one, whatever the target says; proxies that take another one than we do would see another
        // application.
        let hosts = headers["host"]
        guard hosts.count == 1 || isOld && hosts.isEmpty, hosts.allSatisfy({ Self.isHost($0.utf8) }) else {
            return .host
        }
        guard settleTarget() else { return .target }
        // RFC 9112 §6.1. The parser has refused a length beside it already.
        let codings = headers["transfer-encoding"]
        guard codings.isEmpty || !isOld && codings.count == 1 && Self.isSame(codings[0].utf8, "chunked") else {
            return .framing
        }
        // The parser hands nothing on that follows a request to upgrade.
        if !isKeepAlive || headers.contains(name: "upgrade") {
            headers.replaceOrAdd(name: "connection", value: "close")
        }
        if headers.contains(name: "expect"), !isWaiting { headers.remove(name: "expect") }
        return nil
    }

    /// HTTP/1.0; the parser takes no other version but 1.1.
    private var isOld: Bool { version.minor == 0 }

    /// Whether the body comes when the client has been told to go on: RFC 9110 §10.1.1.
    private var isWaiting: Bool {
        let hasBody =
            headers.contains(name: "transfer-encoding")
            || headers.first(name: "content-length").flatMap { Int($0) } ?? 0 > 0
        return !isOld && hasBody && headers["expect"].contains { Self.isSame($0.utf8, "100-continue") }
    }

    /// Makes a path of an absolute target, whose host then outranks the header (RFC 9112 §3.2.2).
    ///
    /// - Returns: Whether the target is of a form that is taken.
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

    /// Whether these are the bytes of a host and a port; no real one has those that RFC 3986 §3.2.2 allows besides.
    static func isHost(_ bytes: some Sequence<UInt8>) -> Bool {
        bytes.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || $0.isOne(of: "-._~%:[]") }
    }

    private static func isSame(_ bytes: some Sequence<UInt8>, _ expected: String) -> Bool {
        bytes.lazy.map(\.asciiLowercased).elementsEqual(expected.utf8)
    }
}
