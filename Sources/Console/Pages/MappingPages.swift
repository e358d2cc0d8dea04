import AdministrationAPI
import Domain
import Encodings
import Hummingbird
import Pages

/// The page of a provider's mapping: its entries, its preview for a user, and its revisions.
extension Console {
    func mountMappings(on router: Router<ManagementContext>) {
        let path: RouterPath = "/console/applications/{application}/mappings/{provider}"
        page(path, on: router) { visit in
            let (place, isJSON) = (ProviderPlace(.mappings, visit), visit.query["as"] == "json")
            let sides = try await MappingSides(place, visit)
            // Before the operator types anything, the page shows the result of the stored mapping for a sample profile.
            let person: JSONValue = .object(["profile": sides.sample])
            let preview = try await visit.part(.init(.post, place.call + ["preview"], body: person))
            return try await mappingPage(visit, MappingDraft(isJSON: isJSON, preview: preview.object), sides)
        }
        action(path, on: router) { visit, form in try await changeMapping(visit, form) }
        page(RouterPath("\(path)/revisions/{revision}"), on: router) { visit in try await revisionPage(visit) }
        action(RouterPath("\(path)/rollback"), on: router) { visit, form in
            let place = ProviderPlace(.mappings, visit)
            let revision = try form.value("revision").flatMap { Int64($0) } ?? 0
            let body: JSONObject = ["revision": .integer(revision)]
            try await visit.call(.post, place.call + ["rollback"], body, tag: try form.value("tag"))
            return .done(.rolledBack, place.path)
        }
    }

    /// The mapping as the operator typed it, and the preview of its effect.
    private struct MappingDraft {
        /// Whether the operator edits the mapping as JSON, not in the form.
        var isJSON = false
        /// The entries that the operator typed; nil if the operator has not changed the stored entries.
        var entries: JSONValue?
        /// The JSON text of the mapping, as the operator typed it.
        var text: String?
        var profile: String?
        var user = ""
        var tag: String?
        var preview: JSONObject?
        var refusal: Refusal?
    }

    /// What the mapping editor shows: the provider's profile fields, the application's properties, and the stored
    /// mapping.
    private struct MappingSides {
        let fields: [JSONObject]
        let sample: JSONValue
        let properties: [JSONObject]
        let entries: [JSONObject]
        /// The entity tag (`ETag`) of the stored mapping; if there is no mapping, the tag of the application.
        let tag: String
        /// The number of the mapping's stored revision; nil if the provider has no mapping.
        let revision: Int64?
        /// The warnings about the stored mapping.
        let warnings: [String]

        init(_ place: ProviderPlace, _ visit: Visit) async throws {
            async let offered = visit.object(place.call + ["fields"])
            async let declared = visit.call(.get, ["applications", place.application])
            async let properties = visit.list(["applications", place.application, "properties"])
            // While there is no mapping, the tag is the application's own.
            let stored = try await visit.found(place.call)
            fields = try await offered.objects("fields")
            sample = try await offered["profile"] ?? .object(JSONObject())
            self.properties = try await properties.items
            let application = try await declared.tag
            tag = stored?.tag ?? application ?? ""
            entries = stored?.object.objects("entries") ?? []
            revision = stored?.object["revision"]?.integer
            warnings = stored?.object.strings("warnings") ?? []
        }
    }

    private func mappingPage(
        _ visit: Visit,
        _ draft: MappingDraft,
        _ sides: MappingSides
    ) async throws -> Page {
        let place = ProviderPlace(.mappings, visit)
        async let revisionList = visit.list(place.call + ["revisions"], query: [("limit", "20")])
        let isOutdated = draft.tag != nil && draft.tag != sides.tag
        let entries = draft.entries?.array?.compactMap(\.object) ?? sides.entries
        let rows = MappingRows(
            application: place.application,
            entries: entries,
            properties: sides.properties,
            outcomes: draft.preview?.objects("entries") ?? [],
            problems: draft.refusal?.problems ?? []
        )
        let body = draft.isJSON ? jsonEditor(draft, entries) : rows.editor(fields: sides.fields)
        let editor = visit.form(
            to: place.path,
            class: "editor",
            """
            \(HTML.hidden("tag", sides.tag))\
            \(HTML.hidden("as", draft.isJSON ? "json" : "form"))
            \(body)
            \(tryOut(draft, sides))
            <p class="actions"><button name="do" value="preview">Preview</button>
            \("<button name=\"do\" value=\"save\" class=\"primary\">Save</button>", if: visit.role >= .editor)</p>
            <section id="preview" aria-live="polite" aria-label="Preview">\
            \(draft.refusal?.alert { "\(MappingRows.named($0.text))" })\
            \(draft.preview.map { Self.summary($0, table: draft.isJSON) })</section>
            """
        )
        let none: HTML = "No mapping yet. Without one, a login writes no properties."
        let revisions = HTML.table("Revisions", of: try await revisionList.items, ifEmpty: none) { revision in
            let number = revision.integer("revision")
            let link: HTML = "<a href=\"\(place.path)/revisions/\(number)\">Revision \(number)</a>"
            return [
                ("Revision", "\(link)\(" \(HTML.tag("active"))", if: revision.bool("active"))"),
                ("Author", .value(revision["author"])), ("Created", .moment(revision["created"])),
            ]
        }
        let page = Page(
            title: "Mapping of \(methodTitle(place.provider))",
            section: .applications,
            trail: Self.trail(of: place.application),
            content: """
                \(Self.conflict(entries, sides.entries), if: isOutdated)
                \(HTML.warnings(sides.warnings.map(MappingRows.named)), if: draft.preview == nil)
                \(HTML.views("Views", [
                    ("Form", place.path, !draft.isJSON), ("JSON", place.path + "?as=json", draft.isJSON),
                ]))
                \(editor)
                <h2>Revisions</h2>
                \(revisions)
                """,
            command: "federation get applications/\(place.application)/mappings/\(place.provider)",
            call: "PUT /admin/v1/applications/\(place.application)/mappings/\(place.provider)",
            scripts: [Assets.mapping]
        )
        return page.answering(draft.refusal)
    }

