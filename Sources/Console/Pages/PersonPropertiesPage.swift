import API
import HTTP
import HTTPTypes
import Hummingbird
import Vocabulary

/// The properties of a person, each in a field of its type.
///
/// The form says what it was made of. Only what was typed over is sent, and where somebody else has changed properties
/// meanwhile, what both have changed is shown as it is now beside what was typed; all else is as it is now.
extension Console {
    func mountPersonProperties(on router: Router<ManagementContext>) {
        let path: RouterPath = "/console/applications/{application}/users/{objectId}/properties"
        page(path, on: router) { visit in try await propertiesPage(visit) }
        action(path, on: router) { visit, form in
            let draft = try PropertiesDraft(form, types: try await propertyTypes(visit))
            var refusal: Refusal?
            if draft.problems.isEmpty {
                do {
                    let call = PersonPlace(visit).call + ["properties"]
                    try await visit.call(.init(.patch, call, body: .object(draft.patch), tag: draft.tag))
                    return .done(.saved, PersonPlace(visit).path)
                } catch let error as Refusal where !error.asksForFactor {
                    refusal = error
                }
            }
            return .page(try await propertiesPage(visit, draft, refusal))
        }
    }

    /// The types of an application's properties, by their names.
    func propertyTypes(_ visit: Visit) async throws -> [(name: String, type: PropertyType)] {
        let properties = try await visit.list(["applications", visit.parameter("application"), "properties"]).items
        return properties.compactMap { property in
            guard let name = property["name"]?.string,
                let type = property["type"]?.string.flatMap({ PropertyType(rawValue: $0) })
            else { return nil }
            return (name, type)
        }
    }

    private func propertiesPage(
        _ visit: Visit,
        _ draft: PropertiesDraft? = nil,
        _ refusal: Refusal? = nil
    ) async throws -> Page {
        let place = PersonPlace(visit)
        let stored = try await visit.call(.init(.get, place.call + ["properties"]))
        let values = stored.body?.object ?? JSONObject()
        let types = try await propertyTypes(visit)
        var problems = draft?.problems ?? [:]
        for problem in refusal?.problems ?? [] { problems[String(problem.place.dropFirst())] = problem.text }
        if let name = refusal?.details["property"]?.string { problems[name] = refusal?.message }
        var was = JSONObject()
        let fields = types.compactMap { name, type -> HTML? in
            guard let value = values[name] else { return nil }
            let now = PropertyField.text(of: value, type)
            was.append(name, .string(now))
            let typed = draft?.typedOver(name)
            let field = PropertyField(name: name, type: type, text: typed ?? now, problem: problems[name])
            // Both have changed it: who looks at it decides.
            let isContested = refusal?.isOutdated == true && typed != nil && draft?.was[name]?.string != now
            return field.html(now: isContested ? now : nil)
        }
        let alert: HTML =
            if refusal?.isOutdated == true {
                """
                <div class="alert" role="alert"><p>Somebody else has changed this person meanwhile. What you have typed is \
                here still, and the rest is as it is now. Look at it, and save it again.</p></div>
                """
            } else if problems.isEmpty {
                refusal?.alert ?? ""
            } else {
                "<div class=\"alert\" role=\"alert\"><p>Nothing was saved. It is said at each field what is wrong.</p></div>"
            }
        var page = Page(
            title: "Properties",
            section: .applications,
            trail: place.trail + [(place.id, place.path)],
            content: """
                \(alert)
                \("<p class=\"empty\">There are none that can be changed here.</p>", if: fields.isEmpty)
                \(visit.form(to: place.path + "/properties", class: "properties", """
                \(HTML.hidden("tag", stored.tag ?? ""))\
                \(HTML.hidden("was", JSONValue.object(was).text))\(fields)
                <p>\("<button class=\"primary\">Save</button> ", if: visit.role >= .editor && !fields.isEmpty)\
                <a class="button" href="\(place.path)">Back</a></p>
                """))
                <p class="fine">The address, and what the person logs in by, are not here: they open the account.</p>
                """,
            call: "PATCH /admin/v1/applications/\(place.application)/users/\(place.id)/properties"
        )
        if let refusal { page.status = refusal.status } else if !problems.isEmpty { page.status = .badRequest }
        return page
    }
}

/// What an operator has typed into the fields of properties.
private struct PropertiesDraft {
    let tag: String?
    /// The texts that the form was made of.
    let was: JSONObject
    private var typed: [String: String] = [:]
    /// What was typed over, as JSON.
    private(set) var patch = JSONObject()
    /// What is no JSON where it should be.
    private(set) var problems: [String: String] = [:]

