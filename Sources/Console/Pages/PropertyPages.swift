import AdministrationAPI
import Applications
import Description
import Domain
import Encodings
import Hummingbird
import Pages

/// The pages on which operators declare, change and drop an application's properties.
extension Console {
    func mountProperties(on router: Router<ManagementContext>) {
        let properties: RouterPath = "/console/applications/{application}/properties"
        page(properties, on: router) { visit in try await propertiesPage(visit) }
        action(properties, on: router, again: { try await propertiesPage($0, $1, $2) }) { visit, form in
            try await declareProperty(visit, form)
        }
        let property: RouterPath = "/console/applications/{application}/properties/{name}"
        page(property, on: router) { visit in try await propertyPage(visit) }
        action(property, on: router, again: { try await propertyPage($0, $1, $2) }) { visit, form in
            try await changeProperty(visit, form)
        }
    }

    /// The form in which an operator declares or changes a property, without the field for its name.
    private static let propertyForm = DescribedForm(Property.description.shape.fields)

    private func propertiesPage(
        _ visit: Visit,
        _ typed: FormFields? = nil,
        _ refusal: Refusal? = nil
    ) async throws -> Page {
        let id = visit.application
        async let stored = visit.call(.get, ["applications", id])
        let declared = try await visit.list(["applications", id, "properties"]).items
        let table = HTML.table("Properties", of: declared, ifEmpty: "None.") { property in
            let name = property.string("name")
            let index = property.object("index")["state"]?.string
            let path = consolePath("applications", id, "properties", name)
            return [
                ("Name", "<a href=\"\(path)\"><code>\(name)</code></a>"), ("Type", .value(property["type"])),
                ("Required", .value(property["required"])),
                ("Writable by clients", .value(property["clientMappable"])),
                ("Visible to", .value(property["visibleTo"])),
                ("Indexed", index.map { "\($0)" } ?? .value(property["indexed"])),
            ]
        }
        let declaring = visit.form(
            to: consolePath("applications", id, "properties"),
            """
            \(HTML.hidden("tag", try await stored.tag ?? ""))\
            \(HTML.field("name", "Name", value: typed.typed("name"), hint: """
            Letters, digits and _, such as givenName. It becomes a column of the users table.
            """, attributes: "required maxlength=\"63\" spellcheck=\"false\""))
            \(Self.propertyForm.fields(JSONObject(), typed: typed, refusal))<p class="actions"><button \
            class="primary">Declare</button></p>
            """
        )
        return Page(
            title: "Properties",
            section: .applications,
            trail: Self.trail(of: id),
            content: """
                \(table)
                \("<h2>Declare a property</h2>\(declaring)", if: visit.role >= .editor)
                """,
            alert: refusal.map { Self.propertyForm.alert($0) },
            command: "federation list applications/\(id)/properties",
            call: "POST /admin/v1/applications/\(id)/properties"
        )
    }

    private func declareProperty(_ visit: Visit, _ form: FormFields) async throws -> Outcome {
        let properties = ["applications", visit.application, "properties"]
        let members = try Self.propertyForm.patch(form).members
        let body = JSONObject([.init("name", .string(try form.text("name")))] + members)
        try await visit.call(.post, properties, body, tag: try form.value("tag"))
        return .done(.declared, consolePath("applications", properties[1], "properties"))
    }

    private func propertyPage(
        _ visit: Visit,
        _ typed: FormFields? = nil,
        _ refusal: Refusal? = nil
    ) async throws -> Page {
        let (id, name) = (visit.application, visit.parameter("name"))
        let path = consolePath("applications", id, "properties", name)
        let stored = try await visit.call(.get, ["applications", id, "properties", name])
        let property = stored.object
        let isBuiltIn = property.bool("builtIn")
        let tag = HTML.hidden("tag", stored.tag ?? "")
        let changing = visit.form(
            to: path,
            """
            \(tag)\(HTML.field("name", "Name", value: (try? typed?.value("name")) ?? name, hint: """
            Mappings are updated to a new name. Clients must be updated by you.
            """, attributes: isBuiltIn ? "readonly" : "required maxlength=\"63\" spellcheck=\"false\""))
            \(Self.propertyForm.fields(property, typed: typed, refusal))
            <p class="actions"><button name="do" value="change" class="primary">Save</button></p>
            """
        )
        let removing = visit.form(
            to: path,
            """
            \(tag)\(HTML.grave(
                "Delete this property", "This deletes all its values. To confirm, type the property's name", type: name,
                attributes: "required",
                HTML.submit("Delete permanently", "name=\"do\" value=\"drop\" class=\"danger\"")
            ))
            """
        )
        let index = property["index"]?.object
        var facts: [(name: HTML, value: HTML)] = []
        if let index {
            facts = [("State of the index", .value(index["state"])), ("Error of the index", .value(index["problem"]))]
        }
        if let slow = property["slowSearches"] { facts.append(("Slow searches", .value(slow))) }
        return Page(
            title: name,
            section: .applications,
            trail: Self.trail(of: id) + [("Properties", consolePath("applications", id, "properties"))],
            content: """
                \(HTML.facts(facts), if: !facts.isEmpty)
                \(visit.role >= .editor ? changing : HTML.facts(property.members.map { ("\($0.key)", .value($0.value)) }))
                \(removing, if: visit.role >= .editor && !isBuiltIn)
                """,
            alert: refusal.map { Self.propertyForm.alert($0) },
            command: "federation list applications/\(id)/properties",
            call: "PATCH /admin/v1/applications/\(id)/properties/\(name)"
        )
    }

    private func changeProperty(_ visit: Visit, _ form: FormFields) async throws -> Outcome {
        let (id, name) = (visit.application, visit.parameter("name"))
        let call = ["applications", id, "properties", name]
        let tag = try form.value("tag")
        if try form.value("do") == "drop" {
            try await visit.call(.delete, call, query: [("confirm", try form.text("confirm"))], tag: tag)
            return .done(.dropped, consolePath("applications", id, "properties"))
        }
        var patch = try Self.propertyForm.patch(form)
        let wanted = try form.value("name") ?? name
        if wanted != name { patch.append("name", .string(wanted)) }
        if !patch.members.isEmpty { try await visit.call(.patch, call, patch, tag: tag) }
        return .done(.saved, consolePath("applications", id, "properties", wanted))
    }
}
