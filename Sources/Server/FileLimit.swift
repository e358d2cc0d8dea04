import Curl
import Glibc

/// The limit of open files of this process, and the share of each part.
///
/// The process must never reach the limit. Swift's tasks run on Dispatch, which opens files once a second to check its
/// threads. If it cannot open a file, it ends the process (`_dispatch_workq_count_runnable_workers`).
struct FileLimit {
    /// The least limit with which the service starts.
    static let least = 256

    let files: Int
    /// The number of applications' own databases.
    var ownDatabases = 0

    /// The maximum number of connections of each listener.
    var connections: Int { shared / 4 }
    /// The maximum number of connections to all providers.
    var calls: Int { shared / 2 }

    /// The files left for connections, after those of PostgreSQL, open files and everything else.
    private var shared: Int { max(files - max(128, files / 8) - Self.filesOfDatabase * ownDatabases, 32) }

    /// The open files that the connections to one application's own database need at most.
    private static let filesOfDatabase = 16

    /// Raises the limit as far as possible: most systems begin with 1024, too few for a busy moment.
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
    /// Reduces the limits of connections to the available files.
    ///
    /// The limit of one source stays, even if it exceeds the limit of all connections. The source's clients then wait
    /// for a free connection, as all others do. A lower limit would disconnect clients that could be served a moment
    /// later.
    ///
    /// - Returns: Whether a limit was reduced.
    mutating func fit(_ limit: FileLimit) -> Bool {
        let (clients, providers) = (httpConnections, curl.maxConnections)
        httpConnections = min(clients, limit.connections)
        curl.maxConnections = min(providers, limit.calls)
        return httpConnections < clients || curl.maxConnections < providers
    }
}
