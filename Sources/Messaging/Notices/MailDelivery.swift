package import Applications
package import Domain
package import Logging
import Metrics
package import Secrets
package import Store

/// Sends the mails in the queue, soon after they are enqueued.
///
/// Any number of instances may send mails at the same time. Before an instance sends a mail, it marks the mail in the
/// queue, so that no other instance sends the mail, too. If a mail was certainly not sent, it is sent again after a
/// growing backoff. If the outcome is uncertain, the mail is not sent again (docs/operations/install.md#mail).
package struct MailDelivery: Sendable {
    let store: Store
    let directory: ApplicationDirectory
    let masterKeys: MasterKeys
    let mailer: Mailer
    let settings: Settings
    let clock: WallClock
    let logger: Logger

    /// The intervals of the delivery.
    package struct Settings: Sendable {
        /// The interval at which the queue is polled.
        ///
        /// A notification of PostgreSQL about a new mail causes an additional poll at once.
        package var interval: Duration
        /// The time after which a mail without a recorded outcome is given up, counted from the beginning of its
        /// sending.
        ///
        /// The instance that sent the mail may have ended meanwhile. The time must be longer than any sending takes.
        package var lostAfter: Duration
        /// The time for which the mails of one application are sent before it is the next application's turn.
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

    /// The maximum number of concurrent mails of one instance.
    private static let concurrentMails = 4
    /// The number of seconds after which a mail in the queue is given up if no attempt to send it has succeeded.
    private static let timeout: Double = 86_400
    private static let longestPause: Int64 = 6 * 3600
    /// The metric of how long mails wait in the queue until they are sent.
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

    /// Delivers mails until the task is cancelled, and then finishes the mails whose sending has begun.
    package func run() async {
        // A notification that arrives while mails are sent causes one more poll of the queue.
        let (rounds, next) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await _ in store.mailAnnouncements() { next.yield() }
            }
            group.addTask {
                while !Task.isCancelled {
                    next.yield()
                    try? await Task.sleep(for: settings.interval)
                }
            }
            group.addTask {
                for await _ in rounds { await deliver() }
            }
        }
    }

    /// Sends the due mails of all applications.
    package func deliver() async {
        while await deliverInTurn(), !Task.isCancelled {}
    }

    /// Sends mails of each application in turn, for a limited time each.
    ///
    /// So no mail waits until all mails of another application are sent.
    ///
    /// - Returns: Whether more mails may be due now.
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
        // Each mail has a task of its own. The cancellation of this task does not cancel it, since an interrupted mail
        // may have been sent.
        let tasks = mails.map { mail in Task { await send(mail, of: application) } }
        var ends: [MailEnd] = []
        for task in tasks { ends.append(await task.value) }
        return ends
    }

    private func send(_ claimed: ClaimedMail, of application: Application) async -> MailEnd {
        let end = await end(of: claimed, of: application)
        // Without this write, the mail would later be given up as lost, whatever its outcome.
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
        case .postponed(let problem, _) where claimed.age < Self.timeout:
            return .waiting(seconds: Self.pause(after: claimed.attempts), problem: problem)
        case .postponed(let problem, _), .refused(let problem, _): return .failed(problem: problem)
        case .uncertain(let problem): return .uncertain(problem: problem)
        }
    }

    /// Returns the time in seconds before the next attempt to send a mail, by the number of attempts so far.
    ///
    /// The time is one minute after the first attempt. It doubles with each further attempt, up to six hours.
    package static func pause(after attempts: Int) -> Int64 {
        min(60 << Int64(max(0, min(attempts, 12) - 1)), longestPause)
    }
}
