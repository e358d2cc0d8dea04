import AdministrationAPI
import Domain
import Encodings
import Hummingbird
import Pages

/// The page of the audit log, with the old and new value of each change.
extension Console {
    func mountAudit(on router: Router<ManagementContext>) {
        page("/console/audit", on: router) { visit in
            let labels = [("application", "Application"), ("actor", "Who"), ("action", "What")]
            let filters = labels.map { (name: $0.0, value: visit.query[$0.0] ?? "") }
            async let ids = visit.applicationIDs()
            let found = try await visit.list(
                ["audit"],
                query: [("limit", "50")] + filters.filter { !$0.value.isEmpty } + visit.cursor
            )
            let applications = try await ids
            let fields = zip(labels, filters).map { label, filter -> HTML in
                if filter.name == "application", let applications {
                    return HTML.choice(filter.name, label.1, applications, chosen: filter.value)
                }
                // The field suggests the values that are on the page. The operator may type any other value.
                let seen = Set(found.items.compactMap { $0[filter.name]?.string }).sorted()
                return """
                    <label for="\(filter.name)">\(label.1)</label><input id="\(filter.name)" name="\(filter.name)" \
                    list="\(filter.name)-seen" value="\(filter.value)" spellcheck="false">\
                    <datalist id="\(filter.name)-seen">\(seen.map { "<option value=\"\($0)\"></option>" as HTML })</datalist>
                    """
            }
            let rows = found.items.map { entry -> [HTML] in
                [
                    .moment(entry["happened"]), .value(entry["actor"]), .value(entry["source"]),
                    .value(entry["application"]),
                ] + Self.change(entry)
            }
            return Page(
                title: "Audit log",
                section: .audit,
                content: """
                    <form class="search" role="search">\(fields)<button>Show</button></form>
                    \(HTML.table("Audit log", [
                        "When", "Who", "Source", "Application", "Action", "Object", "Before", "After",
                    ], rows, ifEmpty: "No entries match this filter."))
                    \(HTML.next(found.next, of: "/console/audit", filters))
                    """,
                command: "federation list audit",
                call: "GET /admin/v1/audit"
            )
        }
    }
}
