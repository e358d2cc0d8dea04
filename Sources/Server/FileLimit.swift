import Curl
import Glibc

/// How many files this process may open, and what each part may have of them at most.
///
/// It must never come to the end of them: Dispatch, on which Swift's tasks run, looks at its threads by opening files
/// once a second, and ends the process when it cannot (`_dispatch_workq_count_runnable_workers`).
struct FileLimit {
    /// With fewer there would be too little for anybody.
    static let least = 256

    let files: Int
    /// Databases that applications may have of their own.
    var ownDatabases = 0

    /// The connections of each listener.
    var connections: Int { shared / 4 }
    /// The connections to all providers.
    var calls: Int { shared / 2 }

    /// What is left beside PostgreSQL, files and everything else.
    private var shared: Int { max(files - max(128, files / 8) - Self.filesOfDatabase * ownDatabases, 32) }

    /// Connections to one database at most.
    private static let filesOfDatabase = 16

    /// Raises the limit as far as it can be: most systems begin with 1024, less than one busy moment needs.
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
    /// Keeps connections within the files that there are.
    ///
    /// A source keeps its number: where that is more than all connections, its clients wait until one is free, as all
    /// others do. With fewer for a source they would be cut off while they could be served a moment later.
    ///
    /// - Returns: Whether there are fewer of them now.
    mutating func fit(_ limit: FileLimit) -> Bool {
        let (clients, providers) = (httpConnections, curl.maxConnections)
        httpConnections = min(clients, limit.connections)
        curl.maxConnections = min(providers, limit.calls)
        return httpConnections < clients || curl.maxConnections < providers
    }
}
