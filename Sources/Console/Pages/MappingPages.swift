import API
import HTTP
import Hummingbird
import Vocabulary

/// The mapping of a provider: its entries, what they would write for a person, revisions.
extension Console {
    func mountMappings(on router: Router<ManagementContext>) {
        let path: RouterPath = "/console/applications/{application}/mappings/{provider}"
        page(path, on: router) { visit in
            let (place, isJSON) = (ProviderPlace(.mappings, visit), visit.query["as"] == "json")
            let sides = try await MappingSides(place, visit)
            // What the stored mapping makes of somebody made up is there before anything is typed.
            let preview = try await visit.part(
                .init(.post, place.call + ["preview"], body: .object(["profile": sides.sample]))
            )
            return try await mappingPage(visit, MappingDraft(isJSON: isJSON, preview: preview.object), sides)
        }
        action(path, on: router) { visit, form in try await changeMapping(visit, form) }
        page(RouterPath("\(path)/revisions/{revision}"), on: router) { visit in try await revisionPage(visit) }
        action(RouterPath("\(path)/rollback"), on: router) { visit, form in
            let place = ProviderPlace(.mappings, visit)
            let revision = try form.value("revision").flatMap { Int64($0) } ?? 0
            let tag = try form.value("tag")
            let body: JSONValue = .object(["revision": .integer(revision)])
            try await visit.call(.init(.post, place.call + ["rollback"], body: body, tag: tag))
            return .done(.rolledBack, place.path)
        }
    }

    /// What is typed, and what it would write.
    private struct MappingDraft {
        /// Whether it is edited as JSON, in place of the form.
        var isJSON = false
        /// Nil for the entries that are stored.
        var entries: JSONValue?
        /// The JSON as it was typed.
        var text: String?
        var profile: String?
        var user = ""
        var tag: String?
        var preview: JSONObject?
        var refusal: Refusal?
    }

    /// What the provider offers, what the application declares, and what is stored between them.
    private struct MappingSides {
        let fields: [JSONObject]
        let sample: JSONValue
        let properties: [JSONObject]
        let entries: [JSONObject]
        /// The tag of the stored mapping.
        let tag: String
        /// The stored revision; nil while there is none.
        let revision: Int64?
        /// What should be looked at in the stored mapping.
        let warnings: [String]

