import Domain
import Secrets

/// The copy of the configuration in memory, and its updates by reads of the database.
///
/// Reads may overlap and end in any order. A read that began before a doubt about the copy does not settle the doubt:
/// its data may come from a database server that has been replaced since.
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

        /// Returns the application of an id; nil when there is none.
        ///
        /// - Throws: `store_unavailable` for a suspended application.
        func application(_ id: ApplicationID) throws(Failure) -> LoadedApplication? {
            guard !suspended.contains(id) else {
                throw Failure(
                    .storeUnavailable,
                    "This application has just been changed, and the change could not be read yet. Try again shortly.",
                    retryAfter: 2
                )
            }
            return applications[id]
        }

        func application(host: Substring) -> LoadedApplication? {
            // No host name is longer (RFC 1035 §2.3.4), and a longer text is never hashed.
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
        /// The revision after which changes are read; nil to read everything.
        let since: Int64?
        /// The number of doubts when the read began.
        fileprivate let doubts: UInt64
    }

    private(set) var copy: Copy?
    /// How often the database may have been replaced by one that has lost changes.
    private var doubts: UInt64 = 0
    /// The number of doubts when the last complete read began on which the copy is based.
    private var settled: UInt64 = 0
    /// The number of doubts that a read must settle before a suspended application is served again.
    private var suspended: [ApplicationID: UInt64] = [:]

    /// Notes that the copy may have data that the database lacks, so that the next read is complete.
    mutating func doubt() { doubts += 1 }

    /// Suspends an application with an unread change, until a complete read that begins later has ended.
    mutating func suspend(_ id: ApplicationID) {
        doubt()
        suspended[id] = doubts
        copy?.suspended.insert(id)
    }

    var isSuspending: Bool { !suspended.isEmpty }

    /// Begins a read; must be called before anything is read.
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
                // The data is all that changed after `since`, so it fits every copy from that revision on.
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

    /// Indexes applications by a host or key; a host or key that several applications claim belongs to none.
    private static func claimed<Name: Hashable>(
        by applications: some Sequence<LoadedApplication>,
        _ names: (LoadedApplication) -> [Name]
    ) -> [Name: LoadedApplication] {
        let claims = applications.flatMap { loaded in Set(names(loaded)).map { ($0, loaded) } }
        return Dictionary(grouping: claims, by: \.0).compactMapValues { $0.count == 1 ? $0[0].1 : nil }
    }
}
