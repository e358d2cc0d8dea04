import Domain
import Secrets

/// The copy of the configuration in memory, and its updates by reads of the database.
///
/// Reads may overlap and end in any order. The copy is in doubt when the database may lack changes that the copy has,
/// for example after a failover. Only a read that begins after that settles the doubt. An earlier read may come from a
/// database server that has been replaced since.
struct ConfigurationMemory {
    /// The configuration at one revision.
    struct Copy {
        let revision: Int64
        let applications: [ApplicationID: LoadedApplication]
        /// Applications by host name, for public paths of the form `/api`.
        let hosts: [String: LoadedApplication]
        /// Applications by the SHA-256 of their API keys, for protocols whose clients name no application.
        fileprivate let keys: [[UInt8]: LoadedApplication]
        /// Applications with a change that has not been read yet.
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

    /// A read of the database that has begun.
    struct Look {
        /// The revision whose later changes are read; nil to read everything.
        let since: Int64?
        /// How many doubts the memory had noted when the read began.
        fileprivate let doubts: UInt64
    }

    private(set) var copy: Copy?
    /// How many times the database may have been replaced by one that has lost changes.
    private var doubts: UInt64 = 0
    /// The value that `doubts` had at the beginning of the read from which the copy comes.
    private var settled: UInt64 = 0
    /// For each suspended application, the value of `doubts` that `settled` must reach before it is served again.
    private var suspended: [ApplicationID: UInt64] = [:]

    /// Notes that the copy may have data that the database lacks.
    ///
    /// The next read is then complete.
    mutating func doubt() { doubts += 1 }

    /// Suspends an application with an unread change.
    ///
    /// A complete read that begins later ends the suspension.
    mutating func suspend(_ id: ApplicationID) {
        doubt()
        suspended[id] = doubts
        copy?.suspended.insert(id)
    }

    var isSuspending: Bool { !suspended.isEmpty }

    /// Begins a read.
    ///
    /// Must be called before anything is read.
    func look() -> Look { Look(since: doubts > settled ? nil : copy?.revision, doubts: doubts) }

    /// Puts the data of a read into the copy, unless another read is newer.
    ///
    /// - Parameters:
    ///   - revision: The revision that was read.
    ///   - ids: All existing applications.
    ///   - changed: The applications that changed since `look.since`; all when that is nil.
    ///   - look: The read.
    /// - Returns: Whether the copy has changed.
    mutating func take(
        revision: Int64,
        ids: Set<ApplicationID>,
        changed: [LoadedApplication],
        of look: Look
    ) -> Bool {
        var applications: [ApplicationID: LoadedApplication] = [:]
        if let copy {
            guard look.doubts >= settled else { return false }
            if let since = look.since {
                // The data has all changes after `since`, so it fits every copy of that revision or a later one.
                guard look.doubts == settled, since <= copy.revision, copy.revision < revision else { return false }
                applications = copy.applications
            } else {
                guard look.doubts > settled || copy.revision < revision else { return false }
            }
        }
        for application in changed { applications[application.application.id] = application }
        applications = applications.filter { ids.contains($0.key) }
        settled = look.doubts
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

    /// Indexes applications by a host or key.
    ///
    /// A host or key that several applications claim belongs to none.
    private static func claimed<Name: Hashable>(
        by applications: some Sequence<LoadedApplication>,
        _ names: (LoadedApplication) -> [Name]
    ) -> [Name: LoadedApplication] {
        let claims = applications.flatMap { loaded in Set(names(loaded)).map { ($0, loaded) } }
        return Dictionary(grouping: claims, by: \.0).compactMapValues { $0.count == 1 ? $0[0].1 : nil }
    }
}
