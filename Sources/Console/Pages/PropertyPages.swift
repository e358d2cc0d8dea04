import API
import HTTP
import Hummingbird
import Vocabulary

/// The properties of an application's users: declared, changed, dropped.
extension Console {
    func mountProperties(on router: Router<ManagementContext>) {
        let properties: RouterPath = "/console/applications/{application}/properties"
        page(properties, on: router) { visit in try await propertiesPage(visit) }
        action(properties, on: router) { visit, form in try await declareProperty(visit, form) }
        page(RouterPath("\(properties)/{name}"), on: router) { visit in try await propertyPage(visit) }
        action(RouterPath("\(properties)/{name}"), on: router) { visit, form in try await changeProperty(visit, form) }
    }

    /// What a property has, as the schema describes it.
    private static func form(_ schema: JSONObject) -> SchemaForm {
        let place = ["$defs", "property"]
        return SchemaForm(schema, at: place, members: SchemaForm.members(of: schema, at: place))
    }

    private func propertiesPage(
        _ visit: Visit,
        _ typed: FormFields? = nil,
        _ refusal: Refusal? = nil
    ) async throws -> Page {
        let id = visit.parameter("application")
        async let asked = visit.schema()
        async let stored = visit.call(.init(.get, ["applications", id]))
        let rows = try await visit.list(["applications", id, "properties"]).items.map { property -> [HTML] in
            let name = property["name"]?.string ?? ""
            let index = property["index"]?.object?["state"]?.string
            return [
                "<a href=\"\(consolePath("applications", id, "properties", name))\"><code>\(name)</code></a>",
                .value(property["type"]), .value(property["required"]), .value(property["clientMappable"]),
                .value(property["visibleTo"]), index.map { "\($0)" } ?? .value(property["indexed"]),
            ]
        }
        let declaring = visit.form(
            to: consolePath("applications", id, "properties"),
            """
            \(HTML.hidden("tag", try await stored.tag ?? ""))\
            \(HTML.field("name", "Name", value: (try? typed?.value("name")) ?? "", hint: """
            Letters, digits and _, such as givenName. It becomes a column of the users table.
            """, attributes: "required maxlength=\"63\" spellcheck=\"false\""))
            \(Self.form(try await asked).fields(JSONObject(), typed: typed, refusal))<p class="actions"><button class="primary">Declare it</button></p>
            """
        )
        let page = Page(
            title: "Properties",
            section: .applications,
            trail: Self.trail(of: id),
            content: """
                \(refusal?.alert ?? "")
                \(HTML.table(
                    "Properties",
                    ["Name", "Type", "Required", "Clients may map", "Visible to", "Index"],
                    rows,
                    ifEmpty: "None."
                ))
                \("<h2>A new property</h2>\(declaring)" as HTML, if: visit.role >= .editor)
                """,
            command: "federation property list \(id)",
            call: "POST /admin/v1/applications/\(id)/properties"
        )
        return page.answering(refusal)
    }

    private func declareProperty(_ visit: Visit, _ form: FormFields) async throws -> Outcome {
        let properties = ["applications", visit.parameter("application"), "properties"]
        do {
            let members = try Self.form(try await visit.schema()).patch(form).members
            let body = JSONObject([.init("name", .string(try form.value("name") ?? ""))] + members)
            try await visit.call(.init(.post, properties, body: .object(body), tag: try form.value("tag")))
            return .done(.declared, consolePath("applications", properties[1], "properties"))
        } catch let refusal as Refusal where !refusal.asksForFactor {
            return .page(try await propertiesPage(visit, form, refusal))
        }
    }

    private func propertyPage(
        _ visit: Visit,
        _ typed: FormFields? = nil,
        _ refusal: Refusal? = nil
    ) async throws -> Page {
        let (id, name) = (visit.parameter("application"), visit.parameter("name"))
        let path = consolePath("applications", id, "properties", name)
        async let asked = visit.schema()
        let stored = try await visit.call(.init(.get, ["applications", id, "properties", name]))
        let property = stored.body?.object ?? JSONObject()
        let isBuiltIn = property["builtIn"]?.bool ?? false
        let tag: HTML = HTML.hidden("tag", stored.tag ?? "")
        let changing = visit.form(
            to: path,
            """
            \(tag)\(HTML.field("name", "Name", value: (try? typed?.value("name")) ?? name, hint: """
            A mapping that writes the property follows; clients have to.
            """, attributes: isBuiltIn ? "readonly" : "required maxlength=\"63\" spellcheck=\"false\""))
            \(Self.form(try await asked).fields(property, typed: typed, refusal))
            <p class="actions"><button name="do" value="change" class="primary">Save</button></p>
            """
        )
        let removing = visit.form(
            to: path,
            """
            \(tag)\(HTML.field("confirm", "To drop it with all its values, type its name", hint: name, attributes: """
            required autocomplete="off" spellcheck="false"
            """))<p><button name="do" value="drop" class="danger">Drop it for good</button></p>
            """
        )
        let index = property["index"]?.object
        let slow = property["slowSearches"].map { value -> (name: String, value: HTML) in
            ("Slow searches", .value(value))
        }
        let facts = [
            (name: "Index", value: HTML.value(index?["state"])), ("Trouble with it", .value(index?["problem"])),
        ]
        let page = Page(
            title: name,
            section: .applications,
            trail: Self.trail(of: id) + [("Properties", consolePath("applications", id, "properties"))],
            content: """
                \(refusal?.alert ?? "")\(HTML.facts(facts + (slow.map { [$0] } ?? [])), if: index != nil || slow != nil)
                \(visit.role >= .editor ? changing : HTML.facts(property.members.map { ($0.key, .value($0.value)) }))
                \("<details class=\"erase\"><summary>Drop this property</summary>\(removing)</details>" as HTML, if:
                    visit.role >= .editor && !isBuiltIn)
                """,
            command: "federation property list \(id)",
            call: "PATCH /admin/v1/applications/\(id)/properties/\(name)"
        )
        return page.answering(refusal)
    }

    private func changeProperty(_ visit: Visit, _ form: FormFields) async throws -> Outcome {
        let (id, name) = (visit.parameter("application"), visit.parameter("name"))
        let call = ["applications", id, "properties", name]
        let tag = try form.value("tag")
        do {
            if try form.value("do") == "drop" {
                let query = [(name: "confirm", value: try form.value("confirm") ?? "")]
                try await visit.call(.init(.delete, call, query: query, tag: tag))
                return .done(.dropped, consolePath("applications", id, "properties"))
            }
            var patch = try Self.form(try await visit.schema()).patch(form)
            let wanted = try form.value("name") ?? name
            if wanted != name { patch.append("name", .string(wanted)) }
            if !patch.members.isEmpty {
                try await visit.call(.init(.patch, call, body: .object(patch), tag: tag))
            }
            return .done(.saved, consolePath("applications", id, "properties", wanted))
        } catch let refusal as Refusal where !refusal.asksForFactor {
            return .page(try await propertyPage(visit, form, refusal))
        }
    }
}
