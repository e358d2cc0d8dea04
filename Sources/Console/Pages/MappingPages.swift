import API
import HTTP
import Hummingbird
import Vocabulary

/// The mapping of a provider: its entries, what they would write for a person, revisions.
extension Console {
    func mountMappings(on router: Router<ManagementContext>) {
        page("/console/applications/{application}/mappings/{provider}", on: router) { visit in
            try await mappingPage(visit, nil)
        }
        action("/console/applications/{application}/mappings/{provider}", on: router) { visit, form in
            try await changeMapping(visit, form)
        }
        action("/console/applications/{application}/mappings/{provider}/rollback", on: router) { visit, form in
            let place = MappingPlace(visit)
            let revision = try form.value("revision").flatMap { Int64($0) } ?? 0
            let tag = try form.value("tag")
            let body: JSONValue = .object(["revision": .integer(revision)])
            try await visit.call(.init(.post, place.call + ["rollback"], body: body, tag: tag))
            return .redirect(place.path)
        }
    }

    private struct MappingPlace {
        let application: String
        let provider: String

        init(_ visit: Visit) {
            application = visit.parameter("application")
            provider = visit.parameter("provider")
        }

        var path: String { consolePath("applications", application, "mappings", provider) }
        var call: [String] { ["applications", application, "mappings", provider] }
    }

    /// What is typed, and what it would write.
    private struct MappingDraft {
        let entries: String
        let profile: String
        let user: String
        let tag: String
        var preview: JSONObject?
        var refusal: Refusal?
    }

    private func mappingPage(_ visit: Visit, _ draft: MappingDraft?) async throws -> Page {
        let place = MappingPlace(visit)
        async let mapping = visit.call(.init(.get, place.call))
        async let revisionList = visit.list(place.call + ["revisions"], query: [("limit", "20")])
        let (stored, revisions) = try await (mapping, revisionList.items)
        let entries = stored.body?.object?["entries"] ?? .array([])
        let tag = draft?.tag ?? stored.tag ?? ""
        let isOutdated = draft != nil && tag != stored.tag
        let mayChange = visit.role >= .editor
        let outdated: HTML = """
            <div class="alert" role="alert"><p>Somebody has changed this mapping meanwhile. Below is what you have typed; this \
            is what there is now. Bring both together, then save.</p><pre>\(HTML.json(entries))</pre></div>
            """
        let editor = visit.form(
            to: place.path,
            class: "editor",
            """
            <input type="hidden" name="tag" value="\(isOutdated ? stored.tag ?? "" : tag)">
            <p class="field"><label for="entries">Entries: provider's field to property</label>
            <textarea id="entries" name="entries" rows="16" spellcheck="false" aria-describedby="entries-hint">\
            \(draft?.entries ?? entries.indented(\.text))</textarea>
            <small id="entries-hint">Each has from and to, and may have type, sync, required, default, whenMissing and \
            transform, as docs/mapping.md says.</small></p>
            <p class="field"><label for="profile">A person to try it with</label>
            <textarea id="profile" name="profile" rows="10" spellcheck="false" aria-describedby="profile-hint">\
            \(draft?.profile ?? Self.sample)</textarea>
            <small id="profile-hint">A profile as the provider gives it, for example pasted from its explorer.</small></p>
            \(HTML.field("user", "Or somebody who is there", value: draft?.user ?? "", hint: """
            The objectId of a user: what a login would change for them. Leave it empty for a first login.
            """, attributes: "spellcheck=\"false\""))
            <p class="actions"><button name="do" value="preview">Show what it would write</button>
            \("<button name=\"do\" value=\"save\" class=\"primary\">Save</button>", if: mayChange)</p>
            """
        )
        var page = Page(
            title: "Mapping of \(place.provider)",
            section: .applications,
            trail: [
                ("Applications", "/console/applications"),
                (place.application, consolePath("applications", place.application)),
            ],
            content: """
                \(outdated, if: isOutdated)\(draft?.refusal?.alert ?? "")
                \(editor)
                <section id="preview" aria-live="polite" aria-label="What it would write">\
                \(draft?.preview.map(Self.preview) ?? "")</section>
                <h2>Revisions</h2>
                \(HTML.table("Revisions", ["Revision", "Entries", "By", "Made", "Take back"], revisions.map {
                    revision($0, place, tag: stored.tag ?? "", visit)
                }, ifEmpty: "None."))
                """,
            command: "federation mapping show \(place.application) \(place.provider)",
            call: "PUT /admin/v1/applications/\(place.application)/mappings/\(place.provider)"
        )
        if let refusal = draft?.refusal { page.status = refusal.status }
        return page
    }

