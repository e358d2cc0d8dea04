import API
import HTTP
import Hummingbird
import Vocabulary

/// Operators, their tokens and sessions.
extension Console {
    func mountOperators(on router: Router<ManagementContext>) {
        page("/console/operators", on: router) { visit in
            let found = try await visit.list(["operators"], query: [("limit", "100")] + visit.cursor)
            let rows = found.items.map { person -> [HTML] in
                let name = person["name"]?.string ?? ""
                return [
                    "<a href=\"\(consolePath("operators", name))\">\(name)</a>",
                    "<span class=\"tag\">\(person["role"]?.string ?? "")</span>",
                    "\(person["tokens"]?.array?.count ?? 0)", .moment(person["created"]),
                ]
            }
            return Page(
                title: "Operators",
                section: .operators,
                content: """
                    \(HTML.table("Operators", ["Name", "Role", "Tokens and sessions", "Made"], rows, ifEmpty: "None."))\
                    \(HTML.next(found.next, of: "/console/operators"))
                    """,
                command: "federation operator list",
                call: "GET /admin/v1/operators"
            )
        }
        page("/console/operators/{name}", on: router) { visit in try await operatorPage(visit) }
        action("/console/operators/{name}", on: router) { visit, form in
            let path = ["operators", visit.parameter("name")]
            let tag = try form.value("tag")
            do {
                if let token = try form.value("token") {
                    try await visit.call(.init(.delete, path + ["tokens", token], tag: tag))
                } else {
                    let role: JSONValue = .object(["role": .string(try form.value("role") ?? "")])
                    try await visit.call(.init(.patch, path, body: role, tag: tag))
                }
                return .redirect(consolePath("operators", path[1]))
            } catch let refusal as Refusal where !refusal.asksForFactor {
                return .page(try await operatorPage(visit, refusal))
            }
        }
    }

    private func operatorPage(_ visit: Visit, _ refusal: Refusal? = nil) async throws -> Page {
        let name = visit.parameter("name")
        let path = consolePath("operators", name)
        let stored = try await visit.call(.init(.get, ["operators", name]))
        let person = stored.body?.object
        let tag: HTML = HTML.hidden("tag", stored.tag ?? "")
        let tokens = (person?["tokens"]?.array ?? []).compactMap(\.object).map { token -> [HTML] in
            let id = token["id"]?.string ?? ""
            let revoke = visit.form(
                to: path,
                "\(tag)\(HTML.hidden("token", id))<button class=\"danger\">Revoke</button>"
            )
            return [
                "<code>\(id)</code>", .value(token["purpose"]), .value(token["machine"]), .moment(token["created"]),
                .moment(token["expires"]), .moment(token["lastUsed"]), visit.role >= .owner ? revoke : "–",
            ]
        }
        let role = person?["role"]?.string ?? ""
        let options = OperatorRole.allCases.map { other -> HTML in
            "<option\(" selected", if: other.rawValue == role)>\(other.rawValue)</option>"
        }
        let change = visit.form(
            to: path,
            class: "search",
            "\(tag)<label for=\"role\">Role</label><select id=\"role\" name=\"role\">\(options)</select><button>Change</button>"
        )
        let page = Page(
            title: name,
            section: .operators,
            trail: [("Operators", "/console/operators")],
            content: """
                \(refusal?.alert ?? "")\(visit.role >= .owner ? change : "<p><span class=\"tag\">\(role)</span></p>" as HTML)
                <h2>Tokens and sessions</h2>
                \(HTML.table("Tokens", [
                    "Id", "For", "Machine", "Made", "Ends", "Last used", "Revoke it",
                ], tokens, ifEmpty: "None."))
                """,
            command: "federation operator show \(name)",
            call: "GET /admin/v1/operators/\(name)"
        )
        return page.answering(refusal)
    }
}
