package import NIOCore

/// How long the other end of a connection may take.
package struct ConnectionLimits: Sendable {
    /// For a TLS handshake, and for a request to arrive.
    var read: TimeAmount
    /// For taking any of the bytes of a reply that wait for it.
    var write: TimeAmount
    /// Between two requests.
    var idle: Duration

    package init(read: TimeAmount, write: TimeAmount, idle: Duration) {
        self.read = read
        self.write = write
        self.idle = idle
    }
}
