package import NIOCore

/// The timeouts of a listener's connections, and the limits of the resources kept for them.
package struct ConnectionLimits: Sendable {
    /// The maximum time for a TLS handshake, and for a request to arrive.
    var read: TimeAmount
    /// How long a client may read nothing while a response waits, before the service closes the connection.
    var write: TimeAmount
    /// How long a connection without a request stays open.
    var idle: Duration
    /// The maximum number of open connections.
    var connections: Int
    /// The maximum number of open connections of one source (a client's network address).
    var connectionsOfSource: Int
    /// The maximum number of waiting bytes over all connections.
    ///
    /// A byte waits until the rest of its request arrives, or until the client reads the response.
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