    private func revision(_ revision: JSONObject, _ place: MappingPlace, tag: String, _ visit: Visit) -> [HTML] {
        let number = revision["revision"]?.integer ?? 0
        let isActive = revision["active"]?.bool ?? false
        let rollback = visit.form(
            to: place.path + "/rollback",
            """
            <input type="hidden" name="revision" value="\(number)"><input type="hidden" name="tag" value="\(tag)">\
            <button>Go back to \(number)</button>
            """
        )
        return [
            "\(number)\(" <span class=\"tag\">active</span>", if: isActive)",
            "<details><summary>\(revision["entries"]?.array?.count ?? 0) entries</summary>"
                + "<pre>\(HTML.json(revision["entries"] ?? .null))</pre></details>",
            .value(revision["author"]), .moment(revision["created"]),
            isActive || visit.role < .editor ? "–" : rollback,
        ]
    }

    private func changeMapping(_ visit: Visit, _ form: FormFields) async throws -> Outcome {
        let place = MappingPlace(visit)
        var draft = MappingDraft(
            entries: try form.value("entries") ?? "",
            profile: try form.value("profile") ?? "",
            user: try form.value("user") ?? "",
            tag: try form.value("tag") ?? ""
        )
        do {
            do {
                let entries = try Self.parsed(draft.entries, "entries")
                if try form.value("do") == "save" {
                    try await visit.call(.init(.put, place.call, body: entries, tag: draft.tag))
                    return .redirect(place.path)
                }
                var request: JSONObject = ["profile": try Self.parsed(draft.profile, "person"), "mapping": entries]
                if !draft.user.isEmpty { request.append("user", .string(draft.user)) }
                let answer = try await visit.call(.init(.post, place.call + ["preview"], body: .object(request)))
                draft.preview = answer.body?.object
            } catch let failure as Failure {
                throw Refusal(failure)
            }
        } catch let refusal as Refusal where !refusal.asksForFactor {
            draft.refusal = refusal
        }
        return .page(try await mappingPage(visit, draft))
    }

    /// What each entry would write, and why.
    private static func preview(_ preview: JSONObject) -> HTML {
        let refusal = preview["refusal"]?.object?["message"]?.string
        let missing = (preview["missingPermissions"]?.array ?? []).compactMap(\.string)
        let entries = preview["entries"]?.array?.compactMap(\.object) ?? []
        return """
            <h2>What it would write</h2>
            \(refusal.map { "<div class=\"alert\"><p>The login would be refused: \($0)</p></div>" } ?? "" as HTML)
            \("<p>Permissions that are missing: \(missing.joined(separator: ", "))</p>", if: !missing.isEmpty)
            \(HTML.table("Preview", ["From", "To", "Outcome", "Value", "Now", "Why"], entries.map { entry in
                let outcome = entry["outcome"]?.string ?? ""
                return [
                    .value(entry["from"]), .value(entry["to"]), "<span class=\"tag \(outcome)\">\(outcome)</span>",
                    .value(entry["value"]), .value(entry["current"]), .value(entry["why"]),
                ]
            }, ifEmpty: "There is no entry."))
            """
    }

    private static let sample = """
        {
          "id": "1001",
          "name": "Nora Nordmann",
          "first_name": "Nora",
          "last_name": "Nordmann",
          "email": "nora@example.com"
        }
        """
}
