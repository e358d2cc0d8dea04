package import Identity
package import Logging
import NIOConcurrencyHelpers
package import Store

/// Every application's configuration, in memory, as of the last look at the database.
///
/// `run` looks as soon as the database announces a change, and every few seconds in any case, since an announcement can be lost
/// with its connection; what has changed is loaded anew, the rest stays. While the database is away the last copy stays in use: a
/// login then fails where it needs the database, with a clear reason.
package final class ApplicationDirectory: Sendable {
    /// Looks at the database by connections that no slow question of an operator occupies.
    private let store: Store
    private let masterKeys: MasterKeys
    private let logger: Logger
    private let memory = NIOLockedValueBox(ConfigurationMemory())

    /// A change whose announcement was lost is seen after this at the latest.
    private static let interval = Duration.seconds(5)

    package init(store: Store, masterKeys: MasterKeys, logger: Logger) {
        self.store = store
        self.masterKeys = masterKeys
        self.logger = logger
    }

    /// The application that the first two segments of a public path name, or two headers, and which of its keys that was.
    ///
    /// - Throws: `unknown_application`, with the same text for an unknown id and a wrong key.
    package func application(
        id: Substring,
        key: Substring
    ) throws(Failure) -> (application: LoadedApplication, key: APIKey) {
        let copy = try loadedCopy()
        guard let id = ApplicationID(id), let found = copy.applications[id], let key = found.key(key) else {
            throw Failure(
                .unknownApplication,
                "There is no application with this id and API key. Check both in the base URL of your client."
            )
        }
        return (found, key)
    }

    /// The application of an id alone, for pages that a mail leads to.
    ///
    /// - Throws: `not_found`.
    package func application(id: Substring) throws(Failure) -> LoadedApplication {
        let copy = try loadedCopy()
        guard let id = ApplicationID(id), let found = copy.applications[id] else {
            throw Failure(
                .notFound,
                "There is nothing at this address. Check that it is complete, as the mail shows it."
            )
        }
        return found
    }

    /// The application whose path `/api` a host's is: the `Host` of a request without its port, in lower case.
    ///
    /// - Throws: `unknown_application`, also while two applications claim the host: neither may get the other's users.
    package func application(host: Substring) throws(Failure) -> LoadedApplication {
        guard let found = try loadedCopy().application(host: host) else {
            throw Failure(
                .unknownApplication,
                "No application has this host name. Its operator can add it to the setting hostNames."
            )
        }
        return found
    }

    /// The browser origins that may call an application; nil when there is no such application.
    package func allowedOrigins(of id: Substring) -> [String]? {
        guard let id = ApplicationID(id) else { return nil }
        return memory.withLockedValue { $0.copy?.applications[id]?.application.settings.allowedOrigins }
    }

    /// The browser origins that may call the application of a host; nil when there is no such application.
    package func allowedOrigins(ofHost host: Substring) -> [String]? {
        memory.withLockedValue { $0.copy?.application(host: host)?.application.settings.allowedOrigins }
    }

    /// The application as it is now, when it has changed since; nil when it has not, or is gone.
    func successor(of loaded: LoadedApplication) async -> LoadedApplication? {
        func current() -> LoadedApplication? {
            memory.withLockedValue { $0.copy?.applications[loaded.application.id] }
        }
        if let current = current(), current !== loaded { return current }
        try? await refresh()
        guard let current = current(), current !== loaded else { return nil }
        return current
    }

    /// All applications; none while no copy of the configuration is in memory.
    var applications: [LoadedApplication] {
        memory.withLockedValue { $0.copy.map { Array($0.applications.values) } ?? [] }
    }

    /// Whether a copy of the configuration is in memory.
    package var isLoaded: Bool { memory.withLockedValue { $0.copy != nil } }

    /// Keeps the copy true until the task is cancelled.
    ///
    /// - Throws: `MissingMasterKey` when the first look finds secrets under a master key that this instance was not given.
    package func run() async throws(MissingMasterKey) {
        // At most one look is due: it sees everything that was announced before it began.
        let (looks, due) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let announced = Task {
            for await announcement in store.configurationAnnouncements() {
                if case .connected = announcement { memory.withLockedValue { $0.doubt() } }
                due.yield()
            }
        }
        let ticking = Task {
            while !Task.isCancelled {
                due.yield()
                try? await Task.sleep(for: Self.interval)
            }
        }
        defer {
            announced.cancel()
            ticking.cancel()
        }
        for await _ in looks { try await refresh() }
    }

    /// Looks once; what goes wrong on the way to the database is logged, and the copy stays as it is.
    package func refresh() async throws(MissingMasterKey) {
        var look = memory.withLockedValue { $0.look() }
        let read: ConfigurationCopy
        do throws(Failure) {
            if let known = look.since {
                let revision = try await store.configurationRevision()
                guard revision != known else { return }
                if revision < known {
                    look = memory.withLockedValue {
                        $0.doubt()
                        return $0.look()
                    }
                }
            }
            read = try await store.configuration(changedAfter: look.since ?? 0)
        } catch {
            logger.warning(
                "configuration could not be read",
                metadata: ["reason": "\(error.reason.rawValue)", "cause": "\(error.cause ?? "")"]
            )
            return
        }
        if !isLoaded {
            try MissingMasterKey.check(read.changed, held: masterKeys)
            await warnOfPasswords(of: read.changed)
        }
        take(read, of: look)
    }

    /// Says where passwords are under a master key that is not held.
    ///
    /// It is no reason not to start: other ways in work, and passwords can be reset by mail.
    private func warnOfPasswords(of applications: [StoredApplication]) async {
        for application in applications {
            guard let keyID = try? await store.passwordKey(ofSchema: application.schema),
                !masterKeys.ids.contains(keyID)
            else { continue }
            logger.error(
                "passwords are sealed under a master key that this instance was not given",
                metadata: ["application": "\(application.id)", "key": "\(keyID)"]
            )
        }
    }

    private func loadedCopy() throws(Failure) -> ConfigurationMemory.Copy {
        guard let copy = memory.withLockedValue(\.copy) else {
            throw Failure(
                .storeUnavailable,
                "The service has not read its configuration yet. Try again shortly.",
                retryAfter: 2
            )
        }
        return copy
    }

    /// Puts what was read into the copy, unless another look knows better.
    private func take(_ read: ConfigurationCopy, of look: ConfigurationMemory.Look) {
        let loaded = read.changed.map { LoadedApplication($0, masterKeys: masterKeys) }
        for application in loaded {
            guard let defect = application.defect else { continue }
            logger.error(
                "application cannot be used",
                metadata: ["application": "\(application.application.id)", "cause": "\(defect)"]
            )
        }
        let isTaken = memory.withLockedValue {
            $0.take(revision: read.revision, ids: read.ids, changed: loaded, of: look)
        }
        guard isTaken else { return }
        logger.info(
            "configuration loaded",
            metadata: [
                "revision": "\(read.revision)", "applications": "\(read.ids.count)", "changed": "\(loaded.count)",
            ]
        )
    }
}

/// Secrets are stored under master keys that this instance was not given: it could log nobody in.
package struct MissingMasterKey: Error, CustomStringConvertible {
    /// The keys that are missing, by their ids.
    package let missing: [String]
    /// The keys that were given.
    package let held: [String]

    /// Throws when the applications need a key that is not held.
    static func check(_ applications: [StoredApplication], held keys: MasterKeys) throws(MissingMasterKey) {
        let needed = Set(applications.flatMap { $0.providers.values.flatMap(\.apps).map(\.secret.keyID) })
        let missing = needed.subtracting(keys.ids).sorted()
        guard missing.isEmpty else { throw MissingMasterKey(missing: missing, held: keys.ids) }
    }

    package var description: String {
        """
        the master key is not the one that the stored secrets are under: they need \(missing.joined(separator: ", ")), \
        given was \(held.joined(separator: ", ")). Set FEDERATION_MASTER_KEY (or FEDERATION_MASTER_KEY_FILE) to that key; while keys \
        are being rotated, the former one belongs into FEDERATION_MASTER_KEY_PREVIOUS.
        """
    }
}
