import API
import HTTP
import Hummingbird
import Vocabulary

/// Whether all is well, and what to do where it is not.
extension Console {
    func mountOverview(on router: Router<ManagementContext>) {
        page("/console", on: router) { visit in
            async let findings = visit.read(["doctor"])
            async let applications = visit.list(["applications"], query: [("limit", "20")])
            async let counts = visit.read(["logins", "counts"], query: [("hours", "24")])
            let (doctor, found, logins) = try await (findings.object, applications, counts.object)
            return Page(
                title: "Overview",
                section: .overview,
                content: """
                    \(Self.health(doctor))
                    <section aria-labelledby="logins"><h2 id="logins">Logins of a day</h2>\(Self.chart(logins))
                    <p><a class="button" href="/console/logins">One by one</a></p></section>
                    <section aria-labelledby="applications"><h2 id="applications">Applications</h2>
                    \(Self.cards(found.items))
                    \("<p><a class=\"button\" href=\"/console/applications\">All applications</a></p>", if: found.next != nil)
                    </section>
                    """,
                command: "federation doctor; federation logins",
                call: "GET /admin/v1/doctor"
            )
        }
    }

    private static func health(_ doctor: JSONObject?) -> HTML {
        let findings = doctor?["findings"]?.array?.compactMap(\.object) ?? []
        let bad = findings.filter { $0["severity"]?.string != "ok" }
        let items = bad.map { finding -> HTML in
            let (severity, subject) = (finding["severity"]?.string ?? "", finding["subject"]?.string ?? "")
            let name = finding["name"]?.string.map { " \($0)" } ?? ""
            return """
                <li class="finding \(severity)"><p><strong>\(severity)</strong> \(subject + name)</p>\
                <p>\(finding["text"]?.string ?? "")</p>\
                \(finding["advice"]?.string.map { "<p>To do: \($0)</p>" } ?? "" as HTML)</li>
                """
        }
        let well = findings.filter { $0["severity"]?.string == "ok" }.map { finding -> HTML in
            "<li>\(finding["text"]?.string ?? "")</li>"
        }
        return """
            <section aria-labelledby="health"><h2 id="health">Is everything well?</h2>
            \("<p class=\"good\">Everything that was looked at is well.</p>", if: bad.isEmpty)
            <ul class="findings">\(items)</ul>
            <details><summary>\(well.count) things that are well</summary><ul>\(well)</ul></details></section>
            """
    }

    static func cards(_ applications: [JSONObject]) -> HTML {
        guard !applications.isEmpty else {
            return """
                <p class="empty">There is no application yet. Write a document and apply it, or \
                <a href="/console/applications">make one here</a>.</p>
                """
        }
        let cards = applications.map { application -> HTML in
            let id = application["application"]?.string ?? ""
            let warnings = application["warnings"]?.array?.count ?? 0
            return """
                <li><a href="\(consolePath("applications", id))"><strong><bdi>\(application["name"]?.string ?? id)</bdi></strong>\
                <span><code>\(id)</code> · revision \(application["revision"]?.integer ?? 0)</span>\
                \("<span class=\"warn\">\(warnings) to look at</span>", if: warnings > 0)</a></li>
                """
        }
        return "<ul class=\"cards\">\(cards)</ul>"
    }
}
