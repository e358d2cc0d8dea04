import AdministrationAPI
import Domain
import Encodings
import Hummingbird
import Pages

/// The pages of operators, of their tokens and of their sessions.
extension Console {
    func mountOperators(on router: Router<ManagementContext>) {
        let operators: RouterPath = "/console/operators"
        let again: ShowAgain = { visit, form, _ in try await operatorsPage(visit, form) }
        page(operators, on: router) { visit in try await operatorsPage(visit) }
        action(operators, on: router, again: again) { visit, form in
            let document: JSONObject = [
                "name": .string(try form.text("name")), "role": .string(try form.text("role")),
            ]
            let made = try await visit.call(.post, ["operators"], document).object
            return .page(try await operatorsPage(visit, made: made))
        }
        let person: RouterPath = "/console/operators/{name}"
        page(person, on: router) { visit in try await operatorPage(visit) }
        action(person, on: router, again: { visit, _, _ in try await operatorPage(visit) }) { visit, form in
            let path = ["operators", visit.parameter("name")]
            let tag = try form.value("tag")
            let here = consolePath("operators", path[1])
            if let token = try form.value("token") {
                try await visit.call(.delete, path + ["tokens", token], tag: tag)
                return .done(.revoked, here)
            }
            try await visit.call(.patch, path, ["role": .string(try form.text("role"))], tag: tag)
            return .done(.roleChanged, here)
        }
    }

    private func operatorsPage(
        _ visit: Visit,
        _ typed: FormFields? = nil,
        made: JSONObject? = nil
    ) async throws -> Page {
        let found = try await visit.list(["operators"], query: [("limit", "100")] + visit.cursor)
        let table = HTML.table("Operators", of: found.items, ifEmpty: "None.") { person in
            let name = person.string("name")
            return [
                ("Name", "<a href=\"\(consolePath("operators", name))\">\(name)</a>"),
                ("Role", .tag(person.string("role"))),
                ("Tokens and sessions", "\(person.objects("tokens").count)"), ("Created", .moment(person["created"])),
            ]
        }
        let role = (try typed?.value("role")) ?? OperatorRole.viewer.rawValue
        let making = visit.form(
            to: "/console/operators",
            """
            \(HTML.operatorName("Name", typed.typed("name")))
            \(HTML.select("role", "Role", Self.roles, chosen: role))
            \(HTML.submit("Create the operator"))
            """
        )
        return Page(
            title: "Operators",
            section: .operators,
            content: """
                \(made.map(HTML.made(operator:)))
                \(table)\(HTML.next(found.next, of: "/console/operators"))
                \("<h2>Create an operator</h2>\(making)", if: visit.role >= .owner)
                """,
            command: "federation list operators",
            call: "POST /admin/v1/operators"
        )
    }

    private static let roles = OperatorRole.allCases.map { (value: $0.rawValue, title: $0.rawValue) }

    private func operatorPage(_ visit: Visit) async throws -> Page {
        let name = visit.parameter("name")
        let path = consolePath("operators", name)
        let stored = try await visit.call(.get, ["operators", name])
        let tag = HTML.hidden("tag", stored.tag ?? "")
        let isOwner = visit.role >= .owner
        let table = HTML.table("Tokens", of: stored.object.objects("tokens"), ifEmpty: "None.") { token in
            let id = token.string("id")
            let revoke: HTML = "\(tag)\(HTML.hidden("token", id))<button class=\"danger\">Revoke</button>"
            return [
                ("Id", "<code>\(id)</code>"), ("For", .value(token["purpose"])), ("Machine", .value(token["machine"])),
                ("Created", .moment(token["created"])), ("Expires", .moment(token["expires"])),
                ("Last used", .moment(token["lastUsed"])),
                ("Action", isOwner ? visit.form(to: path, revoke) : "–"),
            ]
        }
        let role = stored.object.string("role")
        let change = visit.form(
            to: path,
            class: "search",
            """
            \(tag)<label>Role <select id="role" name="role">\
            \(HTML.options(Self.roles, chosen: role))</select></label><button>Change</button>
            """
        )
        return Page(
            title: name,
            section: .operators,
            trail: [("Operators", "/console/operators")],
            content: """
                \(isOwner ? change : "<p>\(HTML.tag(role))</p>")
                <h2>Tokens and sessions</h2>
                \(table)
                """,
            command: "federation get operators/\(name)",
            call: "GET /admin/v1/operators/\(name)"
        )
    }
}

extension HTML {
    /// A form field for the name of an operator.
    static func operatorName(_ label: HTML, _ name: String, _ attributes: HTML = "") -> HTML {
        .field(
            "name",
            label,
            value: name,
            hint: "Letters, digits and . - _ @ +, such as ann. Shown in the audit log. Cannot be changed later.",
            attributes: "required maxlength=\"64\" spellcheck=\"false\" autocomplete=\"off\" \(attributes)"
        )
    }

    /// A message that shows the token of a new operator.
    static func made(operator made: JSONObject) -> HTML {
        self.made(
            """
            The operator <strong>\(made.string("name"))</strong> is created. This token logs in to the console and \
            calls the administration API. Copy it now: it is not shown again, because only its hash is stored.
            """,
            made.string("token"),
            "the token",
            "Send it over a private channel, such as a password manager."
        )
    }
}
