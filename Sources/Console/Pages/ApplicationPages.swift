import AdministrationAPI
import Domain
import Encodings
import Hummingbird
import Pages

/// The pages of applications: the list of applications, a page for each, and its document with a preview of changes.
extension Console {
    func mountApplications(on router: Router<ManagementContext>) {
        page("/console/applications", on: router) { visit in try await applications(visit) }
        action("/console/applications", on: router) { visit, form in
            let id = try form.value("application") ?? ""
            let document: JSONObject = ["application": .string(id), "name": .string(try form.value("name") ?? "")]
            do {
                try await visit.call(.init(.post, ["applications"], body: .object(document)))
                return .done(.made, consolePath("applications", id, "setup"))
            } catch let refusal as Refusal where !refusal.asksForFactor {
                return .page(try await applications(visit, refusal, form))
            }
        }
        page("/console/applications/{application}", on: router) { visit in try await application(visit) }
        page("/console/applications/{application}/document", on: router) { visit in
            try await documentPage(visit, nil)
        }
        action("/console/applications/{application}/document", on: router) { visit, form in
            try await changeDocument(visit, form)
        }
        router.get("/console/applications/{application}/document/export") { request, context in
            try await answer(request, context) { visit in
                let id = visit.parameter("application")
                let document = try await visit.read(["applications", id, "document"])
                return Page.file("\(id).json", document.indented(\.text))
            }
        }
    }

    private func applications(
        _ visit: Visit,
        _ refusal: Refusal? = nil,
        _ form: FormFields? = nil
    ) async throws -> Page {
        let found = try await visit.list(["applications"], query: [("limit", "50")] + visit.cursor)
        let making: HTML = """
            <section aria-labelledby="new"><h2 id="new">Create an application</h2>\(refusal?.alert ?? "")
            \(visit.form(to: "/console/applications", """
            \(HTML.field("application", "Id", value: try form?.value("application") ?? "", hint: """
            Part of every URL of its clients, such as shop. Letters, digits, - and _. Cannot be changed later.
            """, attributes: """
            required maxlength="63" pattern="[A-Za-z0-9][A-Za-z0-9_\\-]*" title="Only letters, digits, - and _" \
            spellcheck="false"
            """))
            \(HTML.field("name", "Name", value: try form?.value("name") ?? "", hint: "Users see it in mails and on pages."))
            <p><button>Create</button></p>
            """ as HTML))</section>
            """
        let page = Page(
            title: "Applications",
            section: .applications,
            content: """
                \(Self.cards(found.items))\(HTML.next(found.next, of: "/console/applications"))
                \(making, if: visit.role >= .owner)
                """,
            command: "federation list applications",
            call: "GET /admin/v1/applications"
        )
        return page.answering(refusal)
    }

    private func application(_ visit: Visit) async throws -> Page {
        let id = visit.parameter("application")
        async let resource = visit.read(["applications", id])
        async let document = visit.read(["applications", id, "document"])
        let application = try await resource.object
        let providers = try await document.object?["providers"]?.object?.members ?? []
        let table = HTML.table("Providers", of: providers, ifEmpty: "No providers yet.") { member in
            let provider = member.value.object
            let path = consolePath("applications", id, "providers", member.key)
            let mapping: HTML = """
                <a href="\(consolePath("applications", id, "mappings", member.key))">Mapping\
                <span class="hidden"> of \(member.key)</span></a>
                """
            return [
                ("Provider", "<a href=\"\(path)\">\(methodTitle(member.key))</a>"), ("Mapping", mapping),
                ("On", .value(provider?["enabled"])), ("Apps", "\(provider?["apps"]?.array?.count ?? 0)"),
                ("Graph version", .value(provider?["graphVersion"])),
            ]
        }
        let absent = kinds.filter { kind in !providers.contains { $0.key == kind.name } }
        let others = absent.map { kind -> HTML in
            """
            <a class="button" href="\(consolePath("applications", id, "providers", kind.name))">Set up \(kind.title)</a>
            """
        }
        let parts = [
            ("users", "Users"), ("invitations", "Invitations"), ("settings", "Settings"), ("keys", "Keys"),
            ("properties", "Properties"), ("setup", "Set-up"), ("document", "JSON document"),
        ]
        return Page(
            title: application?["name"]?.string ?? id,
            section: .applications,
            trail: [("Applications", "/console/applications")],
            content: """
                \(HTML.warnings(application?["warnings"]?.array?.compactMap(\.string) ?? []))
                <p class="actions">\(parts.map { part -> HTML in
                    "<a class=\"button\" href=\"\(consolePath("applications", id, part.0))\">\(part.1)</a>"
                })</p>
                \(HTML.facts([
                    ("Id", "<code>\(id)</code>"), ("Database schema", .value(application?["schema"])),
                    ("Revision", .value(application?["revision"])), ("Created", .moment(application?["created"])),
                    ("Changed", .moment(application?["updated"])),
                ]))
                <h2>Providers and their mappings</h2>
                \(table)
                \("<p class=\"actions\">\(others)</p>", if: !absent.isEmpty && visit.role >= .owner)
                """,
            command: "federation get applications/\(id)",
            call: "GET /admin/v1/applications/\(id)"
        )
    }

