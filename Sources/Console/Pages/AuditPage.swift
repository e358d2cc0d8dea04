import AdministrationAPI
import Domain
import Encodings
import Hummingbird
import Pages

/// The page of the audit log, with the old and new value of each change.
extension Console {
    func mountAudit(on router: Router<ManagementContext>) {
        page("/console/audit", on: router) { visit in
            let labels = [("application", "Application"), ("actor", "Who"), ("action", "Action")]
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
                let example: HTML = " placeholder=\"such as user.disable\""
                return """
                    <label>\(label.1) <input id="\(filter.name)" name="\(filter.name)" list="\(filter.name)-seen" \
                    value="\(filter.value)"\(example, if: filter.name == "action") spellcheck="false"></label>\
                    <datalist id="\(filter.name)-seen">\(seen.map { "<option value=\"\($0)\"></option>" as HTML })</datalist>
                    """
            }
            let none: HTML = "No entries match this filter. It needs the complete name of an action or operator."
            let table = HTML.table("Audit log", of: found.items, ifEmpty: none) { entry in
                ChangedValues(from: entry["from"], to: entry["to"]).html
            } _: { entry in
                [
                    ("When", .moment(entry["happened"])), ("Action", .value(entry["action"])),
                    ("Object", .value(entry["target"])), ("Application", .value(entry["application"])),
                    ("Who", .value(entry["actor"])), ("Source", .value(entry["source"])),
                ]
            }
            return Page(
                title: "Audit log",
                section: .audit,
                content: """
                    <form class="search" role="search">\(fields)<button>Show</button></form>
                    \(table)
                    \(HTML.next(found.next, of: "/console/audit", filters))
                    """,
                command: "federation list audit",
                call: "GET /admin/v1/audit"
            )
        }
    }
}
