import AdministrationAPI
import Domain
import Encodings
import Hummingbird
import Pages

/// The page on which an operator changes a user's properties.
///
/// The type of each property determines its form field.
///
/// The form contains its original values and sends only the changed ones. If another operator has changed the same
/// property meanwhile, the page shows the current value beside the typed one. Every other field shows the current
/// value.
extension Console {
    func mountUserProperties(on router: Router<ManagementContext>) {
        let path: RouterPath = "/console/applications/{application}/users/{objectId}/properties"
        page(path, on: router) { visit in try await propertiesPage(visit) }
        action(path, on: router) { visit, form in
            let draft = try PropertiesDraft(form, types: try await propertyTypes(visit))
            guard draft.problems.isEmpty else { return .page(try await propertiesPage(visit, draft)) }
            let place = UserPlace(visit)
            do {
                try await visit.call(.patch, place.call + ["properties"], draft.patch, tag: draft.tag)
                return .done(.saved, place.path)
            } catch let refusal as Refusal where !refusal.asksForFactor {
                return .page(try await propertiesPage(visit, draft, refusal))
            }
        }
    }

    /// Returns the names and the types of an application's properties.
    func propertyTypes(_ visit: Visit) async throws -> [(name: String, type: PropertyType)] {
        let properties = try await visit.list(["applications", visit.application, "properties"]).items
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
        let place = UserPlace(visit)
        let stored = try await visit.call(.get, place.call + ["properties"])
        let types = try await propertyTypes(visit)
        var problems = draft?.problems ?? [:]
        for problem in refusal?.problems ?? [] { problems[String(problem.place.dropFirst())] = problem.text }
        if let name = refusal?.details["property"]?.string { problems[name] = refusal?.message }
        var was = JSONObject()
        let fields = types.compactMap { name, type -> HTML? in
            guard let value = stored.object[name] else { return nil }
            let now = PropertyField.text(of: value, type)
            was.append(name, .string(now))
            let typed = draft?.typedOver(name)
            let field = PropertyField(name: name, type: type, text: typed ?? now, problem: problems[name])
            // Another operator has changed the same property. Both values are shown, and the viewer decides.
            let isContested = refusal?.isOutdated == true && typed != nil && draft?.was[name]?.string != now
            return field.html(now: isContested ? now : nil)
        }
        let alert: HTML? =
            if refusal?.isOutdated == true {
                .alert(
                    """
                    Another operator changed this user while you edited it. Your entries are kept, and the other \
                    fields show the current values. Check them, and save again.
                    """
                )
            } else if problems.isEmpty {
                refusal?.alert
            } else {
                .alert("Nothing was saved. Correct the marked fields.")
            }
        var page = Page(
            title: "Properties",
            section: .applications,
            trail: place.trail + [(place.id, place.path)],
            content: """
                \(alert)
                \("<p class=\"empty\">No properties can be changed here.</p>", if: fields.isEmpty)
                \(visit.form(to: place.path + "/properties", class: "properties", """
                \(HTML.hidden("tag", stored.tag ?? ""))\
                \(HTML.hidden("was", JSONValue.object(was).text))\(fields)
                <p>\("<button class=\"primary\">Save</button> ", if: visit.role >= .editor && !fields.isEmpty)\
                \(HTML.button("Back", to: place.path))</p>
                """))
                <p class="fine">The e-mail address and the login name cannot be changed here, because they give access \
                to the account.</p>
                """,
            call: "PATCH /admin/v1/applications/\(place.application)/users/\(place.id)/properties"
        )
        if let refusal { page.status = refusal.status } else if !problems.isEmpty { page.status = .badRequest }
        return page
    }
}

/// What the operator typed in the form of a user's properties.
private struct PropertiesDraft {
    let tag: String?
    /// The text that each form field had before the operator changed it.
    let was: JSONObject
    private var typed: [String: String] = [:]
    /// The changed properties, as JSON for the administration API.
    private(set) var patch = JSONObject()
    /// The problems of typed texts that should be JSON and are not, by the names of the properties.
    private(set) var problems: [String: String] = [:]