    /// An application document as the operator typed it, with the changes that it would make, or the reason for its
    /// refusal.
    private struct Draft {
        let text: String
        /// The entity tag (`ETag`) that the application document had when the operator began to edit it.
        let tag: String
        var plan: JSONObject?
        var refusal: Refusal?
    }

    private func documentPage(_ visit: Visit, _ draft: Draft?) async throws -> Page {
        let id = visit.parameter("application")
        let path = consolePath("applications", id, "document")
        let stored = try await visit.call(.init(.get, ["applications", id, "document"]))
        let text = draft?.text ?? (stored.body ?? .null).indented(\.text)
        let tag = draft?.tag ?? stored.tag ?? ""
        let isOutdated = draft != nil && tag != stored.tag
        let outdated: HTML = """
            <div class="alert" role="alert"><p>Another operator changed this application while you edited it. Your \
            text is kept. Compare it with the stored version below, combine both, and apply again.</p>
            <details open><summary>Stored version</summary><pre>\(HTML.json(stored.body ?? .null))</pre></details></div>
            """
        let editing = visit.form(
            to: path,
            """
            \(HTML.hidden("tag", isOutdated ? stored.tag ?? "" : tag))
            <p class="field"><label for="document">Document</label>
            <textarea id="document" name="document" rows="30" spellcheck="false" autocomplete="off">\(text)</textarea></p>
            <p class="actions"><button name="do" value="plan">Preview changes</button>
            \("<button name=\"do\" value=\"apply\" class=\"primary\">Apply</button>", if: draft?.plan != nil && !isOutdated)</p>
            """
        )
        let page = Page(
            title: "Settings as a JSON document",
            section: .applications,
            trail: Self.trail(of: id),
            content: """
                \("<p class=\"actions\"><a class=\"button\" href=\"\(path)/export\">Download</a></p>", if: draft == nil)
                \(outdated, if: isOutdated)\(draft?.refusal?.alert ?? "")\(draft?.plan.map(Self.plan) ?? "")
                \(visit.role >= .owner ? editing : "<pre>\(text)</pre>" as HTML)
                """,
            command: "federation diff FILE; federation apply FILE; federation export \(id)",
            call: "PUT /admin/v1/applications/\(id)/document?dryRun=true"
        )
        return page.answering(draft?.refusal)
    }

    private func changeDocument(_ visit: Visit, _ form: FormFields) async throws -> Outcome {
        let path = ["applications", visit.parameter("application"), "document"]
        let isApplied = try form.value("do") == "apply"
        var draft = Draft(text: try form.value("document") ?? "", tag: try form.value("tag") ?? "")
        do {
            do {
                let document = try Self.parsed(draft.text, "document")
                let query: [(name: String, value: String)] = isApplied ? [] : [("dryRun", "true")]
                let answer = try await visit.call(.init(.put, path, query: query, body: document, tag: draft.tag))
                if isApplied { return .done(.applied, consolePath("applications", path[1])) }
                draft.plan = answer.body?.object
            } catch let failure as Failure {
                throw Refusal(failure)
            }
        } catch let refusal as Refusal where !refusal.asksForFactor {
            draft.refusal = refusal
        }
        return .page(try await documentPage(visit, draft))
    }

    /// Returns the list of changes that a document would make.
    private static func plan(_ plan: JSONObject) -> HTML {
        let changes = plan["changes"]?.array?.compactMap(\.object) ?? []
        let warnings = plan["warnings"]?.array?.compactMap(\.string) ?? []
        let table = HTML.table("Changes", of: changes, ifEmpty: "No changes.") { change in
            ChangedValues(from: change["from"], to: change["to"]).html
        } _: { change in
            [("Change", .value(change["action"])), ("Object", .value(change["target"]))]
        }
        return """
            <section aria-labelledby="changes"><h2 id="changes">Changes</h2>
            \(HTML.warnings(warnings))
            \(table)</section>
            """
    }
}
