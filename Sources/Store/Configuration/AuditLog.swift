package import Domain
package import Encodings
import Postgres

/// An entry of the audit log.
package struct AuditEntry: Sendable {
    package let id: Int64
    /// The time of the action, in milliseconds since 1970 UTC.
    package let happened: Int64
    package let actor: String
    package let source: String?
    package let application: String?
    /// What the actor did, such as `property.declare` or `user.disable`, or `refused` if the actor lacked the right.
    package let action: String
    package let target: String?
    /// The values before and after the action: `{"from": …, "to": …}`, both optional.
    package let details: JSONValue
}

/// A filter of audit log entries; a nil member matches every entry.
package struct AuditFilter: Sendable {
    package var application: String?
    package var actor: String?
    package var action: String?
    package var target: String?
    /// The earliest time of an entry, in milliseconds since 1970 UTC; `until` is the exclusive end.
    package var since: Int64?
    package var until: Int64?

    package init(
        application: String? = nil,
        actor: String? = nil,
        action: String? = nil,
        target: String? = nil,
        since: Int64? = nil,
        until: Int64? = nil
    ) {
        self.application = application
        self.actor = actor
        self.action = action
        self.target = target
        self.since = since
        self.until = until
    }
}

/// An audit log entry to write.
struct AuditRecord {
    let application: ApplicationID?
    let action: String
    let target: String?
    let details: JSONObject
}

extension AuditRecord {
    /// Creates an entry with the former and the new value; nil stands for an absent value.
    init(
        _ action: String,
        of target: String? = nil,
        in application: ApplicationID? = nil,
        from: JSONValue? = nil,
        to: JSONValue? = nil
    ) {
        var details = JSONObject()
        if let from { details.append("from", from) }
        if let to { details.append("to", to) }
        self.init(application: application, action: action, target: target, details: details)
    }
}

extension Store {
    /// Returns entries of the audit log with ids below `before`, the newest first.
    package func audit(
        matching filter: AuditFilter,
        before: Int64?,
        limit: Int
    ) async throws(Failure) -> [AuditEntry] {
        var statement: Statement = """
            select id, happened, actor, source, application_id, action, target, details
            from federation.audit_log where id < \(before ?? .max)
            """
        if let application = filter.application { statement.append("and application_id = \(application)") }
        if let actor = filter.actor { statement.append("and actor = \(actor)") }
        if let action = filter.action { statement.append("and action = \(action)") }
        if let target = filter.target { statement.append("and target = \(target)") }
        if let since = filter.since { statement.append("and happened >= \(Timestamp(milliseconds: since))") }
        if let until = filter.until { statement.append("and happened < \(Timestamp(milliseconds: until))") }
        statement.append("order by id desc limit \(limit)")
        return try await query(statement).all(by: AuditEntry.init)
    }

    /// Records that an operator's request was refused for lack of rights.
    ///
    /// The entry's action is `refused`.
    ///
    /// - Parameters:
    ///   - request: The refused request, such as a method and a path; its first 500 bytes become the entry's target.
    ///   - application: The application id of the request, which need not exist. Only its first 500 bytes are stored.
    ///   - actor: The refused operator.
    /// - Throws: `store_unavailable` and similar failures.
    package func recordRefusal(
        of request: String,
        application: String?,
        actor: ChangeAuthor
    ) async throws(Failure) {
        // PostgreSQL accepts no NUL in a text. A request with a NUL must be logged all the same.
        func kept(_ text: String) -> String {
            String(decoding: text.utf8.prefix(500).map { $0 == 0 ? UInt8(ascii: "?") : $0 }, as: UTF8.self)
        }
        _ = try await query(
            """
            insert into federation.audit_log (actor, source, application_id, action, target)
            values (\(actor.name), \(actor.source), \(application.map(kept)), 'refused', \(kept(request)))
            """
        )
    }
}

extension Store {
    /// Records that an actor changed the log level of an instance.
    ///
    /// - Throws: `store_unavailable` and similar failures.
    package func recordLogLevel(
        from former: String,
        to level: String,
        seconds: Int64,
        by actor: ChangeAuthor
    ) async throws(Failure) {
        let record = AuditRecord(
            "log-level.change",
            from: .object(["level": .string(former)]),
            to: .object(["level": .string(level), "seconds": .integer(seconds)])
        )
        try await transaction { connection in try await connection.record([record], by: actor) }
    }

    /// Records that an operator sent a test mail.
    ///
    /// The entry does not contain the address.
    package func recordTestMail(by actor: ChangeAuthor) async throws(Failure) {
        let record = AuditRecord("mail.test")
        try await transaction { connection in try await connection.record([record], by: actor) }
    }

    /// Records that an actor read stored data of users.
    ///
    /// - Parameters:
    ///   - reading: What the actor read; its raw value is the entry's action.
    ///   - user: The user whose data was read, if it was a single one.
    ///   - facts: Facts about the reading, without any value that the actor searched for or saw.
    ///   - application: The application of the users.
    ///   - actor: The reader.
    /// - Throws: `store_unavailable` and similar failures. Then the caller must not show the data.
    package func recordReading(
        _ reading: UserReading,
        of user: ObjectID?,
        _ facts: JSONObject = JSONObject(),
        in application: ApplicationID,
        by actor: ChangeAuthor
    ) async throws(Failure) {
        let record = AuditRecord(
            reading.rawValue,
            of: user?.description,
            in: application,
            to: facts.members.isEmpty ? nil : .object(facts)
        )
        try await transaction { connection in try await connection.record([record], by: actor) }
    }
}

/// The ways of reading stored data of users; the raw value is the action in the audit log.
package enum UserReading: String, Sendable {
    case search = "user.search"
    case read = "user.read"
    case preview = "user.preview"
    case export = "user.export"
    /// A server got a link that changes or opens the user's account.
    case mailedLink = "user.mailedLink"
    /// An operator exported all users of an application.
    case exportAll = "users.export"
}

extension ChangeAuthor {
    /// Returns the statement that writes the actor's audit log entries in order.
    func writing(_ records: [AuditRecord]) -> Statement {
        let entries = records.map { record in
            var entry: JSONObject = ["action": .string(record.action), "details": .object(record.details)]
            if let application = record.application { entry.append("application", .string(application.text)) }
            if let target = record.target { entry.append("target", .string(target)) }
            return JSONValue.object(entry)
        }
        return """
            insert into federation.audit_log (actor, source, application_id, action, target, details)
            select \(name), \(source), e ->> 'application', e ->> 'action', e ->> 'target', e -> 'details'
            from jsonb_array_elements(\(JSONText(JSONValue.array(entries).text))) with ordinality entries (e, position)
            order by position
            """
    }
}

extension PostgresConnection {
    /// Writes audit log entries in order.
    func record(_ records: [AuditRecord], by actor: ChangeAuthor) async throws(PostgresError) {
        _ = try await query(actor.writing(records))
    }
}

extension AuditEntry {
    fileprivate init(_ row: inout Row) throws(PostgresError) {
        self.init(
            id: try row.next(),
            happened: try row.next(Timestamp.self).milliseconds,
            actor: try row.next(),
            source: try row.next(),
            application: try row.next(),
            action: try row.next(),
            target: try row.next(),
            details: try row.next()
        )
    }
}
