import Postgres
package import Vocabulary

/// An entry of the audit log.
package struct AuditEntry: Sendable {
    package let id: Int64
    /// Milliseconds since 1970 UTC.
    package let happened: Int64
    package let actor: String
    package let source: String?
    package let application: String?
    /// `property.declare`, `user.disable`, `refused`, ….
    package let action: String
    package let target: String?
    /// `{"from": …, "to": …}`, both optional.
    package let details: JSONValue
}

/// Which entries are wanted; what is nil does not matter.
package struct AuditFilter: Sendable {
    package var application: String?
    package var actor: String?
    package var action: String?
    package var target: String?
    /// Milliseconds since 1970 UTC, inclusive and exclusive.
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

/// An entry that is to be written.
struct AuditRecord {
    let application: ApplicationID?
    let action: String
    let target: String?
    let details: JSONObject
}

extension AuditRecord {
    /// An entry that says what was and what is; nil where there was or is nothing to say.
    init(application: ApplicationID?, action: String, target: String?, from: JSONValue?, to: JSONValue?) {
        var details = JSONObject()
        if let from { details.append("from", from) }
        if let to { details.append("to", to) }
        self.init(application: application, action: action, target: target, details: details)
    }
}

extension Store {
    /// Entries of the audit log, the newest first: those with ids below `before`.
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
        let result = try await query(statement)
        return try read { () throws(PostgresError) in
            var entries: [AuditEntry] = []
            for row in result.rows { entries.append(try AuditEntry(row)) }
            return entries
        }
    }

    /// Notes that an operator was refused for lack of rights: an entry `refused`.
    ///
    /// - Parameters:
    ///   - request: What was asked for, such as a method and a path; its first 500 bytes are kept as the entry's
    ///     target.
    ///   - application: What it named as the application, whether there is such a one or not; bounded likewise.
    ///   - actor: Who asked.
    /// - Throws: `store_unavailable` and its like.
    package func recordRefusal(
        of request: String,
        application: String?,
        actor: Actor
    ) async throws(Failure) {
        // PostgreSQL takes no NUL in a text, and nobody shall keep a refusal out of the log by one.
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
    /// Notes that somebody has an instance write more or less of its log.
    ///
    /// - Throws: `store_unavailable` and its like.
    package func recordLogLevel(
        from former: String,
        to level: String,
        seconds: Int64,
        by actor: Actor
    ) async throws(Failure) {
        let record = AuditRecord(
            application: nil,
            action: "log-level.change",
            target: nil,
            from: .object(["level": .string(former)]),
            to: .object(["level": .string(level), "seconds": .integer(seconds)])
        )
        try await transaction { connection in try await connection.record([record], by: actor) }
    }

    /// Notes that an operator sent a test mail, without its address.
    package func recordTestMail(by actor: Actor) async throws(Failure) {
        let record = AuditRecord(application: nil, action: "mail.test", target: nil, from: nil, to: nil)
        try await transaction { connection in try await connection.record([record], by: actor) }
    }

    /// Notes that somebody has read what is stored of people.
    ///
    /// - Parameters:
    ///   - reading: The entry's action.
    ///   - user: Whom they read about, where that is one.
    ///   - facts: How; none of it is a value that they looked for or saw.
    ///   - application: Whose users.
    ///   - actor: Who read.
    /// - Throws: `store_unavailable` and its like; the caller must not show anything then.
    package func recordReading(
        _ reading: PeopleReading,
        of user: ObjectID?,
        _ facts: JSONObject = JSONObject(),
        in application: ApplicationID,
        by actor: Actor
    ) async throws(Failure) {
        let record = AuditRecord(
            application: application,
            action: reading.rawValue,
            target: user?.description,
            from: nil,
            to: facts.members.isEmpty ? nil : .object(facts)
        )
        try await transaction { connection in try await connection.record([record], by: actor) }
    }
}

/// The ways of reading what is stored of people, by the actions of their entries in the audit log.
package enum PeopleReading: String, Sendable {
    case search = "user.search"
    case read = "user.read"
    case preview = "user.preview"
    case export = "user.export"
    /// Of all users of an application.
    case exportAll = "users.export"
}

extension Actor {
    /// Writes entries of the audit log about what the actor has done, in their order.
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
    /// Writes entries of the audit log, in their order.
    func record(_ records: [AuditRecord], by actor: Actor) async throws(PostgresError) {
        _ = try await query(actor.writing(records))
    }
}

extension AuditEntry {
    fileprivate init(_ row: Row) throws(PostgresError) {
        self.init(
            id: try row.decode(0, as: Int64.self),
            happened: try row.decode(1, as: Timestamp.self).milliseconds,
            actor: try row.decode(2, as: String.self),
            source: try row.decode(3, as: String?.self),
            application: try row.decode(4, as: String?.self),
            action: try row.decode(5, as: String.self),
            target: try row.decode(6, as: String?.self),
            details: try row.decode(7, as: JSONValue.self)
        )
    }
}

extension Timestamp {
    /// The moment so many milliseconds after 1970; one that no timestamp holds becomes the nearest infinity.
    init(milliseconds: Int64) {
        let (microseconds, overflow) = milliseconds.multipliedReportingOverflow(by: 1000)
        self = overflow ? (milliseconds < 0 ? .negativeInfinity : .infinity) : Timestamp(microseconds: microseconds)
    }
}
