import Curl
import Glibc

/// The process's limit of open files, and the parts of it for the listeners and for requests to providers.
///
/// The process must never reach the limit. Swift's tasks run on Dispatch, which opens files once a second to check its
/// threads. If Dispatch cannot open a file, it ends the process (`_dispatch_workq_count_runnable_workers`).
struct FileLimit {
    /// The lowest limit of open files with which the service starts.
    static let least = 256

    let files: Int
    /// The number of separate databases, in addition to the main database.
    ///
    /// A separate database contains the users of some applications.
    var ownDatabases = 0

    /// The maximum number of connections of each listener.
    var connections: Int { shared / 4 }
    /// The maximum number of connections to providers, counted over all providers.
    var calls: Int { shared / 2 }

    /// The number of open files that listeners and provider requests share.
    ///
    /// The other open files are for PostgreSQL and everything else.
    private var shared: Int { max(files - max(128, files / 8) - Self.filesOfDatabase * ownDatabases, 32) }

    /// The maximum number of open files for connections to the separate database of one application.
    private static let filesOfDatabase = 16

    /// Raises the process's limit of open files to the allowed maximum, and returns the new limit.
    ///
    /// Most systems begin with 1024, which is too few for a burst of requests.
    static func raised() -> FileLimit {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0 else { return FileLimit(files: least) }
        limit.rlim_cur = limit.rlim_max
        setrlimit(resource, &limit)
        guard getrlimit(resource, &limit) == 0 else { return FileLimit(files: least) }
        return FileLimit(files: Int(clamping: limit.rlim_cur))
    }
}

extension ServerConfiguration {
    /// Reduces the configured maximum numbers of HTTP connections and provider connections to what the open-file limit
    /// allows.
    ///
    /// The maximum for one source is not reduced, even if it exceeds the maximum for all sources. The clients of that
    /// source then wait for a free connection, as all others do. A lower maximum would disconnect clients that could be
    /// served a moment later.
    ///
    /// - Returns: Whether a maximum was reduced.
    mutating func fit(_ limit: FileLimit) -> Bool {
        let (clients, providers) = (httpConnections, curl.maxConnections)
        httpConnections = min(clients, limit.connections)
        curl.maxConnections = min(providers, limit.calls)
        return httpConnections < clients || curl.maxConnections < providers
    }
}
