import Administration
import HTTPTypes
import Vocabulary

extension AdministrationRoute {
    static let audit: [AdministrationRoute] = [
        .init(
            .get,
            "audit",
            .viewer,
            query: ["application", "actor", "action", "since", "until", "format"] + .page
        ) { call in
            var search = AuditSearch()
            search.application = call.query["application"]
            search.actor = call.query["actor"]
            search.action = call.query["action"]
            search.since = call.query["since"]
            search.until = call.query["until"]
            guard try wantsLines(call) else {
                return .page(try await call.administration.audit.list(search, call.page))
            }
            let found = search
            return .lines(try await call.administration.audit.list(found, usualPage(behind: call.query["cursor"]))) {
                cursor throws(Failure) in
                try await call.administration.audit.list(found, usualPage(behind: cursor))
            }
        }
    ]

    private static func wantsLines(_ call: AdministrationCall) throws(Failure) -> Bool {
        switch call.query["format"] {
        case nil: guard call.accepts("application/jsonl") else { return false }
        case "json": return false
        case "jsonl": break
        default: throw Failure(.malformedRequest, "format must be json or jsonl.")
        }
        guard call.query["limit"] == nil else {
            throw Failure(.malformedRequest, "limit has no meaning here: JSON lines are the whole list.")
        }
        return true
    }

    private static func usualPage(behind cursor: String?) throws(Failure) -> PageRequest {
        try PageRequest(cursor: cursor)
    }
}
