package import NIOCore

/// How long the other end of a connection may take, and how much may be kept for it.
package struct ConnectionLimits: Sendable {
    /// For a TLS handshake, and for a request to arrive.
    var read: TimeAmount
    /// For taking any of the bytes of a reply that wait for it.
    var write: TimeAmount
    /// Between two requests.
    var idle: Duration
    /// Connections at once.
    var connections: Int
    /// Those of one source.
    var connectionsOfSource: Int
    /// Bytes over all connections of what waits: for the rest of a request, or for a reply to be taken.
    var waitingBytes: Int

    package init(
        read: TimeAmount,
        write: TimeAmount,
        idle: Duration,
        connections: Int,
        connectionsOfSource: Int,
        waitingBytes: Int
    ) {
        self.read = read
        self.write = write
        self.idle = idle
        self.connections = connections
        self.connectionsOfSource = connectionsOfSource
        self.waitingBytes = waitingBytes
    }
}
