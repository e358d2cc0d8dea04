package import Domain
package import Logging
import NIOConcurrencyHelpers
package import Providers
package import Secrets
package import Store

/// The configuration of every application, in memory, as of the last read of the database.
///
/// `run` reads the database when the database announces a change. It also reads the database every few seconds, since a
/// lost connection can lose an announcement. Only changed applications are loaded again. While the database is
/// unreachable, the service uses the configuration of the last read, and a login that needs the database fails with a
/// clear reason. A process that changes the configuration itself calls `follow`, which reads the change before the
/// process reports success.
package final class ApplicationDirectory: Sendable {
    /// The database, over connections that are used only for the configuration.
    ///
    /// So a slow query of an operator cannot occupy them.
    private let store: Store
    private let masterKeys: MasterKeys
    private let kinds: ProviderKinds
    private let clock: WallClock
    private let logger: Logger
    package let banKey: BanKey
    package let tokenKeys: TokenKeys
    private let memory = NIOLockedValueBox(ConfigurationMemory())
    private let reads = CoalescedReads<ReadOutcome>()
    /// The time at which the configuration in memory was last known to match the database.
    private let seen = NIOLockedValueBox<ContinuousClock.Instant?>(nil)
    private let clockOffset = NIOLockedValueBox<Int64?>(nil)
    /// The failure with which this instance refuses all requests: its master key is not registered in the database.
    ///
    /// Nil while the master key is registered, and before the first check.
    private let refusal = NIOLockedValueBox<Failure?>(nil)
    /// The signal that a read of the database is due; several signals before a read count as one.
    ///
    /// A read sees every change that was announced before the read began.
    private let due = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// The outcome of a read of the database.
    private enum ReadOutcome: Sendable {
        /// The read succeeded: the configuration in memory is at least as new as the database was when the read began.
        case current
        /// The database could not be read, and the configuration in memory is unchanged.
        case nothing
        /// The first read failed: the instance cannot use the configuration, because of its master keys.
        case unusable(UnusableMasterKey)
    }

    /// The interval of reads.
    ///
    /// A change whose announcement was lost is seen after this time.
    private static let interval = Duration.seconds(5)
    /// The time for which this process tries again to read a change that it made, after a read has failed.
    ///
    /// If the change is still unread after this time, requests to the changed application are refused until a read
    /// succeeds.
    private static let timeout = Duration.seconds(2)

    package init(
        store: Store,
        masterKeys: MasterKeys,
        kinds: ProviderKinds,
        clock: WallClock,
        random: RandomSource,
        logger: Logger
    ) {
        self.store = store
        self.masterKeys = masterKeys
        self.kinds = kinds
        self.clock = clock
        self.logger = logger
        banKey = BanKey(store: store, masterKeys: masterKeys, random: random)
        tokenKeys = TokenKeys(store: store, masterKeys: masterKeys)
    }

    /// Returns the application that has the id and the API key that a client sent.
    ///
    /// A client sends id and key as two path segments of the URL, or as two headers.
    ///
    /// - Throws: `unknown_application`, with the same text for an unknown id and a wrong key.
    package func application(
        id: Substring,
        key: Substring
    ) throws(Failure) -> (application: LoadedApplication, key: APIKey) {
        let copy = try loadedCopy()
        guard let id = ApplicationID(id), let found = try copy.application(id), let key = found.key(key) else {
            throw Failure(
                .unknownApplication,
                "No application has this id and API key. Check both in the base URL of your client."
            )
        }
        return (found, key)
    }

    /// Returns the application that has a given API key, for protocols whose clients send no application id.
    ///
    /// - Throws: `unknown_application`, even if two applications have the key: neither may get the other's users.
    package func application(key: Substring) throws(Failure) -> (application: LoadedApplication, key: APIKey) {
        guard let found = try loadedCopy().application(key: key) else {
            throw Failure(.unknownApplication, "No application has this API key. Check the key in your client.")
        }
        return found
    }

    /// Returns the application that has a given id.
    ///
    /// The id suffices for requests for the application's published keys, and for the pages that mailed links open.
    ///
    /// - Throws: `not_found`.
    package func application(id: Substring) throws(Failure) -> LoadedApplication {
        let copy = try loadedCopy()
        guard let id = ApplicationID(id), let found = try copy.application(id) else {
            throw Failure(
                .notFound,
                "This address does not exist. Check that it is complete."
            )
        }
        return found
    }

    /// Returns the application that is configured for a host name; its clients use paths that begin with `/api`.
    ///
    /// `host` is the value of the header `Host` in lower case, without port.
    ///
    /// - Throws: `unknown_application`, even if two applications claim the host: neither may get the other's users.
    package func application(host: Substring) throws(Failure) -> LoadedApplication {
        let copy = try loadedCopy()
        guard let named = copy.application(host: host), let found = try copy.application(named.application.id) else {
            throw Failure(
                .unknownApplication,
                "No application has this host name. The operator can add it to the setting hostNames."
            )
        }
        return found
    }

    /// Returns the origins of web pages whose scripts may call an application (CORS); nil for an unknown application.
    package func allowedOrigins(of id: Substring) -> [String]? {
        guard let id = ApplicationID(id) else { return nil }
        return memory.withLockedValue { $0.copy?.applications[id]?.application.settings.allowedOrigins }
    }

    /// Returns the origins of web pages whose scripts may call the application of a host (CORS); nil for an unknown
    /// host.
    package func allowedOrigins(ofHost host: Substring) -> [String]? {
        memory.withLockedValue { $0.copy?.application(host: host)?.application.settings.allowedOrigins }
    }

    /// Runs `body`, and repeats it with the new configuration if a change of the application has made it fail.
    ///
    /// This happens when an SQL statement names a column that the change has removed. The failed statement has had no
    /// effect. `body` must not have other effects, since a repetition would repeat them. No repetition begins after
    /// `end`.
    package func withCurrent<Result>(
        _ loaded: LoadedApplication,
        until end: ContinuousClock.Instant,
        _ body: (LoadedApplication) async throws(Failure) -> StatementOutcome<Result>
    ) async throws(Failure) -> Result {
        var loaded = loaded
        while true {
            switch try await body(loaded) {
            case .done(let result): return result
            case .outdated(let failure):
                guard .now < end, let current = try await successor(of: loaded, until: end) else { throw failure }
                loaded = current
            }
        }
    }

    /// Returns the current configuration of an application, for a caller whose SQL statement no longer fits the
    /// database.
    ///
    /// - Parameters:
    ///   - loaded: The configuration of the application that the statement was made for.
    ///   - end: The deadline.
    /// - Returns: The current configuration; nil when it has not changed, or when the database could not be read before
    ///   the deadline.
    /// - Throws: `unknown_application` when the application has been removed.
    package func successor(
        of loaded: LoadedApplication,
        until end: ContinuousClock.Instant
    ) async throws(Failure) -> LoadedApplication? {
        func current() throws(Failure) -> LoadedApplication? {
            let copy = try loadedCopy()
            guard let current = try copy.application(loaded.application.id) else { throw Store.applicationRemoved }
            return current === loaded ? nil : current
        }
        if let current = try current() { return current }
        return await readChanges(until: end) ? try current() : nil
    }

    /// Reads a committed change of an application into memory, so that all later requests see the change.
    ///
    /// While the change cannot be read, requests to the application are refused. Otherwise, the service would still
    /// allow what the change forbids.
    package func follow(changeOf id: ApplicationID) async {
        // If the change deleted the application, its keys are deleted, too.
        tokenKeys.forget()
        guard await !readChanges(until: .now + Self.timeout) else { return }
        memory.withLockedValue { $0.suspend(id) }
        due.continuation.yield()
        logger.error(
            "a change could not be read, so that its application is not served until it can be",
            metadata: ["application": "\(id)"]
        )
    }

    /// All applications; empty before the first read, and while `keyRefusal` is not nil.
    package var applications: [LoadedApplication] {
        guard keyRefusal == nil else { return [] }
        return memory.withLockedValue { $0.copy.map { Array($0.applications.values) } ?? [] }
    }

    /// The state of the configuration in memory, for metrics and status displays.
    package struct Statistics: Sendable {
        /// The revision of the configuration in memory; nil before the first read.
        package let revision: Int64?
        package let applications: Int
        /// The time since the configuration in memory was last known to match the database.
        package let age: Duration?
        /// How far this machine's clock was ahead of the database's at the last comparison; nil before the first.
        package let clockOffset: Duration?
    }

    package var statistics: Statistics {
        let (revision, count) = memory.withLockedValue { ($0.copy?.revision, $0.copy?.applications.count ?? 0) }
        return Statistics(
            revision: revision,
            applications: count,
            age: seen.withLockedValue { $0?.duration(to: .now) },
            clockOffset: clockOffset.withLockedValue { $0.map { .milliseconds($0) } }
        )
    }

    /// Whether a copy of the configuration is in memory.
    package var isLoaded: Bool { memory.withLockedValue { $0.copy != nil } }

    /// The failure because of which this instance refuses all requests: its master key is not registered in the
    /// database.
    ///
    /// Nil while the master key is registered, and before the first check.
    package var keyRefusal: Failure? { refusal.withLockedValue(\.self) }

    /// Keeps the configuration in memory equal to that of the database until the task is cancelled.
    ///
    /// - Throws: `UnusableMasterKey` when the first read finds that this instance's master key is not registered in the
    ///   database, or that the database has secrets under a master key that this instance lacks.
    package func run() async throws(UnusableMasterKey) {
        let announced = Task {
            for await announcement in store.configurationAnnouncements() {
                if case .connected = announcement { memory.withLockedValue { $0.doubt() } }
                due.continuation.yield()
            }
        }
        let ticking = Task {
            while !Task.isCancelled {
                due.continuation.yield()
                try? await Task.sleep(for: Self.interval)
            }
        }
        var warning: Task<Void, Never>?
        defer {
            announced.cancel()
            ticking.cancel()
            warning?.cancel()
        }
        var day = clock.today
        for await _ in due.stream {
            try await refresh()
            if warning == nil, isLoaded { warning = Task { await warnOfPasswords() } }
            // Settings reach their end of life without a change, too.
            if day != clock.today {
                day = clock.today
                Ending.all(in: applications, on: day).log(to: logger)
            }
            guard memory.withLockedValue(\.isSuspending) else { continue }
            try? await Task.sleep(for: .milliseconds(250))
            due.continuation.yield()
        }
    }

    /// Reads the database once.
    ///
    /// If the read fails, the failure is logged, and the configuration in memory stays as it is.
    package func refresh() async throws(UnusableMasterKey) {
        if case .unusable(let unusable) = await reads.join({ await self.readChanges() }) { throw unusable }
    }

    /// Reads the database until the configuration in memory is as new as the database was at the call.
    ///
    /// Repeats a failed read until the deadline.
    ///
    /// - Returns: False if no read has succeeded before the deadline.
    private func readChanges(until end: ContinuousClock.Instant) async -> Bool {
        while true {
            if case .current = await reads.join({ await self.readChanges() }) { return true }
            guard .now < end, (try? await Task.sleep(for: .milliseconds(.random(in: 50...150)))) != nil else {
                return false
            }
        }
    }

    private func readChanges() async -> ReadOutcome {
        var start = memory.withLockedValue { $0.beginRead() }
        let read: ConfigurationCopy
        let banKeyID: String?
        do throws(Failure) {
            do throws(Failure) {
                // Only an instance that starts registers a new key, and only if it also holds a registered key. This
                // begins a rotation.
                try await store.admit(masterKeys, registering: !isLoaded)
                if refusal.withLockedValue({ refusal in
                    defer { refusal = nil }
                    return refusal != nil
                }) {
                    logger.notice("the database knows the master key of this instance again")
                }
            } catch {
                guard error.reason == .providerMisconfigured else { throw error }
                guard isLoaded else { return .unusable(.unknown(error)) }
                let isNew = refusal.withLockedValue { refusal in
                    defer { refusal = error }
                    return refusal == nil
                }
                if isNew {
                    logger.critical("this instance serves nobody any more", metadata: ["cause": "\(error.message)"])
                }
                return .nothing
            }
            if let known = start.since {
                let (revision, milliseconds) = try await store.configurationState()
                compareClock(with: milliseconds)
                guard revision != known else { return current() }
                if revision < known {
                    start = memory.withLockedValue {
                        $0.doubt()
                        return $0.beginRead()
                    }
                }
            }
            read = try await store.configuration(changedAfter: start.since ?? 0)
            banKeyID = isLoaded ? nil : try await banKey.stored().keyID
        } catch {
            logger.warning(
                "configuration could not be read",
                metadata: ["reason": "\(error.reason.rawValue)", "cause": "\(error.cause ?? error.message)"]
            )
            return .nothing
        }
        if !isLoaded {
            do throws(MissingMasterKey) {
                try MissingMasterKey.check(read.changed, banKeyID, kinds: kinds, held: masterKeys)
            } catch {
                return .unusable(.missing(error))
            }
        }
        take(read, from: start)
        return current()
    }

    /// Compares this machine's clock with the database's, and logs an error when they differ.
    ///
    /// The service needs both clocks: the database's clock for the expiry of sessions, and this machine's clock for the
    /// expiry of ID tokens and other data that providers sign.
    private func compareClock(with theirs: Int64) {
        let offset = clock.milliseconds - theirs
        let former = clockOffset.withLockedValue { known in
            defer { known = offset }
            return known
        }
        func isWrong(_ offset: Int64) -> Bool { offset.magnitude > WallClock.tolerance.magnitude }
        guard isWrong(offset), !isWrong(former ?? 0) else { return }
        logger.error(
            "the clock of this machine differs from the database's, so that what providers sign is judged wrongly",
            metadata: ["seconds": "\(offset / 1000)"]
        )
    }

    private func current() -> ReadOutcome {
        seen.withLockedValue { $0 = .now }
        return .current
    }

    /// Logs each application whose passwords are encrypted under a master key that this instance lacks.
    ///
    /// The instance starts all the same: other login methods work, and users can reset passwords by mail. Nothing waits
    /// for the check, which queries the database once for each application.
    private func warnOfPasswords() async {
        for loaded in applications where !Task.isCancelled {
            let application = loaded.application
            guard let keyID = try? await store.passwordKey(of: application), !masterKeys.ids.contains(keyID) else {
                continue
            }
            logger.error(
                "passwords are encrypted under a master key that this instance was not given",
                metadata: ["application": "\(application.id)", "key": "\(keyID)"]
            )
        }
    }

    private func loadedCopy() throws(Failure) -> ConfigurationMemory.Copy {
        guard keyRefusal == nil else {
            // Other instances could not decrypt what this one encrypts. The log and readiness of this instance name the
            // needed key.
            throw Failure(
                .storeUnavailable,
                "This instance cannot serve requests now. Try again shortly.",
                retryAfter: 5
            )
        }
        guard let copy = memory.withLockedValue(\.copy) else {
            throw Failure(
                .storeUnavailable,
                "The service has not read its configuration yet. Try again shortly.",
                retryAfter: 2
            )
        }
        return copy
    }

    /// Replaces the configuration in memory by one that was read from the database, unless a newer one is already
    /// there.
    private func take(_ read: ConfigurationCopy, from start: ConfigurationMemory.ReadStart) {
        let loaded = read.changed.map { LoadedApplication($0, masterKeys: masterKeys, kinds: kinds) }
        for application in loaded {
            let id = application.application.id
            // Checks of the application's own database begin now, if it has one. A missing variable is found at once.
            if let problem = store.databases.problem(of: application.application) {
                logger.error(
                    "application cannot be used",
                    metadata: ["application": "\(id)", "cause": "\(problem)"]
                )
            }
            if let defect = application.defect {
                logger.error(
                    "application cannot be used",
                    metadata: ["application": "\(id)", "cause": "\(defect)"]
                )
            }
            for name in application.unknownProviders {
                let cause = LoadedApplication.unknownKind(of: name)
                logger.error("provider cannot be used", metadata: ["application": "\(id)", "cause": "\(cause)"])
            }
        }
        let former = memory.withLockedValue { $0.copy?.applications ?? [:] }
        let isTaken = memory.withLockedValue {
            $0.take(revision: read.revision, ids: read.ids, changed: loaded, from: start)
        }
        guard isTaken else { return }
        logger.info(
            "configuration loaded",
            metadata: [
                "revision": "\(read.revision)", "applications": "\(read.ids.count)", "changed": "\(loaded.count)",
            ]
        )
        logEndings(of: loaded, insteadOf: former)
    }
}

