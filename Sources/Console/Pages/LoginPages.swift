import API
import HTTP
import HTTPTypes
import Hummingbird
import Vocabulary

/// The log of logins, which follows what happens, and how many there are.
extension Console {
    func mountLogins(on router: Router<ManagementContext>) {
        page("/console/logins", on: router) { visit in try await logins(visit) }
        // What came since: rows alone, in the page's own form, for its script.
        router.get("/console/logins/since/{id}") { request, context in
            try await answer(request, context, identifies: false) { visit in try await laterLogins(visit) }
        }
    }

    /// By what the log is narrowed down.
    private static let filters: [(name: String, label: String)] = [
        (name: "application", label: "Application"), ("method", "Method"), ("provider", "Provider"),
        ("outcome", "Outcome"),
        ("reason", "Why"), ("source", "From where"), ("user", "User id"),
    ]

    /// What a filter can be, where that is a list.
    private static let choices = [
        "method": ["provider", "password", "passkey", "guest", "server"], "outcome": ["created", "updated", "refused"],
        "reason": Failure.Reason.allCases.map(\.rawValue).sorted(),
    ]

    private static func wanted(_ visit: Visit) -> [(name: String, value: String)] {
        filters.map { (name: $0.name, value: visit.query[$0.name] ?? "") }.filter { !$0.value.isEmpty }
    }

    private static let shown = (name: "limit", value: "50")

    private func logins(_ visit: Visit) async throws -> Page {
        let wanted = Self.wanted(visit)
        let hours = LoginCounts.span(visit).hours
        let narrowed = wanted.filter { $0.name == "application" } + [("hours", hours)]
        async let counts = visit.part(["logins", "counts"], query: narrowed)
        async let ids = visit.applicationIDs()
        let found = try await visit.list(
            ["logins"],
            query: [Self.shown] + wanted + visit.cursor
        )
        let counted = try await counts
        var choices = Self.choices
        choices["application"] = try await ids
        choices["provider"] = counted.object.map { LoginCounts($0).providers.sorted() }
        let fields = Self.filters.map { filter -> HTML in
            let value = visit.query[filter.name] ?? ""
            guard let options = choices[filter.name], !options.isEmpty else {
                return """
                    <label for="\(filter.name)">\(filter.label)</label><input id="\(filter.name)" \
                    name="\(filter.name)" value="\(value)" spellcheck="false" size="12">
                    """
            }
            return HTML.choice(filter.name, filter.label, options, chosen: value) { option in
                ["method", "provider"].contains(filter.name) ? methodTitle(option) : option
            }
        }
        let table = visit.cursor.isEmpty ? Self.live(found.items, visit) : table(found.items)
        let note = counted.object.map { LoginCounts($0).unlistedNote } ?? ""
        var page = Page(
            title: "Logins",
            section: .logins,
            content: """
                \(LoginCounts.links(to: "/console/logins", wanted, shown: hours))
                \(counted.html { object in
                    let logins = LoginCounts(object)
                    return "\(logins.chart)<div class=\"pair\">\(logins.byProvider(self))\(logins.failures(self, wanted))</div>"
                })
                <h2>One by one</h2>
                <form class="search" role="search">\(HTML.hidden("hours", String(hours)))\(fields)<button>Show</button></form>
                \(note)
                \(table)
                \(HTML.next(found.next, of: "/console/logins", wanted + [("hours", hours)]))
                """,
            command: "federation logins --follow",
            call: "GET /admin/v1/logins"
        )
        page.scripts = [Assets.logins]
        return page
    }

    /// Logins that were written since the one of an id, or nothing, which costs little: many may ask.
    ///
    /// Where more came than anybody reads, it is the newest of them, and not what was before.
    private func laterLogins(_ visit: Visit) async throws -> Response {
        let query = [Self.shown] + Self.wanted(visit)
        let found = try await visit.list(["logins"], query: query + [("after", visit.parameter("id"))])
        guard !found.items.isEmpty else { return Response(status: .noContent, headers: [.cacheControl: "no-store"]) }
        guard found.next == nil else {
            let newest = try await visit.list(["logins"], query: query)
            return Page.fragment(Self.live(newest.items, visit, isGap: true))
        }
        return Page.fragment(Self.live(found.items.reversed(), visit))
    }

    /// The newest logins, with where its script asks for those that come.
    private static func live(_ logins: [JSONObject], _ visit: Visit, isGap: Bool = false) -> HTML {
        let newest = logins.first?["id"]?.integer ?? 0
        return """
            <div class="live"\(" data-gap", if: isGap) \
            data-more="\(HTML.link("/console/logins/since/\(newest)", wanted(visit)))">\(visit.console.table(logins))\
            <p class="fine" role="status"></p></div>
            """
    }

    func table(_ logins: [JSONObject]) -> HTML {
        let rows = logins.map { login -> [HTML] in
            let application = login["application"]?.string ?? ""
            let outcome = login["outcome"]?.string ?? ""
            let kind = login["provider"]?.string ?? login["method"]?.string ?? ""
            let user = login["user"]?.string.map { id -> HTML in
                "<a href=\"\(consolePath("applications", application, "users", id))\">\(id.prefix(8).description)</a>"
            }
            let request = login["request"]?.string.map { "<br><small>\($0)</small>" as HTML } ?? ""
            return [
                "\(HTML.moment(login["happened"]))\(request)",
                "<a href=\"\(consolePath("applications", application))\">\(application)</a>",
                "\(methodTitle(kind)) <small>\(login["credential"]?.string ?? "")</small>",
                "<span class=\"tag \(outcome)\">\(outcome)</span> <small>\(login["milliseconds"]?.integer ?? 0) ms</small>",
                Self.reason(login, application), user ?? "–", Self.from(login),
            ]
        }
        return .table(
            "Logins",
            ["When, and the request", "Application", "By", "Outcome", "Why", "User", "From where"],
            rows,
            ifEmpty: "There is none of that kind yet."
        )
    }

    /// Where a login came from, and with what.
    private static func from(_ login: JSONObject) -> HTML {
        let agent = login["userAgent"]?.string.map { "<br><small><bdi>\($0)</bdi></small>" as HTML } ?? ""
        return "\(HTML.value(login["source"]))\(agent)"
    }

    /// Why a login was refused, and where that would be mended.
    private static func reason(_ login: JSONObject, _ application: String) -> HTML {
        guard let reason = login["reason"]?.string else { return "–" }
        let cause = login["cause"]?.string.map { "<br><small>\($0)</small>" as HTML } ?? ""
        let remedy = LoginRemedy(reason, application: application, provider: login["provider"]?.string)
        return "<code>\(reason)</code>\(cause)\(remedy.html)"
    }
}
