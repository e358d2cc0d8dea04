package import Applications
package import Logging
package import Mailing
import Metrics
package import Secrets
package import Store
package import Vocabulary

/// Sends the mails of the queue, soon after they were put into it.
///
/// Any number of instances do it side by side. A mail is marked as being sent before it is, so an event never brings
/// two: what failed for certain is tried again later and later, and what nobody knows about never again
/// (docs/operations/install.md#mail).
package struct MailDelivery: Sendable {
    let store: Store
    let directory: ApplicationDirectory
    let masterKeys: MasterKeys
    let mailer: Mailer
    let settings: Settings
    let clock: WallClock
    let logger: Logger

    /// How often and how long.
    package struct Settings: Sendable {
        /// Between two looks at the queue when nobody says that there is something in it.
        package var interval: Duration
        /// After what time a mail whose sending was never finished is given up; longer than sending can take.
        package var lostAfter: Duration
        /// How long one application sends before it is the turn of the next one.
        package var turn: Duration

        package init(
            interval: Duration = .seconds(5),
            lostAfter: Duration = .seconds(600),
            turn: Duration = .seconds(2)
        ) {
            self.interval = interval
            self.lostAfter = lostAfter
            self.turn = turn
        }
    }

    /// Mails under way at once, by one instance.
    private static let concurrentMails = 4
    /// Seconds after which a mail that could not be sent is given up.
    private static let patience: Double = 86_400
    private static let longestPause: Int64 = 6 * 3600
    /// How long mails that were sent had been in the queue.
    private static let waits = Timer(label: "federation_mail_wait_seconds")

    package init(
        store: Store,
        directory: ApplicationDirectory,
        masterKeys: MasterKeys,
        mailer: Mailer,
        settings: Settings = Settings(),
        clock: WallClock,
        logger: Logger
    ) {
        self.store = store
        self.directory = directory
        self.masterKeys = masterKeys
        self.mailer = mailer
        self.settings = settings
        self.clock = clock
        self.logger = logger
    }

    /// Works until the task is cancelled; mails under way are then brought to their end.
    package func run() async {
        // What is heard while mails are being sent counts as one more look at the queue.
        let (looks, look) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await _ in store.mailAnnouncements() { look.yield() }
            }
            group.addTask {
                while !Task.isCancelled {
                    look.yield()
                    try? await Task.sleep(for: settings.interval)
                }
            }
            group.addTask {
                for await _ in looks { await deliver() }
            }
        }
    }

    /// Sends what is due, of all applications.
    package func deliver() async {
        while await deliverInTurn(), !Task.isCancelled {}
    }

    /// Lets each application send for a moment, so that nobody's mail stands behind all that another one has to send.
    ///
    /// - Returns: Whether there may be more to send now.
    private func deliverInTurn() async -> Bool {
        var isMoreDue = false
        for loaded in directory.applications where !Task.isCancelled {
            var report = MailReport()
            do throws(Failure) {
                report.lost = try await store.giveUpLostMails(
                    after: settings.lostAfter.components.seconds,
                    of: loaded.application
                )
                let end = ContinuousClock.now + settings.turn
                while !Task.isCancelled {
                    let claimed = try await store.claimMails(of: loaded.application, limit: Self.concurrentMails)
                    for end in await send(claimed, of: loaded.application) { report.note(end) }
                    if claimed.count < Self.concurrentMails { break }
                    if .now >= end {
                        isMoreDue = true
                        break
                    }
                }
            } catch {
                report.note(error)
            }
            report.log(of: loaded.application.id, to: logger)
            report.count()
        }
        return isMoreDue
    }

    private func send(_ mails: [ClaimedMail], of application: Application) async -> [MailEnd] {
        // In tasks of their own, which the end of this one does not cancel: a mail that is broken off may have been
        // sent.
        let tasks = mails.map { mail in Task { await send(mail, of: application) } }
        var ends: [MailEnd] = []
        for task in tasks { ends.append(await task.value) }
        return ends
    }

    private func send(_ claimed: ClaimedMail, of application: Application) async -> MailEnd {
        let end = await end(of: claimed, of: application)
        // Unwritten, it would be given up as lost, however it ended.
        for attempt in 1...5 {
            if (try? await store.settle(claimed.id, as: end, of: application)) != nil { break }
            try? await Task.sleep(for: .seconds(attempt))
        }
        return end
    }

    private func end(of claimed: ClaimedMail, of application: Application) async -> MailEnd {
        let place = MasterKey.Place.mail(application: application.id, id: claimed.id)
        guard let queued = masterKeys.open(claimed.content, at: place).flatMap(QueuedMail.init) else {
            return .failed(problem: "it is under the master key \(claimed.content.keyID) and does not open")
        }
        guard clock.seconds < queued.usefulUntil else {
            return .failed(problem: "it came to be of no use before it could be sent")
        }
        switch await mailer.send(queued.mail) {
        case .accepted:
            Self.waits.record(duration: .seconds(claimed.age))
            return .sent
        case .postponed(let problem, _) where claimed.age < Self.patience:
            return .waiting(seconds: Self.pause(after: claimed.attempts), problem: problem)
        case .postponed(let problem, _), .refused(let problem, _): return .failed(problem: problem)
        case .uncertain(let problem): return .uncertain(problem: problem)
        }
    }

    /// A minute, two, four, … six hours.
    package static func pause(after attempts: Int) -> Int64 {
        min(60 << Int64(max(0, min(attempts, 12) - 1)), longestPause)
    }
}
