import API
import HTTP
import Hummingbird
import Vocabulary

/// The audit log with what was changed, from what to what.
extension Console {
    func mountAudit(on router: Router<ManagementContext>) {
        page("/console/audit", on: router) { visit in
            let filters = ["application", "actor", "action"].map { (name: $0, value: visit.query[$0] ?? "") }
            let found = try await visit.list(
                ["audit"],
                query: [("limit", "50")] + filters.filter { !$0.value.isEmpty } + visit.cursor
            )
            let fields = filters.map { filter -> HTML in
                """
                <label for="\(filter.name)">\(filter.name)</label><input id="\(filter.name)" name="\(filter.name)" \
                value="\(filter.value)" spellcheck="false">
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
                        "When", "Who", "From where", "Application", "What", "Of", "From", "To",
                    ], rows, ifEmpty: "There is nothing of that kind."))
                    \(HTML.next(found.next, of: "/console/audit", filters))
                    """,
                command: "federation audit",
                call: "GET /admin/v1/audit"
            )
        }
    }
}