    init(_ form: FormFields, types: [(name: String, type: PropertyType)]) throws {
        tag = try form.value("tag")
        was = try Console.parsed(try form.value("was") ?? "", "form").object ?? JSONObject()
        for (name, type) in types {
            guard let former = was[name]?.string, let sent = try form.value(PropertyField.id(of: name)) else {
                continue
            }
            let text = Self.lines(sent)
            guard !text.hasSameBytes(as: Self.lines(former)) else { continue }
            typed[name] = text
            do { patch.append(name, try PropertyField.value(of: text, type)) } catch let failure as Failure {
                problems[name] = failure.message
            }
        }
    }

    /// What was typed in place of what had been there; nil where nothing was.
    func typedOver(_ name: String) -> String? { typed[name] }

    /// Browsers send every line's end as two characters.
    private static func lines(_ text: String) -> String {
        text.replacing("\r\n", with: "\n").replacing("\r", with: "\n")
    }
}

/// A property as a field of a form.
struct PropertyField {
    let name: String
    let type: PropertyType
    let text: String
    let problem: String?
    /// Whether a user cannot be without it.
    var isRequired = false

    static func id(of name: String) -> String { "property-\(name)" }

    /// A value as it stands in its field; nothing where there is none.
    static func text(of value: JSONValue, _ type: PropertyType) -> String {
        switch (type, value) {
        case (_, .null): ""
        case (.json, _): value.indented(\.text)
        case (.dateTime, _): value.integer.flatMap(momentText) ?? value.text
        default: value.string ?? value.text
        }
    }

    /// What is typed, as JSON; whether it fits the type, the administration says.
    ///
    /// - Throws: `malformed_request` for what is no JSON.
    static func value(of text: String, _ type: PropertyType) throws -> JSONValue {
        if let value = type.value(typed: text) { return value }
        return try Console.parsed(text, "value")
    }

    /// The field, and beside it what there is now if that is another value than it was made of.
    func html(now: String?) -> HTML {
        let id = Self.id(of: name)
        let said = problem.map { "<strong class=\"problem\" id=\"\(id)-problem\">\($0)</strong>" as HTML }
        let other = now.map { "<small>Now it is <bdi>\($0.isEmpty ? "empty" : $0)</bdi></small>" as HTML }
        let described = "\(id)-hint" + (problem == nil ? "" : " \(id)-problem")
        let attributes: HTML = """
            id="\(id)" name="\(id)" aria-describedby="\(described)"\(" aria-invalid=\"true\"", if: problem != nil)
            """
        return """
            <p class="field"><label for="\(id)">\(name)</label>\(control(attributes))\
            <small id="\(id)-hint">\("Required. " as HTML, if: isRequired)\(hint)</small>\(said ?? "")\(other ?? "")</p>
            """
    }

    private func control(_ attributes: HTML) -> HTML {
        switch type {
        case .boolean:
            let options = HTML.options([("", "no value"), ("true", "yes"), ("false", "no")], chosen: text)
            return "<select \(attributes)>\(options)</select>"
        case .json: return area(attributes, rows: min(16, max(3, text.count { $0 == "\n" } + 1)))
        // A field of one line would lose the ends of lines.
        case .string, .text:
            guard type == .string, !text.contains("\n"), !text.contains("\r") else { return area(attributes, rows: 4) }
            return input("text", attributes)
        case .int: return input("text", "\(attributes) inputmode=\"numeric\"")
        case .double: return input("text", "\(attributes) inputmode=\"decimal\"")
        // A field for days shows none of what it does not understand.
        case .date: return input(problem == nil ? "date" : "text", attributes)
        case .dateTime: return input("text", attributes)
        }
    }

    private func input(_ kind: String, _ attributes: HTML) -> HTML {
        "<input type=\"\(kind)\" \(attributes) value=\"\(text)\" autocomplete=\"off\">"
    }

    /// The first end of a line within the element is not a part of what it holds.
    private func area(_ attributes: HTML, rows: Int) -> HTML {
        "<textarea \(attributes) rows=\"\(rows)\" autocomplete=\"off\">\n\(text)</textarea>"
    }

    private var hint: String {
        switch type {
        case .string, .text: "Text; empty for no value"
        case .int: "A whole number; empty for no value"
        case .double: "A number like 1.5; empty for no value"
        case .boolean: "Yes, no, or no value"
        case .date: "A day like 2026-11-21; empty for no value"
        case .dateTime: "A moment like 2026-11-21T10:27:08Z; empty for no value"
        case .json: "JSON; empty for no value"
        }
    }
}
