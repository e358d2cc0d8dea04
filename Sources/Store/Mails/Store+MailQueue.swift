package import Domain
import FoundationEssentials
import Postgres

extension Store {
    /// Puts a mail into the queue and notifies the instances that deliver mails.
    ///
    /// - Parameters:
    ///   - id: The id of the mail, to which its encrypted content is bound.
    ///   - event: The event that the mail reports; there is never a second mail for the same event.
    ///   - content: The recipient's e-mail address and the text of the mail, encrypted.
    ///   - user: The user whose erasure also deletes the mail.
    ///   - application: The application of the user.
    /// - Returns: Whether the mail was queued; false when the event already has its mail or the user no longer exists.
    /// - Throws: `store_unavailable` and similar failures.
    package func enqueueMail(
        _ id: ObjectID,
        event: String,
        content: EncryptedSecret,
        user: ObjectID?,
        of application: Application
    ) async throws(Failure) -> Bool {
        let enqueuing = Self.enqueuing(id, event: event, content: content, user: user, of: application)
        return try await query(enqueuing, of: application).count == 1
    }

    static func enqueuing(
        _ id: ObjectID,
        event: String,
        content: EncryptedSecret,
        user: ObjectID?,
        of application: Application
    ) -> Statement {
        let schema = quoted(application.schema)
        let whose: Statement =
            user.map { "u.object_id from \(unsafeRaw: schema).users u where u.object_id = \($0.uuid)" } ?? "null"
        return """
            with added as (
                insert into \(unsafeRaw: schema).mails (id, event, content, content_key_id, object_id)
                select \(id.uuid), \(event), \(content.bytes), \(content.keyID), \(whose)
                on conflict (event) do nothing
                returning id
            )
            select pg_notify(\(Self.mailChannel), \(application.id.text)) from added
            """
    }

    static let mailChannel = "federation_mails"

    /// Emits an element when mails may be waiting: a mail was queued, or a lost connection may have missed
    /// notifications.
    ///
    /// Notifications can be lost, so subscribers must also poll the queue now and then.
    package func mailAnnouncements() -> some AsyncSequence<Void, Never> & Sendable {
        postgres.client.notifications(on: Self.mailChannel).map { _ in }
    }
}

/// A mail that an instance has claimed for sending.
package struct ClaimedMail: Sendable {
    package let id: ObjectID
    /// The recipient's e-mail address and the text of the mail, encrypted.
    package let content: EncryptedSecret
    /// The number of sending attempts, including the current one.
    package let attempts: Int
    /// Seconds since the mail was queued.
    package let age: Double
}

extension Store {
    /// Claims mails that are due to be sent, for this instance alone.
    ///
    /// A mail is marked before it is sent. If an instance is killed, no other instance sends the mails that it had
    /// claimed: they may have been sent already (`giveUpLostMails`).
    ///
    /// - Parameters:
    ///   - application: The application of the mails.
    ///   - limit: The maximum number of mails; those due for longest come first.
    /// - Returns: The claimed mails. Rows locked by other transactions are skipped.
    /// - Throws: `store_unavailable` and similar failures.
    package func claimMails(of application: Application, limit: Int) async throws(Failure) -> [ClaimedMail] {
        let schema = quoted(application.schema)
        let result = try await query(
            """
            with due as (
                select id from \(unsafeRaw: schema).mails
                where state = 'waiting' and due <= now()
                order by due limit \(limit)
                for no key update skip locked
            )
            update \(unsafeRaw: schema).mails m set state = 'sending', taken = now(), attempts = m.attempts + 1
            from due where m.id = due.id
            returning m.id, m.content, m.content_key_id, m.attempts, extract(epoch from now() - m.created)::float8
            """,
            of: application
        )
        return try result.all(into: ClaimedMail.init)
    }
}

/// The outcome of an attempt to send a claimed mail.
package enum MailEnd: Sendable {
    case sent
    /// The attempt failed and is to be repeated after this number of seconds.
    case waiting(seconds: Int64, problem: String)
    /// The attempt failed and is not to be repeated.
    case failed(problem: String)
    /// The mail may have been sent, so the attempt is not to be repeated.
    case uncertain(problem: String)
}

extension Store {
    /// Records the outcome of sending a claimed mail.
    ///
    /// The content of a finished mail is erased; only its row stays.
    ///
    /// - Parameters:
    ///   - id: The id of the mail.
    ///   - end: The outcome; its `problem` must not contain an address.
    ///   - application: The application of the mail.
    /// - Returns: Whether the mail was still claimed. It may have been deleted with its user, or given up as lost.
    /// - Throws: `store_unavailable` and similar failures.
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

    /// Gives up mails that were claimed long ago and whose outcome was never recorded.
    ///
    /// These mails may or may not have been sent.
    ///
    /// - Parameters:
    ///   - seconds: The time since the claim. It must be longer than an attempt to send a mail can take.
    ///   - application: The application of the mails.
    /// - Returns: The number of mails given up.
    /// - Throws: `store_unavailable` and similar failures.
    package func giveUpLostMails(after seconds: Int64, of application: Application) async throws(Failure) -> Int {
        let result = try await query(
            """
            update \(identifier: application.schema).mails
            set state = 'uncertain', done = now(), content = '', problem = 'the instance that was sending it ended'
            where state = 'sending' and taken < now() - make_interval(secs => \(seconds))
            """,
            of: application
        )
        return result.affectedRows
    }
}
