package import Domain
package import Encodings
import Store

/// The criteria of a search in the audit log, as received.
package struct AuditSearch: Sendable {
    package var application: String?
    package var actor: String?
    package var action: String?
    /// The start of the time range: an RFC 3339 time, or milliseconds since 1970.
    ///
    /// `until` has the same form.
    package var since: String?
    package var until: String?

    package init() {}
}

/// Lists the audit log for operators, and records refused requests in it.
package struct AuditAdministration: Sendable {
    let store: Store

    /// Returns a page of entries, the newest first.
    ///
    /// An entry is `{"id", "happened", "actor", "source", "application", "action", "target", "from", "to"}`.
    package func list(_ search: AuditSearch, _ page: PageRequest) async throws(Failure) -> Page {
        let filter = AuditFilter(
            application: try Self.name(search.application, "application"),
            actor: try Self.name(search.actor, "actor"),
            action: try Self.name(search.action, "action"),
            since: try Self.moment(search.since, "since"),
            until: try Self.moment(search.until, "until")
        )
        var before: Int64?
        if let cursor = page.cursor {
            guard let id = Int64(cursor) else { throw .badCursor }
            before = id
        }
        let entries = try await store.audit(matching: filter, before: before, limit: page.limit + 1)
        return page.page(of: entries, cursor: { String($0.id) }, \.json)
    }

    /// Records in the audit log that an operator's request was refused for lack of rights.
    ///
    /// If the database is unavailable, the refusal is not recorded.
    package func noteRefusal(of request: String, application: String?, actor: ChangeAuthor) async {
        try? await store.recordRefusal(of: request, application: application, actor: actor)
    }

    private static func name(_ text: String?, _ parameter: String) throws(Failure) -> String? {
        guard let text else { return nil }
        guard (1...200).contains(text.utf8.count), !text.utf8.contains(0) else {
            throw Failure(.malformedRequest, "\(parameter) must be 1 to 200 bytes of text without a NUL.")
        }
        return text
    }

    private static func moment(_ text: String?, _ parameter: String) throws(Failure) -> Int64? {
        guard let text else { return nil }
        guard let moment = Moment.read(text) else {
            throw Failure(
                .malformedRequest,
                "\(parameter) must be milliseconds since 1970 or a time like 2026-11-21T10:27:08Z."
            )
        }
        return moment
    }
}

extension AuditEntry {
    package var json: JSONValue {
        .object([
            "id": .integer(id),
            "happened": .integer(happened),
            "actor": .string(actor),
            "source": source.map(JSONValue.string) ?? .null,
            "application": application.map(JSONValue.string) ?? .null,
            "action": .string(action),
            "target": target.map(JSONValue.string) ?? .null,
            "from": details.object?["from"] ?? .null,
            "to": details.object?["to"] ?? .null,
        ])
    }
}
