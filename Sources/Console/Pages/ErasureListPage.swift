import API
import HTTP
import HTTPTypes
import Hummingbird
import Vocabulary

/// The page that erases the people of a list of ids, as providers send one.
///
/// A list is erased part by part, and each part is a form. Where scripts run, one sends part after part.
extension Console {
    func mountErasureList(on router: Router<ManagementContext>) {
        let path: RouterPath = "/console/applications/{application}/erase-list"
        page(path, on: router) { visit in try await erasureListPage(visit) }
        action(path, on: router) { visit, form in
            let application = visit.parameter("application")
            let isErased = try form.value("do") == "erase"
            let apps = try form.value("app")?.split(whereSeparator: \.isWhitespace).map(String.init) ?? []
            var list: JSONObject = [
                "provider": .string(try form.value("provider") ?? ""), "ids": .string(try form.value("ids") ?? ""),
                "reason": .string(try form.value("reason") ?? ""),
                "after": .integer(try form.value("after").flatMap { Int64($0) } ?? 0),
            ]
            if !apps.isEmpty { list.append("apps", .array(apps.map(JSONValue.string))) }
            let call = AdministrationCalls.Call(
                .post,
                ["applications", application, "erasures"],
                query: isErased ? [("confirm", try form.value("confirm") ?? "")] : [("dryRun", "true")],
                body: .object(list)
            )
            do {
                let part = try await visit.call(call).body?.object ?? JSONObject()
                return .page(try await erasureListPage(visit, form, part: part))
            } catch let refusal as Refusal where !refusal.asksForFactor {
                return .page(try await erasureListPage(visit, form, refusal))
            }
        }
    }

    /// The words for an outcome.
    private static func title(_ outcome: String, isErased: Bool) -> String {
        switch outcome {
        case "user": isErased ? "The user is erased" : "The user would be erased"
        case "identity": isErased ? "The login by the provider is gone" : "The login by the provider would go"
        case "nobody": "Nobody has the id"
        case "waiting": "Waits for the days that the provider's setting asks for"
        case "done": "Was done before"
        case "hindered": "Something stands in the way; the service tries again"
        default: outcome
        }
    }

    private func erasureListPage(
        _ visit: Visit,
        _ form: FormFields? = nil,
        part: JSONObject? = nil,
        _ refusal: Refusal? = nil
    ) async throws -> Page {
        let application = visit.parameter("application")
        guard visit.role >= .owner else {
            throw Failure(.operatorForbidden, "This needs the role owner; yours is \(visit.role.rawValue).")
        }
        let path = consolePath("applications", application, "erase-list")
        func typed(_ name: String) throws -> String { try form?.value(name) ?? "" }
        let document = try await visit.read(["applications", application, "document"]).object
        let providers = document?["providers"]?.object?.members.map(\.key) ?? []
        let chosen = try typed("provider")
        let options = HTML.options(providers.map { ($0, methodTitle($0)) }, chosen: chosen)
        let fields: HTML = """
            <p class="field"><label for="provider">Provider</label><select id="provider" name="provider">\(options)</select></p>
            \(HTML.field("app", "App at the provider", value: try typed("app"), hint: """
            Its id, where the application has several apps there; several with a space between them.
            """, attributes: """
            autocomplete="off" spellcheck="false"
            """))
            \(HTML.field("reason", "Reason", value: try typed("reason"), hint: "The audit log has it.", attributes: """
            required maxlength="500" autocomplete="off"
            """))
            \(HTML.file(into: "ids"))
            <p class="field"><label for="ids">Ids</label><textarea id="ids" name="ids" rows="8" required spellcheck="false" \
            autocomplete="off" aria-describedby="ids-hint">\n\(try typed("ids"))</textarea>\
            <small id="ids-hint">An id on each line, and nothing else; at most 1 MB.</small></p>
            """
        let buttons: HTML = """
            <div class="actions"><button class="primary" name="do" value="look">Look, and erase nobody</button></div>
            <details class="erase"><summary>Erase those of the list</summary>
            \(HTML.field("confirm", "To erase them for good, type the application", hint: application, attributes: """
            autocomplete="off" spellcheck="false"
            """))
            <p><button class="danger" name="do" value="erase">Erase for good</button></p></details>
            """
        return Page(
            title: "Erase by a list of ids",
            section: .applications,
            trail: Self.peopleTrail(of: application),
            content: """
                \(refusal?.alert ?? "")
                <p>Each id becomes a request for deletion, as by the provider's own callback: a user with another login \
                method loses the login by this provider alone. The same list again does what is left of it.</p>
                \(try part.map { try outcome($0, of: form, to: path, visit) } ?? "" as HTML)
                \(visit.form(to: path, class: "list", "\(fields)\(buttons)\(Self.progress)"))
                """,
            command: "federation user erase \(application) --provider facebook --ids ids.txt --reason list",
            call: "POST /admin/v1/applications/\(application)/erasures",
            scripts: [Assets.people, Assets.files, Assets.passkeys]
        ).answering(refusal)
    }

    /// What has become of the ids of a part, and the way on.
    private func outcome(_ part: JSONObject, of form: FormFields?, to path: String, _ visit: Visit) throws -> HTML {
        let isErased = try form?.value("do") == "erase"
        let outcomes = part["outcomes"]?.array?.compactMap(\.object) ?? []
        let rows = outcomes.map { outcome -> [HTML] in
            [
                "\(outcome["line"]?.integer ?? 0)", .value(outcome["appId"]),
                "\(Self.title(outcome["outcome"]?.string ?? "", isErased: isErased))",
                .value(outcome["confirmationCode"]), .value(outcome["hindrance"]),
            ]
        }
        let names = ["provider", "app", "reason", "ids", "confirm", "do"]
        let kept = try names.map { HTML.hidden($0, try form?.value($0) ?? "") }
        let next = part["next"]?.integer.map { line -> HTML in
            visit.form(
                to: path,
                """
                \(kept)\(HTML.hidden("after", String(line)))<p>These are the ids up to line \(line). \
                <button class="primary">Go on</button></p>
                """
            )
        }
        return """
            <script type="application/json" class="part">\(HTML(json: Array(JSONValue.object(part).text.utf8)))</script>
            <h2>\(isErased ? "Done" : "What would become of them")</h2>
            <p role="status">The list has \(part["ids"]?.integer ?? 0) ids.</p>
            \(HTML.table("Outcome", ["Line", "App", "Outcome", "Confirmation code", "What stands in the way"], rows, ifEmpty: """
            Nothing was left to do.
            """))
            \(next ?? "")
            """
    }
}
