/// The limits of a `CurlClient`, and its `User-Agent`.
package struct CurlConfiguration: Sendable {
    /// The maximum number of calls in flight; a further call fails immediately with `CurlError.overloaded`.
    package var maxInFlight: Int

    /// The maximum number of open connections, in use or kept for reuse.
    ///
    /// Further calls wait for a connection, at most for their `connectTimeout`. Over HTTP/1.1 every call in flight has
    /// a connection to itself, so a value below `maxInFlight` makes calls wait.
    package var maxConnections: Int

    /// The maximum number of open connections to one host; see `maxConnections`.
    ///
    /// An HTTP/2 connection carries about a hundred calls at once. But when many calls start together, libcurl 7.88
    /// opens a connection for each of them. So for a host that supports HTTP/2 the value should be some dozens.
    package var maxConnectionsPerHost: Int

    /// The PEM file of the certificate authorities to trust; nil to trust those of the system.
    package var caFile: String?

    /// The `User-Agent` header of every request.
    package var userAgent: String

    /// The number of seconds after which the client no longer uses an address that was removed from DNS.
    ///
    /// A resolved address is used for half of this time. A connection that is idle, and older than half of this time,
    /// is not reused. But an HTTP/2 connection that is never idle stays until the server or the network closes it.
    package var addressSeconds: Int

    /// The number of seconds that sent bytes may stay unacknowledged; after that, the connection counts as broken.
    package var unacknowledgedSeconds: Int

    /// Creates a configuration; every number below 1 counts as 1.
    package init(
        maxInFlight: Int = 4096,
        maxConnections: Int = 4096,
        maxConnectionsPerHost: Int = 4096,
        caFile: String? = nil,
        userAgent: String = "federation",
        addressSeconds: Int = 60,
        unacknowledgedSeconds: Int = 5
    ) {
        self.maxInFlight = max(1, maxInFlight)
        self.maxConnections = max(1, maxConnections)
        self.maxConnectionsPerHost = max(1, maxConnectionsPerHost)
        self.caFile = caFile
        self.userAgent = userAgent
        self.addressSeconds = max(1, addressSeconds)
        self.unacknowledgedSeconds = max(1, unacknowledgedSeconds)
    }
}
