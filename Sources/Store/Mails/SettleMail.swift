import Postgres
package import Vocabulary

/// What became of a mail that was claimed.
package enum MailEnd: Sendable {
    case sent
    /// To be tried again after so many seconds.
    case waiting(seconds: Int64, problem: String)
    /// Given up.
    case failed(problem: String)
    /// Perhaps sent, so not to be tried again.
    case uncertain(problem: String)
}

extension Store {
    /// Notes what became of a claimed mail.
    ///
    /// Of a mail that is over nothing stays but that it was.
    ///
    /// - Parameters:
    ///   - id: The mail.
    ///   - end: What became of it; its problem holds no address.
    ///   - application: Whose it is.
    /// - Returns: Whether the mail was still the caller's: it may have been erased with its user, or given up as lost.
    /// - Throws: `store_unavailable` and its like.
    package func settle(_ id: ObjectID, as end: MailEnd, of application: Application) async throws(Failure) -> Bool {
        let over: Statement = "done = now(), content = ''"
        let changes: Statement =
            switch end {
            case .sent: "state = 'sent', problem = null, \(over)"
            case .waiting(let seconds, let problem):
                "state = 'waiting', taken = null, due = now() + make_interval(secs => \(seconds)), problem = \(problem)"
            case .failed(let problem): "state = 'failed', problem = \(problem), \(over)"
            case .uncertain(let problem): "state = 'uncertain', problem = \(problem), \(over)"
            }
        let result = try await query(
            """
            update \(identifier: application.schema).mails set \(changes)
            where id = \(id.uuid) and state = 'sending'
            """,
            of: application
        )
        return result.affectedRows != 0
    }

    /// Gives up the mails that somebody has claimed and never settled: they may have been sent and may not.
    ///
    /// - Parameters:
    ///   - seconds: How long after the claim; longer than sending can take.
    ///   - application: Whose mails.
    /// - Returns: How many.
    /// - Throws: `store_unavailable` and its like.
    package func giveUpLostMails(after seconds: Int64, of application: Application) async throws(Failure) -> Int {
        let result = try await query(
            """
            update \(identifier: application.schema).mails
            set state = 'uncertain', done = now(), content = '', problem = 'the instance that was sending it ended'
            where state = 'sending' and taken < now() - make_interval(secs => \(seconds))
            """,
            of: application
        )
        return result.affectedRows ?? 0
    }
}
