import API
import HTTP
import Hummingbird
import Vocabulary

/// The log of logins, which follows what happens, and how many there are.
extension Console {
    func mountLogins(on router: Router<ManagementContext>) {
        page("/console/logins", on: router) { visit in try await logins(visit) }
    }

    /// By what the log is narrowed down.
    private static let filters: [(name: String, label: String)] = [
        (name: "application", label: "Application"), ("provider", "Provider"), ("outcome", "Outcome"),
        ("reason", "Reason"), ("source", "Source"), ("user", "objectId"),
    ]

    private func logins(_ visit: Visit) async throws -> Page {
        let wanted = Self.filters.map { (name: $0.name, value: visit.query[$0.name] ?? "") }
        let cursor = visit.query["cursor"]
        var query: [(name: String, value: String)] = [("limit", "50")] + wanted.filter { !$0.value.isEmpty }
        if let cursor { query.append(("cursor", cursor)) }
        let hours = Self.spans.first { $0.hours == visit.query["hours"] }?.hours ?? "24"
        var counted: [(name: String, value: String)] = [("hours", hours)]
        if let application = visit.query["application"], !application.isEmpty {
            counted.append(("application", application))
        }
        async let counts = visit.read(["logins", "counts"], query: counted)
        let found = try await visit.list(["logins"], query: query)
        let fields = zip(Self.filters, wanted).map { filter, value -> HTML in
            """
            <label for="\(filter.name)">\(filter.label)</label>\
            <input id="\(filter.name)" name="\(filter.name)" value="\(value.value)" spellcheck="false" size="12">
            """
        }
        let spans = Self.spans.map { span -> HTML in
            let link = HTML.link("/console/logins", wanted + [("hours", span.hours)])
            return "<a href=\"\(link)\"\(" aria-current=\"true\"", if: span.hours == hours)>\(span.label)</a> "
        }
        return Page(
            title: "Logins",
            section: .logins,
            content: """
                <p class="spans">\(spans)</p>
                \(Self.chart(try await counts.object))
                <h2>One by one</h2>
                <form class="search" role="search">\(fields)<button>Show</button></form>
                <div id="live"\(" data-live", if: cursor == nil)>\(Self.table(found.items))</div>
                \(HTML.next(found.next, of: "/console/logins", wanted + [("hours", hours)]))
                """,
            command: "federation logins --follow",
            call: "GET /admin/v1/logins"
        )
    }

    private static let spans: [(label: String, hours: String)] = [
        (label: "Hour", hours: "1"), ("Day", "24"), ("Week", "168"),
    ]

    static func table(_ logins: [JSONObject]) -> HTML {
        let rows = logins.map { login -> [HTML] in
            let application = login["application"]?.string ?? ""
            let outcome = login["outcome"]?.string ?? ""
            let kind = login["provider"]?.string ?? login["method"]?.string ?? ""
            let user = login["user"]?.string.map { id -> HTML in
                "<a href=\"\(consolePath("applications", application, "users", id))\">\(id.prefix(8).description)</a>"
            }
            return [
                .moment(login["happened"]),
                "<a href=\"\(consolePath("applications", application))\">\(application)</a>",
                "\(kind) <small>\(login["credential"]?.string ?? "")</small>",
                "<span class=\"tag \(outcome)\">\(outcome)</span>", reason(login, application), user ?? "–",
                .value(login["source"]), "\(login["milliseconds"]?.integer ?? 0) ms", .value(login["request"]),
            ]
        }
        return .table(
            "Logins",
            ["When", "Application", "By", "Outcome", "Why", "User", "From where", "Took", "Request"],
            rows,
            ifEmpty: "There is none of that kind yet."
        )
    }

    /// Why a login was refused, and where that would be mended.
    private static func reason(_ login: JSONObject, _ application: String) -> HTML {
        guard let reason = login["reason"]?.string else { return "–" }
        let cause = login["cause"]?.string.map { "<br><small>\($0)</small>" as HTML } ?? ""
        return "<code>\(reason)</code>\(cause)\(remedy(reason, application, provider: login["provider"]?.string))"
    }

    /// What can be done about a reason, in a few words, and where.
    private static func remedy(_ reason: String, _ application: String, provider: String?) -> HTML {
        let settings = consolePath("applications", application, "document")
        let mapping = consolePath("applications", application, "mappings", provider ?? "facebook")
        let (text, place): (String, String?) =
            switch Failure.Reason(rawValue: reason) {
            case .credentialInvalid: ("Compare app id and secret with the provider's console", settings)
            case .credentialExpired, .credentialRevoked, .userActionRequired, .loginCancelled:
                ("The person logs in at the provider again", nil)
            case .credentialMissing, .credentialAmbiguous, .credentialWrongKind:
                ("The client sends something else than a credential", nil)
            case .permissionMissing, .profileIncomplete:
                ("The client has to ask for what the mapping needs", mapping)
            case .mappingInvalid, .mappingTargetNotAllowed, .valueNotConvertible, .constraintViolation,
                .propertyMissing, .propertyUndeclared:
                ("See what the mapping writes", mapping)
            case .providerNotConfigured, .providerMisconfigured: ("See the provider's settings", settings)
            case .providerRateLimited, .providerUnavailable, .providerTimeout, .providerBadReply:
                ("It is the provider's trouble; it passes, or its status page tells", nil)
            case .storeUnavailable, .overloaded: ("See whether all is well", "/console")
            case .loginInvalid, .tooManyAttempts: ("A forgotten password, or somebody who guesses", nil)
            case .accountDisabled: ("An operator has disabled the account", nil)
            default: ("", nil)
            }
        guard !text.isEmpty else { return "" }
        return place.map { "<br><small><a href=\"\($0)\">\(text)</a></small>" } ?? "<br><small>\(text)</small>"
    }

    /// How many logins there were, as bars and as a table of the same.
    static func chart(_ counts: JSONObject?) -> HTML {
        let buckets = counts?["buckets"]?.array?.compactMap(\.object) ?? []
        guard let since = counts?["since"]?.integer, let seconds = counts?["seconds"]?.integer, !buckets.isEmpty else {
            return "<p class=\"empty\">Nobody has logged in in this time.</p>"
        }
        var bars: [Int64: (succeeded: Int64, refused: Int64)] = [:]
        var kinds: [String: (created: Int64, updated: Int64, refused: Int64)] = [:]
        for bucket in buckets {
            let (starts, logins) = (bucket["starts"]?.integer ?? 0, bucket["logins"]?.integer ?? 0)
            let kind = bucket["provider"]?.string ?? bucket["method"]?.string ?? ""
            let outcome = bucket["outcome"]?.string
            if outcome == "refused" {
                bars[starts, default: (0, 0)].refused += logins
                kinds[kind, default: (0, 0, 0)].refused += logins
            } else {
                bars[starts, default: (0, 0)].succeeded += logins
                if outcome == "created" { kinds[kind, default: (0, 0, 0)].created += logins }
                if outcome == "updated" { kinds[kind, default: (0, 0, 0)].updated += logins }
            }
        }
        let most = max(1, bars.values.map { $0.succeeded + $0.refused }.max() ?? 1)
        let places = max(1, ((bars.keys.max() ?? since) - since) / (seconds * 1000) + 1)
        let drawn = bars.sorted { $0.key < $1.key }.map { starts, bar -> HTML in
            let place = (starts - since) / (seconds * 1000)
            let (high, low) = (bar.succeeded * 100 / most, bar.refused * 100 / most)
            return """
                <rect class="ok" x="\(place * 10)" y="\(100 - high)" width="8" height="\(high)"/>\
                <rect class="no" x="\(place * 10)" y="\(100 - high - low)" width="8" height="\(low)"/>
                """
        }
        let total = bars.values.reduce((0, 0)) { ($0.0 + $1.succeeded, $0.1 + $1.refused) }
        let rows = kinds.sorted { $0.key < $1.key }.map { kind, count -> [HTML] in
            ["\(kind)", "\(count.created)", "\(count.updated)", "\(count.refused)"]
        }
        let reasons = (counts?["reasons"]?.array ?? []).compactMap(\.object).prefix(10).map { reason -> [HTML] in
            [
                "<code>\(reason["reason"]?.string ?? "")</code>",
                "\(reason["provider"]?.string ?? reason["method"]?.string ?? "")", "\(reason["logins"]?.integer ?? 0)",
            ]
        }
        return """
            <figure class="chart"><svg viewBox="0 0 \(places * 10) 100" preserveAspectRatio="none" role="img" \
            aria-label="\(total.0) logins succeeded, \(total.1) were refused; at most \(most) in a bar">\(drawn)</svg>
            <figcaption><span class="key ok"></span> \(total.0) succeeded <span class="key no"></span> \(total.1) refused, \
            since \(HTML.moment(counts?["since"]))</figcaption></figure>
            <div class="pair">\(HTML.table("Logins by provider", ["By", "New people", "Again", "Refused"], rows, ifEmpty: ""))
            \(HTML.table("What fails most", ["Why", "By", "Logins"], Array(reasons), ifEmpty: "Nothing has failed."))</div>
            """
    }
}
