import NIOHTTP1

extension HTTPRequestHead {
    /// Whether the connection serves another request after this one.
    ///
    /// Behind a wish for another protocol, which nobody here grants, the parser reads no more: the JDK's client has that wish in
    /// each request without TLS (`Upgrade: h2c`).
    var leavesOpen: Bool {
        isKeepAlive && !headers.contains(name: "upgrade") && method != .CONNECT
    }
}
