import API
import HTTP
import Hummingbird
import Vocabulary

/// Operators, their tokens and sessions.
extension Console {
    func mountOperators(on router: Router<ManagementContext>) {
        page("/console/operators", on: router) { visit in try await operatorsPage(visit) }
        action("/console/operators", on: router) { visit, form in
            let document: JSONObject = [
                "name": .string(try form.value("name") ?? ""), "role": .string(try form.value("role") ?? ""),
            ]
            do {
                let made = try await visit.call(.init(.post, ["operators"], body: .object(document))).body?.object
                return .page(try await operatorsPage(visit, made: made))
            } catch let refusal as Refusal where !refusal.asksForFactor {
                return .page(try await operatorsPage(visit, refusal, form))
            }
        }
        page("/console/operators/{name}", on: router) { visit in try await operatorPage(visit) }
        action("/console/operators/{name}", on: router) { visit, form in
            let path = ["operators", visit.parameter("name")]
            let tag = try form.value("tag")
            do {
                let notice: Notice
                if let token = try form.value("token") {
                    try await visit.call(.init(.delete, path + ["tokens", token], tag: tag))
                    notice = .revoked
                } else {
                    let role: JSONValue = .object(["role": .string(try form.value("role") ?? "")])
                    try await visit.call(.init(.patch, path, body: role, tag: tag))
                    notice = .roleChanged
                }
                return .done(notice, consolePath("operators", path[1]))
            } catch let refusal as Refusal where !refusal.asksForFactor {
                return .page(try await operatorPage(visit, refusal))
            }
        }
    }

    private func operatorsPage(
        _ visit: Visit,
        _ refusal: Refusal? = nil,
        _ typed: FormFields? = nil,
        made: JSONObject? = nil
    ) async throws -> Page {
        let found = try await visit.list(["operators"], query: [("limit", "100")] + visit.cursor)
        let rows = found.items.map { person -> [HTML] in
            let name = person["name"]?.string ?? ""
            return [
                "<a href=\"\(consolePath("operators", name))\">\(name)</a>",
                "<span class=\"tag\">\(person["role"]?.string ?? "")</span>",
                "\(person["tokens"]?.array?.count ?? 0)", .moment(person["created"]),
            ]
        }
        let making = visit.form(
            to: "/console/operators",
            """
            \(HTML.field("name", "Name", value: try typed?.value("name") ?? "", hint: """
            Letters, digits and . - _ @ +, such as ann. The audit log has it; it stays.
            """, attributes: "required maxlength=\"64\" spellcheck=\"false\" autocomplete=\"off\""))
            <p class="field"><label for="role">Role</label><select id="role" name="role">\
            \(Self.roles(chosen: try typed?.value("role") ?? OperatorRole.viewer.rawValue))</select></p>
            <p><button>Make the operator</button></p>
            """
        )
        let page = Page(
            title: "Operators",
            section: .operators,
            content: """
                \(made.map(HTML.made(operator:)) ?? "")\(refusal?.alert ?? "")
                \(HTML.table("Operators", ["Name", "Role", "Tokens and sessions", "Made"], rows, ifEmpty: "None."))\
                \(HTML.next(found.next, of: "/console/operators"))
                \("<h2>A new operator</h2>\(making)" as HTML, if: visit.role >= .owner)
                """,
            command: "federation operator list",
            call: "POST /admin/v1/operators"
        )
        return page.answering(refusal)
    }

    private static func roles(chosen: String) -> [HTML] {
        OperatorRole.allCases.map { role -> HTML in
            "<option\(" selected", if: role.rawValue == chosen)>\(role.rawValue)</option>"
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
        let change = visit.form(
            to: path,
            class: "search",
            "\(tag)<label for=\"role\">Role</label><select id=\"role\" name=\"role\">\(Self.roles(chosen: role))</select><button>Change</button>"
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

extension HTML {
    /// An operator who was just made.
    static func made(operator made: JSONObject) -> HTML {
        let name = made["name"]?.string ?? ""
        return """
            <div class="made" role="status"><p>The operator <strong>\(name)</strong> is made. This token signs in to the \
            console and calls the administration. It is shown this once; afterwards only its hash is stored:</p>\
            <p>\(copied(made["token"]?.string ?? "", "the token"))</p>\
            <p>Hand it over by a way that nobody else reads, such as a password manager.</p></div>
            """
    }
}
