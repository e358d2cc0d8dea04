import Vocabulary

/// The copy of the configuration in memory, and what a look at the database may do to it.
///
/// Looks may overlap and end in any order. One that was begun before there was a doubt about the copy settles nothing:
/// what it read may come from a server that has been replaced since.
struct ConfigurationMemory {
    /// The configuration at one revision.
    struct Copy {
        let revision: Int64
        let applications: [ApplicationID: LoadedApplication]
        /// Applications by their host names, for the form `/api` of public paths.
        let hosts: [String: LoadedApplication]
        /// Applications of which a change is known that has not been read.
        fileprivate(set) var suspended: Set<ApplicationID>

        /// The application of that id; nil when there is none.
        ///
        /// - Throws: `store_unavailable` for one that is suspended.
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
    }

    /// A look at the database, as it is begun.
    struct Look {
        /// The revision after which changes are to be read; nil when everything is.
        let since: Int64?
        /// How many doubts there had been.
        fileprivate let doubts: UInt64
    }

    private(set) var copy: Copy?
    /// How often the database may have been replaced by one that has lost changes.
    private var doubts: UInt64 = 0
    /// How many of the doubts there had been when everything was read that the copy rests on.
    private var settled: UInt64 = 0
    /// The doubts that have to be settled before an application is served again.
    private var suspended: [ApplicationID: UInt64] = [:]

    /// Notes that the copy may hold what the database does not have: the next look reads everything.
    mutating func doubt() { doubts += 1 }

    /// Notes that an application has been changed by what nobody here has read: it is not served before a look that
    /// begins later has read everything.
    mutating func suspend(_ id: ApplicationID) {
        doubt()
        suspended[id] = doubts
        copy?.suspended.insert(id)
    }

    /// Whether an application waits to be read.
    var isSuspending: Bool { !suspended.isEmpty }

    /// Begins a look; to be called before anything is read.
    func look() -> Look { Look(since: doubts > settled ? nil : copy?.revision, doubts: doubts) }

    /// Puts what a look has read into the copy, unless another look knows better.
    ///
    /// - Parameters:
    ///   - revision: The revision that was read.
    ///   - ids: Every application that there is.
    ///   - changed: Those that have changed since `look.since`; all of them when that is nil.
    ///   - look: The look.
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
                // What was read is all that changed after `since`, so it fits every copy from there on.
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
            hosts: Self.hosts(of: applications.values),
            suspended: Set(suspended.keys)
        )
        return true
    }

    /// A host that several applications claim is nobody's.
    private static func hosts(of applications: some Sequence<LoadedApplication>) -> [String: LoadedApplication] {
        let claims = applications.flatMap { loaded in
            Set(loaded.application.settings.hostNames).map { ($0, loaded) }
        }
        return Dictionary(grouping: claims, by: \.0).compactMapValues { $0.count == 1 ? $0[0].1 : nil }
    }
}
