import Administration
import HTTPTypes
import Vocabulary

extension AdministrationRoute {
    static let logins: [AdministrationRoute] = [
        .init(
            .get,
            "logins",
            .viewer,
            query: [
                "application", "method", "provider", "outcome", "reason", "source", "user", "since", "after",
            ] + .page
        ) { call in
            var search = LoginSearch()
            search.application = call.query["application"]
            search.method = call.query["method"]
            search.provider = call.query["provider"]
            search.outcome = call.query["outcome"]
            search.reason = call.query["reason"]
            search.source = call.query["source"]
            search.user = call.query["user"]
            search.since = call.query["since"]
            search.after = call.query["after"]
            return .page(try await call.administration.logins.list(search, call.page))
        },
        .init(.get, "logins/counts", .viewer, query: ["application", "hours"]) { call in
            let hours = try call.query.integer("hours")
            return .value(try await call.administration.logins.counts(of: call.query["application"], hours: hours))
        },
    ]
}
