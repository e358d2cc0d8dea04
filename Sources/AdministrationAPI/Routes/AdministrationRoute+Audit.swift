import Administration
import Description
import Domain
import HTTPTypes

extension AdministrationRoute {
    static let audit: [AdministrationRoute] = [
        .init(
            .get,
            "audit",
            .viewer,
            query: [.auditApplication, .auditActor, .auditAction, .auditSince, .auditUntil, .format] + .page,
            Operation(
                "readAudit",
                "Lists the audit log, newest first.",
                .page(
                    of: .auditEntry,
                    as: "AuditPage",
                    "A page of entries, or, as JSON lines, all of them.",
                    orLines: true
                )
            )
        ) { call in
            var search = AuditSearch()
            search.application = call.query[.auditApplication]
            search.actor = call.query[.auditActor]
            search.action = call.query[.auditAction]
            search.since = call.query[.auditSince]
            search.until = call.query[.auditUntil]
            guard try wantsLines(call) else {
                return .page(try await call.administration.audit.list(search, call.page))
            }
            let found = search
            return .lines(try await call.administration.audit.list(found, usualPage(behind: call.query[.cursor]))) {
                cursor throws(Failure) in
                try await call.administration.audit.list(found, usualPage(behind: cursor))
            }
        }
    ]

    private static func wantsLines(_ call: AdministrationCall) throws(Failure) -> Bool {
        switch call.query[.format] {
        case nil: guard call.accepts("application/jsonl") else { return false }
        case "json": return false
        case "jsonl": break
        default: throw Failure(.malformedRequest, "format must be json or jsonl.")
        }
        guard call.query[.limit] == nil else {
            throw Failure(.malformedRequest, "limit is not allowed with JSON lines, which are the whole list.")
        }
        return true
    }

    private static func usualPage(behind cursor: String?) throws(Failure) -> PageRequest {
        try PageRequest(cursor: cursor)
    }
}

extension Parameter {
    static let auditApplication = Parameter(
        "application",
        in: .query,
        .string.length(1...200),
        "Entries about this application."
    )
    static let auditActor = Parameter("actor", in: .query, .string.length(1...200), "Entries by this operator.")
    static let auditAction = Parameter("action", in: .query, .string.length(1...200), "Entries with this action.")
    static let auditSince = Parameter(
        "since",
        in: .query,
        .string.examples("2026-11-21T10:27:08Z", "1795256828000"),
        "Entries since this time: RFC 3339, or milliseconds since 1970."
    )
    static let auditUntil = Parameter(
        "until",
        in: .query,
        .string.examples("2026-11-21T10:27:08Z", "1795256828000"),
        "Entries before this time."
    )
    static let format = Parameter(
        "format",
        in: .query,
        .oneOf("json", "jsonl"),
        "`jsonl` for all entries as JSON lines, without `limit`. The same as Accept: application/jsonl."
    )
}

extension Schema {
    static let auditEntry = Schema.object([
        "id": .long,
        "happened": .moment,
        "actor": .string,
        "source": .string.nullable,
        "application": .string.nullable,
        "action": .string,
        "target": .string.nullable,
        "from": .any,
        "to": .any,
    ]).described("Secrets are `•••`.").named("AuditEntry")
}