extension ApplicationDirectory {
    /// Logs warnings about configured versions of providers' APIs that are near their end of life.
    ///
    /// An application is also loaded again after unrelated changes. A warning that was already logged for the
    /// application is not repeated then.
    private func logEndings(of loaded: [LoadedApplication], insteadOf former: [ApplicationID: LoadedApplication]) {
        guard let day = clock.today else { return }
        let changed = loaded.filter { loaded in
            let known = former[loaded.application.id]?.endings(on: day)
            return known != loaded.endings(on: day)
        }
        Ending.all(in: changed, on: day).log(to: logger)
    }
}

/// The reason why an instance cannot start with its master keys.
package enum UnusableMasterKey: Error, CustomStringConvertible {
    /// The master key with which this instance encrypts is not registered in the database.
    case unknown(Failure)
    case missing(MissingMasterKey)

    package var description: String {
        switch self {
        case .unknown(let failure): failure.message
        case .missing(let missing): "\(missing)"
        }
    }
}

/// The error that secrets are stored under master keys that this instance lacks.
///
/// Such an instance could not decrypt the secrets. Logins that need the secrets would fail.
package struct MissingMasterKey: Error, CustomStringConvertible {
    /// The ids of the master keys that this instance lacks.
    package let missing: [String]
    /// The ids of the master keys that this instance has.
    package let held: [String]

    /// Throws an error when this instance lacks a master key that encrypts a secret of the applications, or the key for
    /// bans.
    package static func check(
        _ applications: [StoredApplication],
        _ banKeyID: String?,
        kinds: ProviderKinds,
        held keys: MasterKeys
    ) throws(MissingMasterKey) {
        let secrets = applications.flatMap { $0.providers.values.flatMap(\.apps).map(\.secret.keyID) }
        let options = applications.flatMap { $0.secretOptions(kinds) }.compactMap(\.encrypted?.keyID)
        let needed = Set(secrets + options + [banKeyID].compactMap(\.self))
        let missing = needed.subtracting(keys.ids).sorted()
        guard missing.isEmpty else { throw MissingMasterKey(missing: missing, held: keys.ids) }
    }

    package var description: String {
        """
        the master key does not match the stored secrets: they need \(missing.joined(separator: ", ")), and \
        \(held.joined(separator: ", ")) is set. Set FEDERATION_MASTER_KEY (or FEDERATION_MASTER_KEY_FILE) to the \
        needed key. During a rotation, set the former key as FEDERATION_MASTER_KEY_PREVIOUS.
        """
    }
}
