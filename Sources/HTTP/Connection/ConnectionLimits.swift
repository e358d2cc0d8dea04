package import NIOCore

/// The timeouts of a listener's connections, and the limits of the resources kept for them.
package struct ConnectionLimits: Sendable {
    /// The timeout of a TLS handshake, and of a request's arrival.
    var read: TimeAmount
    /// The timeout of a client that reads none of a waiting response's bytes.
    var write: TimeAmount
    /// The timeout between two requests.
    var idle: Duration
    /// Connections at once.
    var connections: Int
    /// Connections at once of one source.
    var connectionsOfSource: Int
    /// Bytes that may wait over all connections: for the rest of a request, or for a response to be read.
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