    private func jsonEditor(_ draft: MappingDraft, _ entries: [JSONObject]) -> HTML {
        let text = draft.text ?? JSONValue.array(entries.map(JSONValue.object)).indented(\.text)
        let hint: HTML = """
            Each entry has from and to, and optionally type, sync, required, default, whenMissing and transform. See \
            docs/mapping.md.
            """
        return .area("entries", "Entries: from a field of the provider to a property", text, rows: 16, hint: hint)
    }

    /// Returns the form fields with the test data of a preview: a profile, or a user.
    private func tryOut(_ draft: MappingDraft, _ sides: MappingSides) -> HTML {
        """
        <details class="try"\(" open", if: draft.isJSON || draft.profile != nil)><summary>Test data for the \
        preview</summary>
        \(HTML.area("profile", "Profile", draft.profile ?? sides.sample.indented(\.text), rows: 8, hint: """
        A profile as the provider sends it, for example from its explorer. This one is an example.
        """))
        \(HTML.field("accessToken", "Or an access token", type: "password", hint: """
        Used to read the profile for the preview. It is not stored and not shown again.
        """, attributes: "autocomplete=\"new-password\" spellcheck=\"false\""))
        \(HTML.field("user", "Existing user", value: draft.user, hint: """
        The objectId of a user, to see what a login would change. Leave it empty for a first login.
        """, attributes: "spellcheck=\"false\""))</details>
        """
    }

    /// Returns HTML that shows how the typed entries differ from those that another operator has saved meanwhile.
    private static func conflict(_ typed: [JSONObject], _ stored: [JSONObject]) -> HTML {
        func entry(_ entries: [JSONObject], of property: String) -> JSONObject? {
            entries.first { $0["to"]?.string == property }
        }
        let names = (stored + typed).compactMap { $0["to"]?.string }
        let properties = names.indices.filter { !names[..<$0].contains(names[$0]) }.map { names[$0] }
        let differences = properties.map { property in
            (property: property, theirs: entry(stored, of: property), mine: entry(typed, of: property))
        }
        .filter { $0.theirs != $0.mine }
        let table = HTML.table("Differences", of: differences, ifEmpty: "No differences.") { entry in
            [
                ("Property", "<code>\(entry.property)</code>"),
                ("Stored version", .value(entry.theirs.map(JSONValue.object))),
                ("Yours", .value(entry.mine.map(JSONValue.object))),
            ]
        }
        let alert = HTML.alert(
            """
            Another operator changed this mapping while you edited it. Your version is below. Save again to replace \
            the stored version. The differences:
            """
        )
        return "\(alert)\(table)"
    }

    private func changeMapping(_ visit: Visit, _ form: FormFields) async throws -> Outcome {
        let place = ProviderPlace(.mappings, visit)
        let sides = try await MappingSides(place, visit)
        var draft = MappingDraft(
            isJSON: try form.value("as") == "json",
            profile: try form.value("profile"),
            user: try form.text("user"),
            tag: try form.value("tag")
        )
        do {
            return try await Refusal.ofFailures {
                if draft.isJSON { draft.text = try form.text("entries") }
                let entries: JSONValue =
                    if let text = draft.text {
                        try Self.parsed(text, "entries")
                    } else {
                        .array(
                            MappingRows.entries(of: form, properties: sides.properties, stored: sides.entries)
                                .map(JSONValue.object)
                        )
                    }
                draft.entries = entries
                if try form.value("do") == "save" {
                    let saved = try await visit.call(.init(.put, place.call, body: entries, tag: draft.tag)).object
                    return .done(
                        saved.strings("warnings").isEmpty ? .saved : .savedWithWarnings,
                        draft.isJSON ? place.path + "?as=json" : place.path
                    )
                }
                var request: JSONObject = ["mapping": entries]
                if let token = try form.value("accessToken"), !token.isEmpty {
                    request.append("accessToken", .string(token))
                } else {
                    request.append("profile", try Self.parsed(draft.profile ?? "", "person"))
                }
                if !draft.user.isEmpty { request.append("user", .string(draft.user)) }
                (draft.preview, draft.refusal) = try await Self.preview(request, place, visit)
                return .page(try await mappingPage(visit, draft, sides))
            }
        } catch let refusal as Refusal where !refusal.asksForFactor {
            draft.refusal = refusal
            return .page(try await mappingPage(visit, draft, sides))
        }
    }

