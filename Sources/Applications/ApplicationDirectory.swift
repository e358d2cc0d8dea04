package import Logging
import NIOConcurrencyHelpers
package import Providers
package import Secrets
package import Store
package import Vocabulary

/// Every application's configuration, in memory, as of the last look at the database.
///
/// `run` looks as soon as the database announces a change, and every few seconds in any case, since an announcement can
/// be lost with its connection; what has changed is loaded anew, the rest stays. While the database is away the last
/// copy stays in use: a login then fails where it needs the database, with a clear reason. A change that this process
/// has made itself is read before anybody is told that it has been made (`follow`).
package final class ApplicationDirectory: Sendable {
    /// Looks at the database by connections that no slow question of an operator occupies.
    private let store: Store
    private let masterKeys: MasterKeys
    private let kinds: ProviderKinds
    private let clock: WallClock
    private let logger: Logger
    package let banKey: BanKey
    package let tokenKeys: TokenKeys
    private let memory = NIOLockedValueBox(ConfigurationMemory())
    private let looks = Looks<Sight>()
    /// When the copy was last known to be what the database has.
    private let seen = NIOLockedValueBox<ContinuousClock.Instant?>(nil)
    private let clockOffset = NIOLockedValueBox<Int64?>(nil)
    /// Why nothing may be sealed any more: the database has come to know other master keys.
    private let refusal = NIOLockedValueBox<Failure?>(nil)
    /// At most one look is due: it sees everything that was announced before it began.
    private let due = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// What came of a look at the database.
    private enum Sight: Sendable {
        /// The copy is at least as new as what there was when the look began.
        case current
        /// The database could not be asked, and the copy is what it was.
        case nothing
        /// What the first look has read cannot be used.
        case unusable(UnusableMasterKey)
    }

    /// A change whose announcement was lost is seen after this at the latest.
    private static let interval = Duration.seconds(5)
    /// How long the reading of a change that this process has made is tried before the application is not served.
    private static let patience = Duration.seconds(2)

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

    /// The application that the first two segments of a public path name, or two headers, and which of its keys that
    /// was.
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
                "There is no application with this id and API key. Check both in the base URL of your client."
            )
        }
        return (found, key)
    }

    /// The application of an id alone, for pages that a mail leads to and for its published keys.
    ///
    /// - Throws: `not_found`.
    package func application(id: Substring) throws(Failure) -> LoadedApplication {
        let copy = try loadedCopy()
        guard let id = ApplicationID(id), let found = try copy.application(id) else {
            throw Failure(
                .notFound,
                "There is nothing at this address. Check that it is complete."
            )
        }
        return found
    }

    /// The application whose path `/api` a host's is: the `Host` of a request without its port, in lower case.
    ///
    /// - Throws: `unknown_application`, also while two applications claim the host: neither may get the other's users.
    package func application(host: Substring) throws(Failure) -> LoadedApplication {
        let copy = try loadedCopy()
        guard let named = copy.application(host: host), let found = try copy.application(named.application.id) else {
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

    /// Does something with an application, and does it again with what has become of it as often as nothing was done
    /// because the application had been changed meanwhile: a column that a statement names may be gone.
    ///
    /// Nothing is begun after the end. What has an effect beside the statements that name columns belongs in front of
    /// this: it would happen again.
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

    /// The application as it is by now, for somebody whose statement does not fit what the database has.
    ///
    /// - Parameters:
    ///   - loaded: The application that the statement was made for.
    ///   - end: When nobody waits any more.
    /// - Returns: Nil when it has not been changed, or the database could not be asked until the end.
    /// - Throws: `unknown_application` when it has been removed.
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
        return await look(until: end) ? try current() : nil
    }

    /// Brings a change into the copy that has been committed: whoever asks from then on is answered by it.
    ///
    /// While it cannot be read the application is not served, since what has been forbidden must not be allowed any
    /// longer.
    package func follow(changeOf id: ApplicationID) async {
        // The change may have deleted the application, and its keys with it.
        tokenKeys.forget()
        guard await !look(until: .now + Self.patience) else { return }
        memory.withLockedValue { $0.suspend(id) }
        due.continuation.yield()
        logger.error(
            "a change could not be read, so that its application is not served until it can be",
            metadata: ["application": "\(id)"]
        )
    }

    /// All applications; none while no copy of the configuration is in memory, or nothing may be sealed.
    package var applications: [LoadedApplication] {
        guard keyRefusal == nil else { return [] }
        return memory.withLockedValue { $0.copy.map { Array($0.applications.values) } ?? [] }
    }

    /// The copy, as it is shown.
    package struct Statistics: Sendable {
        /// Of the configuration; nil while there is no copy.
        package let revision: Int64?
        package let applications: Int
        /// Since it was last known to be what the database has.
        package let age: Duration?
        /// How far this machine's clock was ahead of the database's when that was last asked; nil before.
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

    /// Why this instance may seal nothing, and so serves nobody; nil when it may, or nothing is known yet.
    package var keyRefusal: Failure? { refusal.withLockedValue(\.self) }

    /// Keeps the copy true until the task is cancelled.
    ///
    /// - Throws: `UnusableMasterKey` when the first look finds that the database does not know the master key that this
    ///   instance was given, or has secrets under another one.
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
            // Settings that nobody changes come to their end, too.
            if day != clock.today {
                day = clock.today
                Ending.all(in: applications, on: day).log(to: logger)
            }
            guard memory.withLockedValue(\.isSuspending) else { continue }
            try? await Task.sleep(for: .milliseconds(250))
            due.continuation.yield()
        }
    }

    /// Looks once; what goes wrong on the way to the database is logged, and the copy stays as it is.
    package func refresh() async throws(UnusableMasterKey) {
        if case .unusable(let unusable) = await looks.join({ await self.look() }) { throw unusable }
    }

    /// Looks until the database has been seen as it is by now, or the time is over.
    private func look(until end: ContinuousClock.Instant) async -> Bool {
        while true {
            if case .current = await looks.join({ await self.look() }) { return true }
            guard .now < end, (try? await Task.sleep(for: .milliseconds(.random(in: 50...150)))) != nil else {
                return false
            }
        }
    }

    private func look() async -> Sight {
        var look = memory.withLockedValue { $0.look() }
        let read: ConfigurationCopy
        let banKeyID: String?
        do throws(Failure) {
            do throws(Failure) {
                // Only an instance that starts makes a new key known, if it holds a known one, too: so a rotation
                // begins.
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
            if let known = look.since {
                let (revision, milliseconds) = try await store.configurationState()
                compareClock(with: milliseconds)
                guard revision != known else { return current() }
                if revision < known {
                    look = memory.withLockedValue {
                        $0.doubt()
                        return $0.look()
                    }
                }
            }
            read = try await store.configuration(changedAfter: look.since ?? 0)
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
        take(read, of: look)
        return current()
    }

    /// Sessions end by the database's clock, what providers sign by this machine's; operators hear when they differ.
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

    private func current() -> Sight {
        seen.withLockedValue { $0 = .now }
        return .current
    }

    /// Says where passwords are under a master key that is not held.
    ///
    /// It is no reason not to start: other login methods work, and passwords can be reset by mail. Nor does anybody
    /// wait for it: each application is asked for by itself.
    private func warnOfPasswords() async {
        for loaded in applications where !Task.isCancelled {
            let application = loaded.application
            guard let keyID = try? await store.passwordKey(of: application), !masterKeys.ids.contains(keyID) else {
                continue
            }
            logger.error(
                "passwords are sealed under a master key that this instance was not given",
                metadata: ["application": "\(application.id)", "key": "\(keyID)"]
            )
        }
    }

    private func loadedCopy() throws(Failure) -> ConfigurationMemory.Copy {
        guard keyRefusal == nil else {
            // Other instances could not open what this one sealed. Its log and its readiness say which key is wanted.
            throw Failure(.storeUnavailable, "This instance cannot serve you. Try again shortly.", retryAfter: 5)
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

    /// Puts what was read into the copy, unless another look knows better.
    private func take(_ read: ConfigurationCopy, of look: ConfigurationMemory.Look) {
        let loaded = read.changed.map { LoadedApplication($0, masterKeys: masterKeys, kinds: kinds) }
        for application in loaded {
            let id = application.application.id
            // From now on its database is looked at, if it has one of its own; what is known at once is its variable.
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
            $0.take(revision: read.revision, ids: read.ids, changed: loaded, of: look)
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
    /// Says what comes to its end, unless it has been said of the application before: an application is also loaded
    /// anew for other reasons.
    private func logEndings(of loaded: [LoadedApplication], insteadOf former: [ApplicationID: LoadedApplication]) {
        guard let day = clock.today else { return }
        let changed = loaded.filter { loaded in
            let known = former[loaded.application.id]?.endings(on: day)
            return known != loaded.endings(on: day)
        }
        Ending.all(in: changed, on: day).log(to: logger)
    }
}

/// Why an instance cannot start with its master keys.
package enum UnusableMasterKey: Error, CustomStringConvertible {
    /// The database does not know the key that seals.
    case unknown(Failure)
    case missing(MissingMasterKey)

    package var description: String {
        switch self {
        case .unknown(let failure): failure.message
        case .missing(let missing): "\(missing)"
        }
    }
}

/// Secrets are stored under master keys that this instance was not given: it could log nobody in.
package struct MissingMasterKey: Error, CustomStringConvertible {
    /// The keys that are missing, by their ids.
    package let missing: [String]
    /// The keys that were given.
    package let held: [String]

    /// Throws when the applications, or the key of bans, need a key that is not held.
    package static func check(
        _ applications: [StoredApplication],
        _ banKeyID: String?,
        kinds: ProviderKinds,
        held keys: MasterKeys
    ) throws(MissingMasterKey) {
        let secrets = applications.flatMap { $0.providers.values.flatMap(\.apps).map(\.secret.keyID) }
        let options = applications.flatMap { $0.secretOptions(kinds) }.compactMap(\.sealed?.keyID)
        let needed = Set(secrets + options + [banKeyID].compactMap(\.self))
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
