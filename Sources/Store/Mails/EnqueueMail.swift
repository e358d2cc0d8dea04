import Postgres
package import Vocabulary

extension Store {
    /// Puts a mail into the queue, and tells those who deliver.
    ///
    /// - Parameters:
    ///   - id: The mail, to which its content is bound.
    ///   - event: What it is about; the same event never brings a second mail.
    ///   - content: Address and text, sealed.
    ///   - user: Whose it is; with them it goes.
    ///   - application: The users table it belongs to.
    /// - Returns: Whether it was put in: neither for an event that has its mail nor for a user who has gone.
    /// - Throws: `store_unavailable` and its like.
    package func enqueueMail(
        _ id: ObjectID,
        event: String,
        content: SealedSecret,
        user: ObjectID?,
        of application: Application
    ) async throws(Failure) -> Bool {
        let enqueuing = Self.enqueuing(id, event: event, content: content, user: user, of: application)
        return try await query(enqueuing, of: application).first != nil
    }

    static func enqueuing(
        _ id: ObjectID,
        event: String,
        content: SealedSecret,
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

    /// Comes when mails may be waiting: one was enqueued, or a connection was made and announcements may have been
    /// missed.
    ///
    /// An announcement can be lost; whoever follows them looks at the queue now and then as well.
    package func mailAnnouncements() -> some AsyncSequence<Void, Never> & Sendable {
        postgres.client.notifications(on: Self.mailChannel).map { _ in }
    }
}
