import Domain
import Encodings
import Pages

/// The form in which operators edit a mapping.
///
/// The form has a row for each property of the application, since at most one entry of a mapping writes a property.
struct MappingRows {
    let application: String
    let entries: [JSONObject]
    let properties: [JSONObject]
    /// What each entry of the mapping does in the preview.
    let outcomes: [JSONObject]
    let problems: [Refusal.Problem]

    // MARK: What a form holds

    /// Returns the mapping entries that the operator has entered in the form.
    ///
    /// The entries that are already stored come first, in the stored order. The others follow in the order of the
    /// form's rows. Because the stored order is kept, saving an unchanged form creates no revision.
    static func entries(of form: FormFields, properties: [JSONObject], stored: [JSONObject]) -> [JSONObject] {
        let values = Dictionary(form.all.map { ($0.name, $0.value) }) { first, _ in first }
        let types = Dictionary(
            properties.map { ($0.string("name"), $0.string("type")) },
            uniquingKeysWith: { first, _ in first }
        )
        let prefix = "from-"
        let entries = form.all.compactMap { field -> JSONObject? in
            guard field.name.utf8.starts(with: prefix.utf8), !field.value.isEmpty else { return nil }
            let property = String(field.name.dropFirst(prefix.count))
            func typed(_ name: String) -> String? {
                values["\(name)-\(property)"].flatMap { $0.isEmpty ? nil : $0 }
            }
            var entry: JSONObject = ["from": .string(field.value), "to": .string(property)]
            for name in ["type", "sync", "whenMissing"] {
                if let value = typed(name) { entry.append(name, .string(value)) }
            }
            if typed("required") != nil { entry.append("required", .bool(true)) }
            if let text = typed("default") {
                entry.append("default", value(text, of: typed("type") ?? types[property] ?? ""))
            }
            if let text = typed("transform") { entry.append("transform", transform(text)) }
            return entry
        }
        let known = stored.compactMap { former in entries.first { $0["to"] == former["to"] } }
        return known + entries.filter { entry in !known.contains { $0["to"] == entry["to"] } }
    }

    /// Parses the default that the operator typed for a property, as a value of the property's type.
    ///
    /// If the text is not JSON of that type, it stays a text. The administration then validates this text with the
    /// mapping.
    private static func value(_ text: String, of type: String) -> JSONValue {
        guard let value = try? JSONParser.parse(text, limits: .request) else { return .string(text) }
        switch (type, value) {
        case ("JSON", _), ("INT", .number), ("DOUBLE", .number), ("BOOLEAN", .bool): return value
        default: return .string(text)
        }
    }

    /// Parses the transform of an entry: JSON, or names separated by commas or spaces.
    private static func transform(_ text: String) -> JSONValue {
        if let value = try? JSONParser.parse(text, limits: .request) { return value }
        let names = text.split { $0 == "," || $0 == " " }.map { JSONValue.string(String($0)) }
        return names.count == 1 ? names[0] : .array(names)
    }

    /// Returns a JSON value as the text of an input, from which the same value can be parsed.
    private static func typed(_ value: JSONValue?) -> String {
        switch value {
        case nil, .null?: ""
        case .string(let text)?: text
        case .array(let values)? where !values.isEmpty && values.allSatisfy({ $0.string != nil }):
            values.count == 1 ? value?.text ?? "" : values.compactMap(\.string).joined(separator: ", ")
        case let value?: value.text
        }
    }

    // MARK: The form

    /// Returns the editor: on one side the provider's fields, on the other the properties with their mapping entries.
    func editor(fields: [JSONObject]) -> HTML {
        let paths = fields.map { field -> HTML in
            let path = field.string("path")
            let permission = field["permission"]?.string.map { "<small>needs \($0)</small>" as HTML }
            return """
                <li data-path="\(path)"><code>\(path)</code> <span>\(field["sample"].map(Self.typed) ?? "")</span>\(permission)</li>
                """
        }
        let names = properties.compactMap { $0["name"]?.string }
        let others = entries.compactMap { $0["to"]?.string }.filter { !names.contains($0) }
        let rows =
            properties.map { row($0.string("name"), type: $0["type"]?.string) }
            + others.map { row($0, type: nil) }
        return """
            <div class="mapping">
            <section aria-labelledby="fields"><h2 id="fields">Fields of the provider</h2><ul \
            class="fields">\(paths)</ul></section>
            <section aria-labelledby="properties"><h2 id="properties">Properties</h2>
            <p class="fine">Type a field name, or a text with names in braces, such as {first_name} {last_name}. An \
            empty row writes nothing. <span class="scripted">Or select a field and then its property, or drag the \
            field there.</span></p>
            <p id="picked" role="status"></p>
            <ul>\(rows)</ul>
            <p><a href="\(consolePath("applications", application, "properties"))">Declare a property</a></p>
            </section></div>
            <datalist id="paths">\(fields.map { "<option value=\"\($0.string("path"))\"></option>" as HTML })</datalist>
            <datalist id="transforms">\(Self.transforms.map { "<option value=\"\($0)\"></option>" as HTML })</datalist>
            """
    }

