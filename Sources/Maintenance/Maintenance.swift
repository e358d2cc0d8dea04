// Maintenance — what goes on while nobody waits.
//
// It owns in which order and how fast: checks of kept tokens, erasures that are due, and the removal of what has
// expired, of the log of logins, too.
//
// It must not know how any of it is done.

package import Applications
import Deletions
import FoundationEssentials
import KeptTokens
import Metrics
package import Logging
import NIOConcurrencyHelpers
import Providers
package import Secrets
package import Store
package import Vocabulary

/// Keeps identities true and tables small while logins go on: checks kept tokens day by day, exchanges short-lived
/// ones, reads profiles again, forgets tokens that are of no use or no longer to be kept, removes what has expired, and
/// erases whom a provider asked us to erase.
///
/// Any number of instances do it side by side. Each claims a few identities at a time for the length of a lease, so
/// that no identity is checked twice and what a killed instance had claimed comes back by itself. Logins come first:
/// little is asked at once and at a pace, and less the more of an app's allowance at its provider is used.
package struct Maintenance: Sendable {
    let store: Store
    let directory: ApplicationDirectory
    let settings: Settings
    let logger: Logger
    let check: TokenCheck
    let erasures: Erasures
    let random: RandomSource
    private let rounds: UpkeepRounds
    private let turns = Turns()
    private let clock: WallClock
    private let lastRound = Gauge(label: "federation_upkeep_last_round_timestamp_seconds")

    /// How often and how fast.
    package struct Settings: Sendable {
        /// Between the end of one round and the beginning of the next.
        package var interval: Duration
        /// How long claimed identities belong to one instance.
        package var lease: Duration
        /// Identities checked in a second at most, by one instance.
        package var checksPerSecond: Int
        /// How long the log of logins is kept.
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

    /// Checks under way at once.
    private static let concurrentChecks = 4
    /// Rounds from one removal of expired rows to the next.
    private static let roundsToPurge = 12
    /// Applications whose expired rows are removed in one round at most: each asks a lot of PostgreSQL even if there
    /// are none.
    private static let purgedAtOnce = 20

    package init(
        store: Store,
        directory: ApplicationDirectory,
        masterKeys: MasterKeys,
        settings: Settings,
        rounds: UpkeepRounds = UpkeepRounds(),
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

    /// Works round by round until the task is cancelled.
    ///
    /// A round checks one batch of each application at most, so that however much there is to check, what is promised
    /// for a time is done in time: erasures, removals, and the checks of other applications.
    package func run() async {
        // A build takes as long as it takes, and erasures and checks do not wait for it.
        let indexes = IndexUpkeep(store: store, directory: directory, interval: settings.interval, logger: logger)
        async let indexing: Void = indexes.run()
        await work()
        await indexing
    }

    private func work() async {
        var line: [ApplicationID] = []
        var untilPurge = 0
        while !Task.isCancelled {
            var report = MaintenanceReport()
            // In an order of its own, so that instances do not meet at every application.
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
            // Where something is left it is the turn of all others first.
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

    /// Claims a batch and works through it.
    ///
    /// - Returns: Whether there may be more to do now.
    private func checkBatch(
        of provider: any TokenChecking,
        in loaded: LoadedApplication,
        _ report: inout MaintenanceReport
    ) async -> Bool {
        let apps = provider.apps.map(\.id)
        let resting = apps.filter { provider.backgroundPace(of: $0) == .none }
        // Without an app there are tokens to forget, if any.
        guard apps.isEmpty || resting.count < apps.count else { return false }
        // It counts from before the question, so that it is over here before anybody else may claim.
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

    /// Checks one identity when its turn comes, unless the claim is over then or the provider is not to be asked.
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

    /// What can be done in half of a lease even at the slow pace.
    private var batchSize: Int {
        let checks = Double(settings.checksPerSecond) * (settings.lease / .seconds(1)) / Double(2 * Self.slowness)
        return min(max(Int(checks), 1), 200)
    }

    /// How many times longer the pauses are at the slow pace.
    private static let slowness = 4
    /// A check takes up to three questions.
    private static let checkTime = Duration.seconds(10)
    /// A check with less time left is not begun.
    private static let leastTime = Duration.milliseconds(500)

    // MARK: Erasures

    /// Erases whom a provider asked us to erase and whose time has come, of all applications: no secret is needed for
    /// that.
    private func erase(_ report: inout MaintenanceReport) async {
        let due: Set<ApplicationID>
        do throws(Failure) { due = try await store.applicationsWithDueDeletions() } catch {
            report.note(error)
            return
        }
        // Who has a database of the own is asked there.
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

    /// Removes what has expired, and tokens that have come to their end or are no longer to be kept.
    ///
    /// - Returns: The applications of which something is left.
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
                let keeping = loaded.providersWithTokens.map(\.name)
                if !keeping.isEmpty {
                    let ended = try await repeated { () throws(Failure) in
                        try await store.dropEndedTokens(of: application, limit: Self.rowsAtOnce)
                    }
                    report.forgotten += ended.rows
                    isDone = isDone && ended.isDone
                }
                // What a later version keeps of a kind that is new in it is not for this one to forget.
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

    /// Removes rows and counts of the log of logins that are past their time or of applications that are gone, and has
    /// it forget who was erased.
    private func purgeLogins(_ report: inout MaintenanceReport) async {
        let days = settings.loginLogDays
        do throws(Failure) {
            _ = try await repeated { () throws(Failure) in try await store.forgetErasedLogins(limit: Self.rowsAtOnce) }
            // An instance writes some thousand rows between two calls.
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

    /// Removes sessions that are over from a sixtieth of their table: from all of a small one, and never from so much
    /// that the next application would wait for long.
    ///
    /// Each time it begins somewhere else, so that in time all are looked at, by whatever instances.
    ///
    /// - Returns: How many were removed.
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

    /// How many parts of a table of sessions are looked through at once: a sixtieth of them, 64 to 512, of 64 KiB each.
    static func partsOfTurn(_ parts: Int) -> Int { min(parts, max(64, min(parts / 60, 512))) }

    /// Removes guests who have lost their session, from among some thousands of all guests.
    ///
    /// Each time it begins somewhere else, as with sessions.
    ///
    /// - Returns: How many were removed.
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

    /// Repeats a removal until nothing is left, some times at most: other applications have rows, too.
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

    /// So few that nobody waits long for a lock.
    private static let rowsAtOnce = 500
}

/// Gives out moments to begin, each a pause behind the one before.
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
    /// The providers whose tokens are to be kept.
    fileprivate var providersWithTokens: [any TokenChecking] {
        configuredProviders.compactMap { $0 as? any TokenChecking }.filter { $0.tokenPolicy != nil }
    }
}