        init(_ place: ProviderPlace, _ visit: Visit) async throws {
            async let offered = visit.read(place.call + ["fields"]).object
            async let declared = visit.call(.init(.get, ["applications", place.application]))
            async let properties = visit.list(["applications", place.application, "properties"])
            var stored: AdministrationCalls.Answer?
            do { stored = try await visit.call(.init(.get, place.call)) } catch let refusal as Refusal
                where
                refusal.status == .notFound
            {
                // There is no mapping yet: the application's own tag is what a first one is based on.
            }
            let catalogue = try await offered
            fields = catalogue?["fields"]?.array?.compactMap(\.object) ?? []
            sample = catalogue?["profile"] ?? .object(JSONObject())
            self.properties = try await properties.items
            let application = try await declared.tag
            tag = stored?.tag ?? application ?? ""
            entries = stored?.body?.object?["entries"]?.array?.compactMap(\.object) ?? []
            revision = stored?.body?.object?["revision"]?.integer
            warnings = stored?.body?.object?["warnings"]?.array?.compactMap(\.string) ?? []
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
            entries: entries,
            properties: sides.properties,
            outcomes: draft.preview?["entries"]?.array?.compactMap(\.object) ?? [],
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
            <p class="actions"><button name="do" value="preview">Show what it would write</button>
            \("<button name=\"do\" value=\"save\" class=\"primary\">Save</button>", if: visit.role >= .editor)</p>
            <section id="preview" aria-live="polite" aria-label="What it would write">\
            \(draft.refusal?.alert ?? "")\(draft.preview.map { Self.summary($0, table: draft.isJSON) } ?? "")</section>
            """
        )
        let revisions = try await revisionList.items
        let page = Page(
            title: "Mapping of \(methodTitle(place.provider))",
            section: .applications,
            trail: Self.trail(of: place.application),
            content: """
                \(isOutdated ? Self.conflict(entries, sides.entries) : "")
                \(draft.preview == nil ? HTML.warnings(sides.warnings) : "")
                \(Self.views(of: place, isJSON: draft.isJSON))
                \(editor)
                <h2>Revisions</h2>
                \(HTML.table("Revisions", ["Revision", "By", "Made"], revisions.map { revision in
                    let number = revision["revision"]?.integer ?? 0
                    return [
                        """
                        <a href="\(place.path)/revisions/\(number)">\(number)</a>\
                        \(" <span class=\"tag\">active</span>", if: revision["active"]?.bool ?? false)
                        """,
                        .value(revision["author"]), .moment(revision["created"]),
                    ]
                }, ifEmpty: "None: without a mapping a login writes no properties."))
                """,
            command: "federation mapping show \(place.application) --provider \(place.provider)",
            call: "PUT /admin/v1/applications/\(place.application)/mappings/\(place.provider)",
            scripts: [Assets.mapping]
        )
        return page.answering(draft.refusal)
    }

    private static func views(of place: ProviderPlace, isJSON: Bool) -> HTML {
        """
        <nav class="spans" aria-label="Views"><a href="\(place.path)"\(" aria-current=\"page\"", if: !isJSON)>Form</a>
        <a href="\(place.path)?as=json"\(" aria-current=\"page\"", if: isJSON)>JSON</a></nav>
        """
    }

    private func jsonEditor(_ draft: MappingDraft, _ entries: [JSONObject]) -> HTML {
        """
        <p class="field"><label for="entries">Entries: provider's field to property</label>
        <textarea id="entries" name="entries" rows="16" spellcheck="false" aria-describedby="entries-hint">\
        \(draft.text ?? JSONValue.array(entries.map(JSONValue.object)).indented(\.text))</textarea>
        <small id="entries-hint">Each has from and to, and may have type, sync, required, default, whenMissing and \
        transform, as docs/mapping.md says.</small></p>
        """
    }

    /// For whom it is tried.
    private func tryOut(_ draft: MappingDraft, _ sides: MappingSides) -> HTML {
        """
        <details class="try"\(" open", if: draft.isJSON || draft.profile != nil)><summary>For whom it is tried</summary>
        <p class="field"><label for="profile">A person</label>
        <textarea id="profile" name="profile" rows="8" spellcheck="false" aria-describedby="profile-hint">\
        \(draft.profile ?? sides.sample.indented(\.text))</textarea>
        <small id="profile-hint">As the provider tells of them, for example pasted from its explorer. This one is made \
        up.</small></p>
        \(HTML.field("accessToken", "Or an access token", type: "password", hint: """
        The profile is fetched by it, when you ask for that. It is not kept, and not shown again.
        """, attributes: "autocomplete=\"new-password\" spellcheck=\"false\""))
        \(HTML.field("user", "Somebody who is there", value: draft.user, hint: """
        The objectId of a user: what a login would change for them. Leave it empty for a first login.
        """, attributes: "spellcheck=\"false\""))</details>
        """
    }

    /// What somebody else has saved meanwhile, beside what is typed.
    private static func conflict(_ typed: [JSONObject], _ stored: [JSONObject]) -> HTML {
        func entry(_ entries: [JSONObject], of property: String) -> JSONObject? {
            entries.first { $0["to"]?.string == property }
        }
        let names = (stored + typed).compactMap { $0["to"]?.string }
        let properties = names.indices.filter { !names[..<$0].contains(names[$0]) }.map { names[$0] }
        let rows = properties.compactMap { property -> [HTML]? in
            let (mine, theirs) = (entry(typed, of: property), entry(stored, of: property))
            guard mine != theirs else { return nil }
            func shown(_ entry: JSONObject?) -> HTML { .value(entry.map(JSONValue.object)) }
            return ["<code>\(property)</code>", shown(theirs), shown(mine)]
        }
        return """
            <div class="alert" role="alert"><p>Somebody has changed this mapping meanwhile. Nothing of theirs is lost, and what \
            you have typed is below. Save again to replace theirs by yours, where both differ:</p></div>
            \(HTML.table("Differences", ["Property", "Theirs, as it is stored", "Yours"], rows, ifEmpty: "They are the same."))
            """
    }

    private func changeMapping(_ visit: Visit, _ form: FormFields) async throws -> Outcome {
        let place = ProviderPlace(.mappings, visit)
        let sides = try await MappingSides(place, visit)
        var draft = MappingDraft(
            isJSON: try form.value("as") == "json",
            profile: try form.value("profile"),
            user: try form.value("user") ?? "",
            tag: try form.value("tag")
        )
        do {
            do {
                let entries: JSONValue
                if draft.isJSON {
                    draft.text = try form.value("entries") ?? ""
                    entries = try Self.parsed(draft.text ?? "", "entries")
                } else {
                    entries = .array(
                        MappingRows.entries(of: form, properties: sides.properties, stored: sides.entries).map(
                            JSONValue.object
                        )
                    )
                }
                draft.entries = entries
                if try form.value("do") == "save" {
                    try await visit.call(.init(.put, place.call, body: entries, tag: draft.tag))
                    return .done(.saved, draft.isJSON ? place.path + "?as=json" : place.path)
                }
                var request: JSONObject = ["mapping": entries]
                if let token = try form.value("accessToken"), !token.isEmpty {
                    request.append("accessToken", .string(token))
                } else {
                    request.append("profile", try Self.parsed(draft.profile ?? "", "person"))
                }
                if !draft.user.isEmpty { request.append("user", .string(draft.user)) }
                (draft.preview, draft.refusal) = try await Self.preview(request, place, visit)
            } catch let failure as Failure {
                throw Refusal(failure)
            }
        } catch let refusal as Refusal where !refusal.asksForFactor {
            draft.refusal = refusal
        }
        return .page(try await mappingPage(visit, draft, sides))
    }

    /// What a mapping would write; where single entries of it are wrong, what the others would, and what is wrong.
    private static func preview(
        _ request: JSONObject,
        _ place: ProviderPlace,
        _ visit: Visit
    ) async throws -> (JSONObject?, Refusal?) {
        func asked(_ request: JSONObject) async throws -> JSONObject? {
            try await visit.call(.init(.post, place.call + ["preview"], body: .object(request))).body?.object
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

    /// What the login would be answered; with a table of what each entry would write, and why.
    static func summary(_ preview: JSONObject, table: Bool) -> HTML {
        let refusal = preview["refusal"]?.object?["message"]?.string
        let missing = (preview["missingPermissions"]?.array ?? []).compactMap(\.string)
        let entries = preview["entries"]?.array?.compactMap(\.object) ?? []
        let isCreated = preview["created"]?.bool ?? false
        return """
            \(HTML.warnings(preview["warnings"]?.array?.compactMap(\.string) ?? []))
            \(refusal.map { "<div class=\"alert\"><p>The login would be refused: \($0)</p></div>" } ?? "" as HTML)
            \("<p>This login would create the user.</p>", if: isCreated && refusal == nil)
            \("<p>Permissions that are missing: \(missing.joined(separator: ", "))</p>", if: !missing.isEmpty)
            \(HTML.table("Preview", ["From", "To", "Outcome", "Value", "Now", "Why"], entries.map { entry in
                let outcome = entry["outcome"]?.string ?? ""
                return [
                    .value(entry["from"]), .value(entry["to"]), "<span class=\"tag \(outcome)\">\(outcome)</span>",
                    .value(entry["value"]), .value(entry["current"]), .value(entry["why"]),
                ]
            }, ifEmpty: "There is no entry."), if: table)
            """
    }

    /// A revision, what differs between it and the active one, and the way back to it.
    private func revisionPage(_ visit: Visit) async throws -> Page {
        let place = ProviderPlace(.mappings, visit)
        let number = visit.parameter("revision")
        let stored = try await visit.call(.init(.get, place.call + ["revisions", number]))
        let revision = stored.body?.object
        let active = try await visit.read(place.call).object?["revision"]?.integer ?? 0
        let isActive = revision?["active"]?.bool ?? false
        var difference: JSONObject?
        if !isActive {
            let ends = [("from", "\(active)"), ("to", number)]
            difference = try await visit.read(place.call + ["diff"], query: ends.map { (name: $0.0, value: $0.1) })
                .object
        }
        func rows(_ member: String, _ change: HTML) -> [[HTML]] {
            (difference?[member]?.array ?? []).compactMap(\.object).map { entry in
                let isPair = entry["into"] != nil
                return [
                    change, .value(entry["to"]),
                    isPair ? .value(entry["from"]) : member == "removed" ? .value(.object(entry)) : "–",
                    isPair ? .value(entry["into"]) : member == "added" ? .value(.object(entry)) : "–",
                ]
            }
        }
        let rollback = visit.form(
            to: place.path + "/rollback",
            """
            \(HTML.hidden("revision", number))\
            \(HTML.hidden("tag", stored.tag ?? ""))\
            <p class="actions"><button class="primary">Go back to revision \(number)</button></p>
            """
        )
        return Page(
            title: "Revision \(number)",
            section: .applications,
            trail: Self.trail(of: place.application) + [("Mapping of \(methodTitle(place.provider))", place.path)],
            content: """
                <p>Made \(HTML.moment(revision?["created"])) by \(HTML.value(revision?["author"])).\
                \(" It is the active one.", if: isActive)</p>
                \(rollback, if: !isActive && visit.role >= .editor)
                \(isActive ? "" : """
                <h2>What going back would change</h2>
                \(HTML.table("Changes", ["Change", "Property", "Now", "Then"],
                    rows("added", "added") + rows("changed", "changed") + rows("removed", "removed"),
                    ifEmpty: "Nothing: its entries are those of the active revision."))
                """)
                <h2>Entries</h2>
                <pre>\(HTML.json(revision?["entries"] ?? .null))</pre>
                """,
            command: "federation mapping diff \(place.application) \(active) \(number) --provider \(place.provider)",
            call: "POST /admin/v1/applications/\(place.application)/mappings/\(place.provider)/rollback"
        )
    }
}