    private static let transforms = [
        "trim", "lowercase", "uppercase", "first", #"{"join": ", "}"#, #"{"lookup": {"male": "M", "female": "F"}}"#,
        #"{"date": "dd.MM.yyyy"}"#,
    ]

    private func row(_ property: String, type: String?) -> HTML {
        let position = entries.firstIndex { $0["to"]?.string == property }
        let entry = position.map { entries[$0] }
        let outcome = outcomes.first { $0["to"]?.string == property }
        let wrong = problems.filter { $0.entry != nil && $0.entry == position }
        return """
            <li class="entry" id="entry-\(property)">
            <div class="to"><label for="from-\(property)"><code>\(property)</code></label> \(HTML.tag(type ?? "not declared"))</div>
            <input id="from-\(property)" name="from-\(property)" list="paths" value="\(Self.typed(entry?["from"]))" \
            spellcheck="false" autocomplete="off">
            \(entry.map { options(of: $0, property) })
            <div class="outcome">\(outcome.map(Self.outcome))\
            \(wrong.map { "<p class=\"problem\">\(Self.parts(of: $0.text).rest)</p>" as HTML })</div></li>
            """
    }

    /// Returns the message about an entry with the name of the entry's property in place of the entry's position.
    static func named(_ message: String) -> String {
        let (property, rest) = parts(of: message)
        return property.isEmpty ? rest : "\(property): \(rest)"
    }

    /// Splits a message about an entry, such as `mapping[2] ("birthday" to "age"): the text`.
    ///
    /// - Returns: The last name of the message's label, which is the property where it is known, and the text; an empty
    ///   name if the message has no label.
    private static func parts(of message: String) -> (property: String, rest: String) {
        guard message.hasPrefix("mapping["), let end = message.firstRange(of: ": ") else { return ("", message) }
        let names = message[..<end.lowerBound].split(separator: "\"")
        return (names.count > 1 ? String(names[names.count - 2]) : "", String(message[end.upperBound...]))
    }

    private static func outcome(_ outcome: JSONObject) -> HTML {
        let kind = outcome.string("outcome")
        let warning = outcome["warning"]?.string
        let value = outcome["value"].map { "<bdi>\(Self.typed($0))</bdi>" as HTML }
        let former = outcome["current"].map { " <small>now \(Self.typed($0))</small>" as HTML }
        let found: HTML = "\(HTML.tag(kind, kind)) \(value)\(former) <small>\(outcome.string("why"))</small>"
        // Without a value of the field, the warning says all.
        return """
            \(found, if: warning == nil || kind == "written")\
            \(warning.map { "<p class=\"problem\">\(parts(of: $0).rest)</p>" as HTML })
            """
    }

    /// Returns the further options of a mapping entry, collapsed.
    ///
    /// The visible line names the options that are set.
    private func options(of entry: JSONObject, _ property: String) -> HTML {
        func choice(_ name: String, _ label: String, _ choices: [(value: String, title: String)]) -> HTML {
            let options = HTML.options(choices, chosen: entry[name]?.string ?? "")
            return "<label>\(label) <select name=\"\(name)-\(property)\">\(options)</select></label>"
        }
        func text(_ name: String, _ label: String, _ attributes: HTML = "") -> HTML {
            """
            <label>\(label) <input name="\(name)-\(property)" value="\(Self.typed(entry[name]))" \
            \(attributes) spellcheck="false" autocomplete="off"></label>
            """
        }
        let isRequired = entry.bool("required")
        return """
            <details><summary>Options: \(Self.words(entry))</summary>
            \(choice("sync", "Written", Self.syncs)) \(choice("type", "Read as", Self.types))
            \(text("transform", "Transform", "list=\"transforms\" placeholder=\"such as trim, lowercase\"")) \
            \(text("default", "Default"))
            \(choice("whenMissing", "When the profile lacks it", Self.absences))
            <label><input type="checkbox" name="required-\(property)" value="yes"\(" checked", if: isRequired)> \
            Required: without it the login fails</label></details>
            """
    }

    private static let syncs: [(value: String, title: String)] = [
        (value: "", title: "at every login"), ("firstLogin", "at the first login"), ("ifEmpty", "while it is empty"),
        ("untilEdited", "until it is edited"),
    ]

    private static let types =
        [(value: "", title: "the type of the property")]
        + ["STRING", "TEXT", "INT", "DOUBLE", "BOOLEAN", "DATE", "DATETIME", "JSON"].map { (value: $0, title: $0) }

    private static let absences: [(value: String, title: String)] = [
        (value: "", title: "clear the value if the object around it is there"), ("keep", "keep the value"),
        ("clear", "clear the value"),
    ]

    /// Returns a short text that names the options that are set in a mapping entry.
    private static func words(_ entry: JSONObject) -> String {
        let sync = syncs.first { $0.value == (entry.string("sync")) }?.title ?? syncs[0].title
        let others: [String?] = [
            entry.bool("required") ? "required" : nil, entry["type"]?.string.map { "as \($0)" },
            entry["transform"].map(typed), entry["default"].map { "default \(typed($0))" },
            entry["whenMissing"]?.string,
        ]
        return (["written \(sync)"] + others.compactMap(\.self)).joined(separator: " · ")
    }
}
