import Domain
import Secrets

/// The copy of the configuration in memory; reads of the database update it.
///
/// Reads may overlap and end in any order. After some events, such as a failover, the copy may have changes that the
/// database lacks: it is in doubt. The doubt ends with a complete read that began after the event. A read that began
/// before may come from the database server that was replaced.
struct ConfigurationMemory {
    /// The configuration at one revision.
    struct Copy {
        let revision: Int64
        let applications: [ApplicationID: LoadedApplication]
        /// Applications by host name, for public paths of the form `/api`.
        let hosts: [String: LoadedApplication]
        /// Applications by the SHA-256 of their API keys, for protocols whose clients name no application.
        fileprivate let keys: [[UInt8]: LoadedApplication]
        /// The applications that this process has changed, but whose change it has not read yet.
        ///
        /// Requests to these applications are refused.
        fileprivate(set) var suspended: Set<ApplicationID>

        /// Returns the application with an id; nil when there is none.
        ///
        /// - Throws: `store_unavailable` for a suspended application.
        func application(_ id: ApplicationID) throws(Failure) -> LoadedApplication? {
            guard !suspended.contains(id) else {
                throw Failure(
                    .storeUnavailable,
                    "This application was just changed, and the change is not loaded yet. Try again shortly.",
                    retryAfter: 2
                )
            }
            return applications[id]
        }

        func application(host: Substring) -> LoadedApplication? {
            // A host name has at most 253 characters (RFC 1035 §2.3.4). A longer text is never hashed.
            guard host.utf8.count <= 253, host.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
            return hosts[String(host)]
        }

        /// Returns the application that has an API key, and the key; nil when there is none.
        ///
        /// - Throws: `store_unavailable` for a suspended application.
        func application(key: Substring) throws(Failure) -> (application: LoadedApplication, key: APIKey)? {
            guard let named = keys[Digest.sha256(key)], let found = try application(named.application.id) else {
                return nil
            }
            return found.key(key).map { (found, $0) }
        }
    }

    /// Describes a read of the database at its beginning: which data it must contain, and which reads it is newer than.
    struct ReadStart {
        /// The revision of the configuration after which changes are read; nil to read everything.
        let since: Int64?
        /// The value that the counter `ConfigurationMemory.doubts` had when the read began.
        fileprivate let doubts: UInt64
    }

    private(set) var copy: Copy?
    /// The number of events that put the copy in doubt: it may have changes that the database lacks, as after a
    /// failover.
    ///
    /// The suspension of an application counts as an event, too.
    private var doubts: UInt64 = 0
    /// The value of `doubts` when the read of the present copy began.
    ///
    /// If `doubts` is larger now, the copy is in doubt.
    private var settled: UInt64 = 0
    /// For each suspended application, the value that `settled` must reach before requests to the application are
    /// accepted.
    private var suspended: [ApplicationID: UInt64] = [:]

    /// Notes that the copy may have changes that the database lacks.
    ///
    /// The next read then reads everything, and not only changes.
    mutating func doubt() { doubts += 1 }

    /// Refuses requests to an application, since this process has changed the application and has not read the change
    /// yet.
    ///
    /// A complete read that begins later ends the suspension.
    mutating func suspend(_ id: ApplicationID) {
        doubt()
        suspended[id] = doubts
        copy?.suspended.insert(id)
    }

    var isSuspending: Bool { !suspended.isEmpty }

    /// Begins a read: returns the state of the memory, from which `take` later tells whether the read is current.
    ///
    /// The caller must call this before it reads anything from the database.
    func beginRead() -> ReadStart { ReadStart(since: doubts > settled ? nil : copy?.revision, doubts: doubts) }

    /// Updates the copy in memory with the data of a read, unless the copy comes from a newer read.
    ///
    /// - Parameters:
    ///   - revision: The revision of the configuration that was read.
    ///   - ids: The ids of all existing applications.
    ///   - changed: The applications that changed since `start.since`; all when that is nil.
    ///   - start: The value that `beginRead` returned before the read.
    /// - Returns: Whether the copy has changed.
    mutating func take(
        revision: Int64,
        ids: Set<ApplicationID>,
        changed: [LoadedApplication],
        from start: ReadStart
    ) -> Bool {
        var applications: [ApplicationID: LoadedApplication] = [:]
        if let copy {
            guard start.doubts >= settled else { return false }
            if let since = start.since {
                // The data has all changes after `since`, so it fits every copy of that revision or a later one.
                guard start.doubts == settled, since <= copy.revision, copy.revision < revision else { return false }
                applications = copy.applications
            } else {
                guard start.doubts > settled || copy.revision < revision else { return false }
            }
        }
        for application in changed { applications[application.application.id] = application }
        applications = applications.filter { ids.contains($0.key) }
        settled = start.doubts
        suspended = suspended.filter { $0.value > settled }
        copy = Copy(
            revision: revision,
            applications: applications,
            hosts: Self.claimed(by: applications.values) { $0.application.settings.hostNames },
            keys: Self.claimed(by: applications.values, \.keyHashes),
            suspended: Set(suspended.keys)
        )
        return true
    }

    /// Returns the applications by their host names or key hashes.
    ///
    /// A host name or key hash that several applications have is left out.
    private static func claimed<Name: Hashable>(
        by applications: some Sequence<LoadedApplication>,
        _ names: (LoadedApplication) -> [Name]
    ) -> [Name: LoadedApplication] {
        let claims = applications.flatMap { loaded in Set(names(loaded)).map { ($0, loaded) } }
        return Dictionary(grouping: claims, by: \.0).compactMapValues { $0.count == 1 ? $0[0].1 : nil }
    }
}
