// Maintenance — background work of an instance.
//
// This module owns the order and the pace of background work: checks of kept tokens, due erasures, and the purge of
// expired rows, including the log of logins.
//
// It must not know how any of this work is done.

import Accounts
package import Applications
package import Domain
import FoundationEssentials
package import Logging
import Logins
import Metrics
import NIOConcurrencyHelpers
import Providers
package import Secrets
package import Store

/// The background work that keeps identities current and tables small while logins go on.
///
/// It checks kept tokens every day, exchanges short-lived tokens, reads profiles again, deletes tokens that are useless
/// or no longer to be kept, purges expired rows, and carries out due erasures.
///
/// Any number of instances run it concurrently. Each instance claims a few identities at a time, with a lease.
/// Therefore no identity is checked twice, and the claims of a killed instance expire.
///
/// Logins have priority. Only a few requests to providers run at once, with pauses between them. The pauses grow as an
/// app uses up its rate limit at the provider.
package struct Maintenance: Sendable {
    let store: Store
    let directory: ApplicationDirectory
    let settings: Settings
    let logger: Logger
    let check: TokenCheck
    let erasures: Erasures
    let random: RandomSource
    private let rounds: MaintenanceRounds
    private let turns = Turns()
    private let clock: WallClock
    private let lastRound = Gauge(label: "federation_maintenance_last_round_timestamp_seconds")

    /// The intervals and limits of background work.
    package struct Settings: Sendable {
        /// The pause between two rounds of background work, unless more checks are due.
        package var interval: Duration
        /// The time after which other instances may check the identities that an instance has claimed.
        package var lease: Duration
        /// The maximum number of checks per second and instance.
        package var checksPerSecond: Int
        /// The number of days for which the log of logins keeps an entry.
        package var loginLogDays: Int

        package init(
            interval: Duration = .seconds(5),
            lease: Duration = .seconds(60),
            checksPerSecond: Int = 10,
            loginLogDays: Int = 30
        ) {
            self.interval = interval
            self.lease = lease
            self.checksPerSecond = checksPerSecond
            self.loginLogDays = loginLogDays
        }
    }

    /// The maximum number of kept tokens that an instance checks at the same time.
    private static let concurrentChecks = 4
    /// The number of rounds of background work from one purge of expired rows to the next.
    private static let roundsToPurge = 12
    /// The maximum number of applications purged in one round.
    ///
    /// A purge is expensive for PostgreSQL even without expired rows.
    private static let purgedAtOnce = 20

    package init(
        store: Store,
        directory: ApplicationDirectory,
        masterKeys: MasterKeys,
        settings: Settings,
        rounds: MaintenanceRounds = MaintenanceRounds(),
        clock: WallClock,
        random: RandomSource,
        logger: Logger
    ) {
        self.store = store
        self.directory = directory
        self.settings = settings
        self.rounds = rounds
        self.logger = logger
        self.random = random
        self.clock = clock
        check = TokenCheck(store: store, masterKeys: masterKeys, clock: clock)
        erasures = Erasures(
            store: store,
            revoker: PermissionRevoker(store: store, masterKeys: masterKeys),
            banKey: directory.banKey
        )
    }

    /// Runs rounds until the task is cancelled.
    ///
    /// A round checks at most one batch of each provider of an application. However many checks are due, erasures,
    /// purges and the checks of other applications are therefore on time.
    package func run() async {
        // To build an index may take long. Erasures and checks do not wait for it.
        let indexes = IndexMaintenance(store: store, directory: directory, interval: settings.interval, logger: logger)
        async let indexing: Void = indexes.run()
        await work()
        await indexing
    }

    private func work() async {
        var line: [ApplicationID] = []
        var untilPurge = 0
        while !Task.isCancelled {
            var report = MaintenanceReport()
            // A random order keeps instances from meeting at every application.
            let applications = directory.applications.filter { $0.defect == nil }.shuffled()
            if untilPurge == 0 {
                let waiting = Set(line)
                line += applications.map(\.application.id).filter { !waiting.contains($0) }
                untilPurge = Self.roundsToPurge
                await purgeLogins(&report)
            }
            untilPurge -= 1
            let turn = Set(line.prefix(Self.purgedAtOnce))
            line.removeFirst(turn.count)
            // An application that still has expired rows gets its next turn after all others.
            line += await purge(applications.filter { turn.contains($0.application.id) }, &report)
            await erase(&report)
            var isMoreDue = false
            for application in applications {
                for provider in application.providersWithTokens where provider.isEnabled && !Task.isCancelled {
                    if await checkBatch(of: provider, in: application, &report) { isMoreDue = true }
                }
            }
            report.log(to: logger)
            report.count()
            lastRound.record(clock.seconds)
            rounds.note(report.round(endedAt: clock.milliseconds))
            if !isMoreDue { try? await Task.sleep(for: settings.interval * Double.random(in: 0.9...1.1)) }
        }
    }

    // MARK: Checks

    /// Claims a batch of identities for this instance, and checks the access tokens that the service keeps for them.
    ///
    /// - Returns: Whether more checks may be due now.
    private func checkBatch(
        of provider: any TokenChecking,
        in loaded: LoadedApplication,
        _ report: inout MaintenanceReport
    ) async -> Bool {
        let apps = provider.apps.map(\.id)
        let resting = apps.filter { provider.backgroundPace(of: $0) == .none }
        // A provider without an app may still have tokens to delete.
        guard apps.isEmpty || resting.count < apps.count else { return false }
        // The lease counts from before the claim. So it ends here before another instance may claim the identities.
        let end = ContinuousClock.now + settings.lease
        let claimed: [KeptIdentity]
        do throws(Failure) {
            claimed = try await store.claimIdentities(
                of: loaded.application,
                at: provider.name,
                except: resting,
                limit: batchSize,
                leaseSeconds: settings.lease / .seconds(1)
            )
        } catch {
            report.note(error)
            return false
        }
        let found = await withTaskGroup(of: MaintenanceReport.self) { group in
            var found = MaintenanceReport()
            for (index, identity) in claimed.enumerated() {
                if index >= Self.concurrentChecks, let report = await group.next() { found.add(report) }
                group.addTask { await work(on: identity, of: provider, in: loaded, until: end) }
            }
            for await report in group { found.add(report) }
            return found
        }
        report.add(found)
        return claimed.count == batchSize && found.left == 0
    }

    /// Checks the kept token of one identity, after the pause that the previous check requires.
    ///
    /// If the instance's claim of the identity would expire before the check, or if requests to the provider must
    /// pause, it checks nothing.
    private func work(
        on identity: KeptIdentity,
        of provider: any TokenChecking,
        in loaded: LoadedApplication,
        until end: ContinuousClock.Instant
    ) async -> MaintenanceReport {
        var report = MaintenanceReport()
        let pace = provider.backgroundPace(of: identity.app)
        let pause = Duration.seconds(1) / settings.checksPerSecond * (pace == .slow ? Self.slowness : 1)
        let turn = turns.next(pause: pace == .none ? .zero : pause)
        guard pace != .none, turn + Self.leastTime < end, await slept(until: turn) else {
            report.left = 1
            return report
        }
        do throws(Failure) {
            let (result, exchanged) = try await check.run(
                identity,
                of: loaded,
                deadline: min(end, turn + Self.checkTime)
            )
            report.note(result, exchanged: exchanged)
        } catch {
            report.note(error)
        }
        return report
    }

    private func slept(until turn: ContinuousClock.Instant) async -> Bool {
        do {
            try await Task.sleep(until: turn, clock: .continuous)
            return true
        } catch {
            return false
        }
    }

    /// The number of identities that this instance claims at once.
    ///
    /// The checks of these identities take at most about half of the time for which the claim is valid, even with the
    /// longer pauses for a provider whose rate limit is nearly used up.
    private var batchSize: Int {
        let checks = Double(settings.checksPerSecond) * (settings.lease / .seconds(1)) / Double(2 * Self.slowness)
        return min(max(Int(checks), 1), 200)
    }

    /// The number by which the pauses between checks are multiplied when an app has used up much of its rate limit.
    private static let slowness = 4
    /// The time limit of the check of one kept token.
    ///
    /// A check sends up to three requests to the provider.
    private static let checkTime = Duration.seconds(10)
    /// The minimum time between the start of a check and the end of the instance's claim of the identity.
    ///
    /// If less time is left, the check does not begin.
    private static let leastTime = Duration.milliseconds(500)

    // MARK: Erasures

    /// Carries out due erasures, even of applications whose secrets do not decrypt.
    ///
    /// The erasures come from requests of providers and from operators' lists.
    private func erase(_ report: inout MaintenanceReport) async {
        let due: Set<ApplicationID>
        do throws(Failure) { due = try await store.applicationsWithDueDeletions() } catch {
            report.note(error)
            return
        }
        // If an application has a database of its own, its deletion requests are there.
        let asked = directory.applications.filter {
            due.contains($0.application.id) || $0.application.database != nil
        }
        for loaded in asked where !Task.isCancelled {
            do throws(Failure) {
                report.erased += try await erasures.eraseWhatIsDue(of: loaded, logger: logger)
            } catch {
                report.note(error)
            }
        }
    }

    // MARK: Expired rows

    /// Purges expired rows, and deletes tokens that have expired or are no longer to be kept.
    ///
    /// - Returns: The applications that still have such rows.
    private func purge(_ applications: [LoadedApplication], _ report: inout MaintenanceReport) async -> [ApplicationID]
    {
        var left: [ApplicationID] = []
        for loaded in applications where !Task.isCancelled {
            let application = loaded.application
            do throws(Failure) {
                var isDone = true
                for expired in Expired.allCases {
                    let count = try await repeated { () throws(Failure) in
                        try await store.purge(expired, of: application, limit: Self.rowsAtOnce)
                    }
                    report.purged[expired, default: 0] += count.rows
                    isDone = isDone && count.isDone
                }
                let merges = try await repeated { () throws(Failure) in
                    try await store.forgetMerges(of: application, limit: Self.rowsAtOnce)
                }
                report.merges += merges.rows
                isDone = isDone && merges.isDone
                let keeping = loaded.providersWithTokens.map(\.name)
                if !keeping.isEmpty {
                    let ended = try await repeated { () throws(Failure) in
                        try await store.dropEndedTokens(of: application, limit: Self.rowsAtOnce)
                    }
                    report.forgotten += ended.rows
                    isDone = isDone && ended.isDone
                }
                // This version must not delete tokens of a provider kind that only a later version knows.
                let others = keeping + loaded.unknownProviders
                let count = try await repeated { () throws(Failure) in
                    try await store.dropTokens(of: application, except: others, limit: Self.rowsAtOnce)
                }
                report.forgotten += count.rows
                report.sessions += try await removeEndedSessions(of: application)
                report.guests += try await removeLostGuests(of: application)
                if !isDone || !count.isDone { left.append(application.id) }
            } catch {
                report.note(error)
            }
        }
        return left
    }

    /// Purges the log of logins, and anonymizes erased users in the log.
    ///
    /// It purges old entries of the log, old counts of logins, and the entries and counts of deleted applications.
    private func purgeLogins(_ report: inout MaintenanceReport) async {
        let days = settings.loginLogDays
        do throws(Failure) {
            _ = try await repeated { () throws(Failure) in try await store.forgetErasedLogins(limit: Self.rowsAtOnce) }
            // Between two calls, an instance may add some thousand rows to the log.
            for _ in 0..<20 where !Task.isCancelled {
                let old = try await repeated { () throws(Failure) in
                    try await store.purgeLogins(olderThanDays: days, limit: Self.rowsAtOnce)
                }
                report.logins += old.rows
                if old.isDone { break }
            }
            _ = try await repeated { () throws(Failure) in
                try await store.purgeLoginCounts(olderThanDays: days, limit: Self.rowsAtOnce)
            }
            report.logins += try await repeated { () throws(Failure) in
                try await store.purgeLoginsOfGoneApplications(limit: Self.rowsAtOnce)
            }.rows
        } catch {
            report.note(error)
        }
    }

    /// Purges ended sessions from a part of the table of sessions.
    ///
    /// A small table is scanned as a whole. Of a large one, a call scans about a sixtieth, so that the next application
    /// does not wait for long. Each scan begins at a random position. In this way the scans of all instances reach the
    /// whole table in time.
    ///
    /// - Returns: The number of purged sessions.
    private func removeEndedSessions(of application: Application) async throws(Failure) -> Int {
        let parts = try await store.partsOfSessions(of: application)
        guard parts > 0 else { return 0 }
        let first = Int.random(in: 0..<parts)
        var removed = 0
        for number in 0..<Self.partsOfTurn(parts) where !Task.isCancelled {
            removed += try await store.removeEndedSessions(inPart: (first + number) % parts, of: application)
        }
        return removed
    }

    /// Returns how many parts of the table of sessions one scan for ended sessions reads.
    ///
    /// A part has 64 KiB. `parts` is the number of all parts of the table. The result is a sixtieth of them, but at
    /// least 64 (or the whole table) and at most 512.
    static func partsOfTurn(_ parts: Int) -> Int { min(parts, max(64, min(parts / 60, 512))) }

    /// Purges guests without a session.
    ///
    /// One call looks at a few thousand guests at most. It begins at a random id. In this way the calls of all
    /// instances reach all guests in time.
    ///
    /// - Returns: The number of purged guests.
    private func removeLostGuests(of application: Application) async throws(Failure) -> Int {
        var last: ObjectID? = random.objectID()
        var removed = 0
        var isAtEnd = false
        for _ in 0..<10 {
            let part = try await store.removeLostGuests(after: last, of: application, limit: Self.rowsAtOnce)
            removed += part.removed
            last = part.last
            guard last == nil else { continue }
            if isAtEnd { break }
            isAtEnd = true
        }
        return removed
    }

    /// Repeats a purge until no rows are left, at most ten times.
    ///
    /// The limit gives other applications their turn, since they have expired rows, too.
    private func repeated(
        _ remove: () async throws(Failure) -> Int
    ) async throws(Failure) -> (rows: Int, isDone: Bool) {
        var rows = 0
        for _ in 0..<10 {
            let removed = try await remove()
            rows += removed
            if removed < Self.rowsAtOnce { return (rows, true) }
        }
        return (rows, false)
    }

    /// The maximum number of rows that one statement deletes.
    ///
    /// The number is small, since other transactions wait for the locks of the statement.
    private static let rowsAtOnce = 500
}

/// Assigns a start time to each check of a kept token.
///
/// For each check, the caller passes the pause that must follow the check. The next check starts at the end of this
/// pause, or later.
private final class Turns: Sendable {
    private let next = NIOLockedValueBox(ContinuousClock.now)

    func next(pause: Duration) -> ContinuousClock.Instant {
        next.withLockedValue { next in
            let turn = max(next, .now)
            next = turn + pause
            return turn
        }
    }
}

extension LoadedApplication {
    /// The providers of the application that are configured so that the service keeps access tokens.
    fileprivate var providersWithTokens: [any TokenChecking] {
        configuredProviders.compactMap { $0 as? any TokenChecking }.filter { $0.tokenPolicy != nil }
    }
}
