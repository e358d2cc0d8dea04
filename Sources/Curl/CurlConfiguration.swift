/// The limits and the identity of a `CurlClient`.
package struct CurlConfiguration: Sendable {
    /// Calls that may be under way at once; one more ends in `CurlError.overloaded` at once.
    package var maxInFlight: Int

    /// Connections that may be open at once, in use or kept for reuse.
    ///
    /// Further calls wait for one, within their connect limit. Over HTTP/1.1 every call under way has a connection to
    /// itself, so a value below `maxInFlight` makes calls wait.
    package var maxConnections: Int

    /// Connections to one host that may be open at once; see `maxConnections`.
    ///
    /// Over HTTP/2 a connection takes about a hundred calls, but libcurl 7.88 opens one for each further call of a
    /// burst, so a host known to speak it deserves a limit of some dozens.
    package var maxConnectionsPerHost: Int

    /// PEM file of the authorities to trust instead of the system's.
    package var caFile: String?

    /// The `User-Agent` header of every request.
    package var userAgent: String

    /// Seconds after which an address that DNS no longer gives has been left.
    ///
    /// One half is the life of a cached address, the other that of a connection: one that is older is not taken up
    /// again once it is idle. An HTTP/2 connection that never falls idle stays until the server or the network ends it.
    package var addressSeconds: Int

    /// Seconds for which sent bytes may stay unacknowledged before the connection counts as broken.
    package var unacknowledgedSeconds: Int

    /// Makes a configuration; every number below 1 counts as 1.
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