    init(_ form: FormFields, types: [(name: String, type: PropertyType)]) throws {
        tag = try form.value("tag")
        was = try Console.parsed(try form.text("was"), "form").object ?? JSONObject()
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

    /// Returns the typed text of a changed property; nil for an unchanged one.
    func typedOver(_ name: String) -> String? { typed[name] }

    /// Replaces each line break (CR LF) by a line feed.
    ///
    /// Browsers send a line break in a text area as two characters.
    private static func lines(_ text: String) -> String {
        text.replacing("\r\n", with: "\n").replacing("\r", with: "\n")
    }
}

/// The form field of a property.
struct PropertyField {
    let name: String
    let type: PropertyType
    let text: String
    let problem: String?
    /// Whether every user must have a value of the property.
    var isRequired = false

    static func id(of name: String) -> String { "property-\(name)" }

    /// Returns a property's value as the text of its form field; empty if there is no value.
    static func text(of value: JSONValue, _ type: PropertyType) -> String {
        switch (type, value) {
        case (_, .null): ""
        case (.json, _): value.indented(\.text)
        case (.dateTime, _): value.integer.flatMap(momentText) ?? value.text
        default: value.string ?? value.text
        }
    }

    /// Parses the text that an operator typed for a property as JSON.
    ///
    /// The administration checks whether the value fits the property's type.
    ///
    /// - Throws: `malformed_request` for text that is not JSON.
    static func value(of text: String, _ type: PropertyType) throws -> JSONValue {
        if let value = type.value(typed: text) { return value }
        return try Console.parsed(text, "value")
    }

    /// Returns the HTML of the form field.
    ///
    /// If another operator has changed the value meanwhile, the field also shows that current value.
    func html(now: String?) -> HTML {
        let id = Self.id(of: name)
        return .labelled(
            "\(name)",
            id: id,
            hint: "\("Required. ", if: isRequired)\(hint)",
            problem: problem,
            note: now.map { "<small>Current value: <bdi>\($0.isEmpty ? "empty" : $0)</bdi></small>" }
        ) { tied in control("\(tied) name=\"\(id)\"") }
    }

    private func control(_ attributes: HTML) -> HTML {
        switch type {
        case .boolean:
            let options = HTML.options([("", "no value"), ("true", "yes"), ("false", "no")], chosen: text)
            return "<select \(attributes)>\(options)</select>"
        case .json: return area(attributes, rows: min(16, max(3, text.count { $0 == "\n" } + 1)))
        // A single-line input would lose line breaks.
        case .string, .text:
            guard type == .string, !text.contains("\n"), !text.contains("\r") else { return area(attributes, rows: 4) }
            return input("text", attributes)
        case .int: return input("text", "\(attributes) inputmode=\"numeric\"")
        case .double: return input("text", "\(attributes) inputmode=\"decimal\"")
        // A date input is empty if its text is not a date. So an invalid text is shown in a text input.
        case .date: return input(problem == nil ? "date" : "text", attributes)
        case .dateTime: return input("text", attributes)
        }
    }

    private func input(_ kind: String, _ attributes: HTML) -> HTML {
        "<input type=\"\(kind)\" \(attributes) value=\"\(text)\" autocomplete=\"off\">"
    }

    /// Returns a text area for a property's value.
    ///
    /// The element begins with an additional line break, because HTML ignores a line break at its start.
    private func area(_ attributes: HTML, rows: Int) -> HTML {
        "<textarea \(attributes) rows=\"\(rows)\" autocomplete=\"off\">\n\(text)</textarea>"
    }

    private var hint: String {
        switch type {
        case .string, .text: "Text. Empty: no value"
        case .int: "A whole number. Empty: no value"
        case .double: "A number, such as 1.5. Empty: no value"
        case .boolean: "Yes, no, or no value"
        case .date: "A date, such as 2026-11-21. Empty: no value"
        case .dateTime: "A time, such as 2026-11-21T10:27:08Z. Empty: no value"
        case .json: "JSON. Empty: no value"
        }
    }
}