    /// Returns HTML that shows what a mapping would do at a login.
    ///
    /// If some entries are invalid, it shows the effect of the valid ones and the problems of the others.
    private static func preview(
        _ request: JSONObject,
        _ place: ProviderPlace,
        _ visit: Visit
    ) async throws -> (JSONObject?, Refusal?) {
        func asked(_ request: JSONObject) async throws -> JSONObject {
            try await visit.call(.post, place.call + ["preview"], request).object
        }
        do {
            return (try await asked(request), nil)
        } catch let refusal as Refusal where !refusal.asksForFactor {
            let wrong = Set(refusal.problems.compactMap(\.entry))
            guard !wrong.isEmpty, refusal.problems.allSatisfy({ $0.entry != nil }),
                let entries = request["mapping"]?.array
            else { throw refusal }
            let others = entries.enumerated().filter { !wrong.contains($0.offset) }.map(\.element)
            let rest = JSONObject(request.members.filter { $0.key != "mapping" } + [.init("mapping", .array(others))])
            return (try? await asked(rest), refusal)
        }
    }

    /// Returns HTML that says what the login in the preview would do.
    ///
    /// With `table` true, a table shows for each entry the value that it would write, and the reason.
    static func summary(_ preview: JSONObject, table isWanted: Bool) -> HTML {
        let refusal = preview.object("refusal")["message"]?.string
        let missing = preview.strings("missingPermissions")
        let table = HTML.table("Values to be written", of: preview.objects("entries"), ifEmpty: "No entries yet.") {
            entry in
            let outcome = entry.string("outcome")
            return [
                ("From", .value(entry["from"])), ("To", .value(entry["to"])), ("Outcome", .tag(outcome, outcome)),
                ("Value", .value(entry["value"])), ("Now", .value(entry["current"])), ("Reason", .value(entry["why"])),
            ]
        }
        return """
            \(HTML.warnings(preview.strings("warnings").map(MappingRows.named)))
            \(refusal.map { "<div class=\"alert\"><p>The login would be refused: \($0)</p></div>" as HTML })
            \("<p>This login would create a user.</p>", if: preview.bool("created") && refusal == nil)
            \("<p>Missing permissions: \(missing.joined(separator: ", "))</p>", if: !missing.isEmpty)
            \(table, if: isWanted)
            """
    }

    /// Returns the page of one revision of a mapping.
    ///
    /// It shows how the revision differs from the active one, and has a button that makes it active again.
    private func revisionPage(_ visit: Visit) async throws -> Page {
        let place = ProviderPlace(.mappings, visit)
        let number = visit.parameter("revision")
        let stored = try await visit.call(.get, place.call + ["revisions", number])
        let revision = stored.object
        let active = try await visit.object(place.call).integer("revision")
        let isActive = revision.bool("active")
        let ends = [(name: "from", value: "\(active)"), ("to", number)]
        let difference = isActive ? JSONObject() : try await visit.object(place.call + ["diff"], query: ends)
        let changes = ["added", "changed", "removed"].flatMap { change in
            difference.objects(change).map { (change: change, entry: $0) }
        }
        let none: HTML = "No changes: the active revision has the same entries."
        let table = HTML.table("Changes", of: changes, ifEmpty: none) { change, entry in
            let isPair = entry["into"] != nil
            func side(_ name: String, of other: String) -> HTML {
                isPair ? .value(entry[name]) : change == other ? .value(.object(entry)) : "–"
            }
            return [
                ("Change", "\(change)"), ("Property", .value(entry["to"])), ("Now", side("from", of: "removed")),
                ("Then", side("into", of: "added")),
            ]
        }
        let rollback = visit.form(
            to: place.path + "/rollback",
            """
            \(HTML.hidden("revision", number))\(HTML.hidden("tag", stored.tag ?? ""))\
            <p class="actions"><button class="primary">Restore revision \(number)</button></p>
            """
        )
        return Page(
            title: "Revision \(number)",
            section: .applications,
            trail: Self.trail(of: place.application) + [("Mapping of \(methodTitle(place.provider))", place.path)],
            content: """
                <p>Created \(HTML.moment(revision["created"])) by \(HTML.value(revision["author"])).\
                \(" This revision is active.", if: isActive)</p>
                \(rollback, if: !isActive && visit.role >= .editor)
                \("<h2>Changes if restored</h2>\(table)", if: !isActive)
                <h2>Entries</h2>
                <pre>\(HTML.json(revision["entries"] ?? .null))</pre>
                """,
            command: "federation mapping diff \(place.application) \(active) \(number) --provider \(place.provider)",
            call: "POST /admin/v1/applications/\(place.application)/mappings/\(place.provider)/rollback"
        )
    }
}
