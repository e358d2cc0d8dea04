import AdministrationAPI
import Domain
import Encodings
import Hummingbird
import Pages

/// The page with the log of logins and with the numbers of logins.
///
/// The page adds new logins while it is open.
extension Console {
    func mountLogins(on router: Router<ManagementContext>) {
        page("/console/logins", on: router) { visit in try await logins(visit) }
        // New logins for the page's script, as rows in the page's own format.
        router.get("/console/logins/since/{id}") { request, context in
            try await answer(request, context, identifies: false) { visit in try await laterLogins(visit) }
        }
    }

    /// The filters by which an operator can search the log of logins.
    private static let filters: [(name: String, label: String)] = [
        (name: "application", label: "Application"), ("method", "Method"), ("provider", "Provider"),
        ("outcome", "Outcome"),
        ("reason", "Reason"), ("source", "Source"), ("user", "User id"),
    ]

    /// The options of each filter that has a fixed list of values.
    private static let choices = [
        "method": ["provider", "password", "passkey", "guest", "server"], "outcome": ["created", "updated", "refused"],
        "reason": Failure.Reason.allCases.map(\.rawValue).sorted(),
    ]

    private static func title(ofOutcome outcome: String) -> String {
        switch outcome {
        case "created": "new user"
        case "updated": "logged in"
        default: outcome
        }
    }

    private static func wanted(_ visit: Visit) -> [(name: String, value: String)] {
        filters.map { (name: $0.name, value: visit.query[$0.name] ?? "") }.filter { !$0.value.isEmpty }
    }

    private static let shown = (name: "limit", value: "50")

    private func logins(_ visit: Visit) async throws -> Page {
        let wanted = Self.wanted(visit)
        let span = LoginCounts.span(visit)
        let hours = span.hours
        let narrowed = wanted.filter { $0.name == "application" } + [("hours", hours)]
        async let counts = visit.part(["logins", "counts"], query: narrowed)
        async let ids = visit.applicationIDs()
        let found = try await visit.list(["logins"], query: [Self.shown] + wanted + visit.cursor)
        let counted = try await counts
        var choices = Self.choices
        choices["application"] = try await ids
        choices["provider"] = counted.object.map { LoginCounts($0).providers.sorted() }
        let fields = Self.filters.map { filter -> HTML in
            let value = visit.query[filter.name] ?? ""
            guard let options = choices[filter.name], !options.isEmpty else {
                return """
                    <label>\(filter.label) <input id="\(filter.name)" name="\(filter.name)" value="\(value)" \
                    spellcheck="false" size="\(filter.name == "user" ? 36 : 12)"></label>
                    """
            }
            return HTML.choice(filter.name, filter.label, options, chosen: value) { option in
                switch filter.name {
                case "method", "provider": methodTitle(option)
                case "outcome": Self.title(ofOutcome: option)
                default: option
                }
            }
        }
        let table = visit.cursor.isEmpty ? Self.live(found.items, visit) : table(found.items)
        let note = counted.object.map { LoginCounts($0).unlistedNote } ?? ""
        // The counts are those of all users.
        let name = try await Self.nameOfUser(visit)
        let overview: HTML = """
            <h2>Numbers \(span.title)</h2>\(LoginCounts.links(to: "/console/logins", wanted, shown: hours))
            \(counted.html { LoginCounts($0).html(self, wanted) })
            <h2>Individual logins</h2>
            """
        return Page(
            title: name.map { "Logins of \($0)" } ?? "Logins",
            section: .logins,
            content: """
                \(overview, if: name == nil)
                <form class="search" role="search">\(HTML.hidden("hours", String(hours)))\(fields)<button>Show</button></form>
                \(note, if: name == nil)
                \(table)
                \(HTML.next(found.next, of: "/console/logins", wanted + [("hours", hours)]))
                """,
            command: "federation logins --follow",
            call: "GET /admin/v1/logins",
            scripts: [Assets.logins]
        )
    }

    /// Returns the name of the user whose logins are wanted, or the user's id; nil if those of all users are wanted.
    private static func nameOfUser(_ visit: Visit) async throws -> String? {
        guard let id = visit.query["user"], !id.isEmpty else { return nil }
        let place = UserPlace(application: visit.query["application"] ?? "", id: id)
        let user = try await visit.part(place.call).object?.object("user")
        return user?["name"]?.string ?? user?["email"]?.string ?? id
    }

    /// Returns the logins that came after the login whose id the path has.
    ///
    /// If there are none, the response is 204 without a body, which is cheap, since many browsers may poll. If there
    /// are more logins than a page shows, the response has the newest ones, and says that others are missing.
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

    /// Returns a list of the newest logins, with the URL from which the script requests later ones.
    private static func live(_ logins: [JSONObject], _ visit: Visit, isGap: Bool = false) -> HTML {
        let newest = logins.first?["id"]?.integer ?? 0
        return """
            <div class="live"\(" data-gap", if: isGap) \
            data-more="\(HTML.link("/console/logins/since/\(newest)", wanted(visit)))">\(visit.console.table(logins))\
            <p class="fine" role="status"></p></div>
            """
    }

    /// Returns the rows of logins; with `ofOneUser`, without the columns of the application and the user.
    func table(_ logins: [JSONObject], ofOneUser: Bool = false) -> HTML {
        .table("Logins", of: logins, ifEmpty: "No logins match this filter yet.") { login in
            let application = login.string("application")
            let outcome = login.string("outcome")
            let kind = login["provider"]?.string ?? login.string("method")
            let user = login["user"]?.string.map { id -> HTML in
                "<a href=\"\(consolePath("applications", application, "users", id))\">\(id.prefix(8).description)</a>"
            }
            let shared: [(column: String, cell: HTML)] = [
                ("Application", "<a href=\"\(consolePath("applications", application))\">\(application)</a>"),
                ("User", user ?? "–"),
            ]
            let tag = HTML.tag(Self.title(ofOutcome: outcome), outcome)
            let time = "\(HTML.moment(login["happened"]))\(Self.small(login["request"]))" as HTML
            return [
                ("Outcome", "\(tag) <small>\(login.integer("milliseconds")) ms</small>"),
                ("Method", "\(methodTitle(kind)) <small>\(login.string("credential"))</small>"),
                ("Reason", Self.reason(login, application)), ("Time and request", time),
            ] + (ofOneUser ? [] : shared) + [
                ("Source", "\(HTML.value(login["source"]))\(Self.small(login["userAgent"]))")
            ]
        }
    }

    /// Returns the reason of a refused login, and its remedy.
    private static func reason(_ login: JSONObject, _ application: String) -> HTML {
        guard let reason = login["reason"]?.string else { return "–" }
        let remedy = LoginRemedy(reason, application: application, provider: login["provider"]?.string)
        return "<code>\(reason)</code>\(small(login["cause"]))\(remedy.html)"
    }

    /// Returns an HTML element that shows a text in small letters on its own line; nil for no text.
    private static func small(_ value: JSONValue?) -> HTML? {
        value?.string.map { "<br><small><bdi>\($0)</bdi></small>" }
    }
}
