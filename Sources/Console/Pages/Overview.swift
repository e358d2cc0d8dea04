import AdministrationAPI
import Encodings
import Hummingbird
import Pages

/// The console's overview: the problems that `doctor` finds, numbers of logins, providers and applications.
extension Console {
    func mountOverview(on router: Router<ManagementContext>) {
        page("/console", on: router) { visit in try await overview(visit) }
    }

    /// Returns the overview page.
    ///
    /// Its parts are independent: if the data of one part are slow or refused, the others are still shown.
    private func overview(_ visit: Visit) async throws -> Page {
        let span = LoginCounts.span(visit)
        async let findings = visit.part(["doctor"])
        async let counts = visit.part(["logins", "counts"], query: [("hours", span.hours)])
        async let instance = visit.part(["instance"])
        async let applications = visit.part(["applications"], query: [("limit", "20")])
        let logins = try await counts
        let failed = logins.object.map { LoginCounts($0).ofProviders } ?? []
        async let last = Self.lastFailures(failed, visit)
        return Page(
            title: "Overview",
            section: .overview,
            content: """
                <section aria-labelledby="health"><h2 id="health">Health</h2>
                \((try await findings).html(Self.health))</section>
                <section aria-labelledby="logins"><h2 id="logins">Logins \(span.title)</h2>
                \(LoginCounts.links(to: "/console", [], shown: span.hours))
                \(logins.html { LoginCounts($0).html(self) })
                <p>\(HTML.button("All logins", to: "/console/logins"))</p></section>
                <section aria-labelledby="providers"><h2 id="providers">Providers and latency</h2>
                \((try await instance).html(InstancePart.html))
                \(InstancePart.failures(failed, try await last))</section>
                <section aria-labelledby="applications"><h2 id="applications">Applications</h2>
                \((try await applications).html(Self.applications))</section>
                """,
            command: "federation doctor; federation logins",
            call: "GET /admin/v1/doctor, /admin/v1/logins/counts, /admin/v1/instance"
        )
    }

    private static func health(_ doctor: JSONObject) -> HTML {
        let findings = doctor.objects("findings")
        let bad = findings.filter { $0["severity"]?.string != "ok" }
        let items = bad.map { finding -> HTML in
            let (severity, subject) = (finding.string("severity"), finding.string("subject"))
            let name = finding["name"]?.string.map { name -> HTML in
                subject == "application" ? "<a href=\"\(consolePath("applications", name))\">\(name)</a>" : "\(name)"
            }
            return """
                <li class="finding \(severity)"><p><strong>\(severity)</strong> \(subject) \(name)</p>\
                <p>\(finding.string("text"))</p>\
                \(finding["advice"]?.string.map { "<p>To do: \($0)</p>" as HTML })</li>
                """
        }
        let well = findings.filter { $0["severity"]?.string == "ok" }.map { finding -> HTML in
            "<li>\(finding.string("text"))</li>"
        }
        return """
            \("<p class=\"good\">All checks passed.</p>", if: bad.isEmpty)
            <ul class="findings">\(items)</ul>
            <details><summary>\(well.count) passed checks</summary><ul>\(well)</ul></details>
            """
    }

    /// Returns, for each of the given reasons, the last login that was refused for it.
    private static func lastFailures(_ reasons: [String], _ visit: Visit) async throws -> [Part] {
        try await withThrowingTaskGroup(of: (Int, Part).self) { group in
            for (index, reason) in reasons.enumerated() {
                group.addTask {
                    (index, try await visit.part(["logins"], query: [("reason", reason), ("limit", "1")]))
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private static func applications(_ list: JSONObject) -> HTML {
        let more: HTML = "<p>\(HTML.button("All applications", to: "/console/applications"))</p>"
        return "\(cards(list.objects("items")))\(more, if: list["next"]?.string != nil)"
    }

    static func cards(_ applications: [JSONObject]) -> HTML {
        guard !applications.isEmpty else {
            return """
                <p class="empty">No applications yet. <a href="/console/applications">Create one here</a>, or apply a \
                document.</p>
                """
        }
        let cards = applications.map { application -> HTML in
            let id = application.string("application")
            let warnings = application["warnings"]?.array?.count ?? 0
            return """
                <li><a href="\(consolePath("applications", id))"><strong><bdi>\(application["name"]?.string ?? id)</bdi></strong>\
                <span><code>\(id)</code> · revision \(application.integer("revision"))</span>\
                \("<span class=\"warn\">\(warnings) warnings</span>", if: warnings > 0)</a></li>
                """
        }
        return "<ul class=\"cards\">\(cards)</ul>"
    }
}
