import Description
import Domain
import Encodings
import Pages

/// A form with an input for each of several fields, such as the settings of an application, made from the fields'
/// descriptions.
///
/// Beside each input it shows the meaning and the default of the field.
///
/// The administration validates the typed values. The form itself validates only durations, since operators type them
/// in units such as days and the administration expects seconds.
///
/// The form contains its original values and sends only values that differ from them. So it does not overwrite a value
/// that another operator has changed meanwhile.
struct DescribedForm {
    private struct Field {
        /// The path of the field: the names of the objects that contain the field, and its own name.
        let path: [String]
        /// The field's displayed title, which begins with the title of the object that contains the field.
        let title: String
        let described: FieldDescription

        /// The field's name in forms and messages.
        var name: String { path.joined(separator: ".") }
        var pointer: String { "/" + path.joined(separator: "/") }
        var shape: Shape { described.shape.present }

        /// The words that a list may contain, each of which has a checkbox; nil for all other fields.
        var words: [String]? { if case .list(.word(let words), _, _) = shape { words } else { nil } }

        /// Whether the field has only checkboxes, of which browsers send the ticked ones alone.
        var isTicked: Bool { if case .flag = shape { true } else { words != nil } }
    }

    private let fields: [Field]

    /// Creates a form of fields in their order, including the fields of inner objects.
    ///
    /// If all fields are those of one object, their titles do not repeat its title.
    init(_ fields: [FieldDescription]) {
        let shared = fields.count == 1 ? fields[0].title + ": " : ""
        self.fields = ObjectShape(fields).leaves.map { leaf in
            let title = leaf.title.hasPrefix(shared) ? leaf.title.dropFirst(shared.count) : leaf.title[...]
            let text = title.prefix(1).uppercased() + title.dropFirst()
            return Field(path: leaf.path, title: text, described: leaf.field)
        }
    }

    // MARK: The form

    /// The name of the hidden form field with the form's original values.
    private static let was = "was"

    /// Returns a row with an input for each field, filled with the field's value.
    ///
    /// The input has the stored value, or the default if no value is stored.
    ///
    /// - Parameters:
    ///   - values: The stored values.
    ///   - typed: The typed values, if they could not be stored.
    ///   - refusal: Why the typed values could not be stored.
    ///   - place: The JSON pointer of the object with the fields, such as `/settings`.
    /// - Returns: A row for each field.
    func fields(_ values: JSONObject, typed: FormFields?, _ refusal: Refusal?, at place: String = "") -> HTML {
        let draft = typed.map(Draft.init)
        var was = JSONObject()
        let rows = fields.map { field -> HTML in
            let value = Self.value(at: field.path, in: values) ?? field.described.defaultValue
            let now = Self.text(value, field)
            was.append(field.name, .string(now))
            let pointer = place + field.pointer
            let wrong = (refusal?.problems ?? []).filter { $0.isAt(pointer) }
            let over = draft?.typedOver(field)
            // Another operator has changed the same field. Both values are shown, and the viewer decides.
            let isContested = refusal?.isOutdated == true && over != nil && draft?.was[field.name] != now
            return row(field, value, said: over ?? now, wrong.map(\.text), now: isContested ? now : nil)
        }
        return "\(HTML.hidden(Self.was, JSONValue.object(was).text))\(rows)"
    }

    /// Returns the alert for a refusal, which names each field by its title.
    ///
    /// It has advice if another operator has changed the values meanwhile.
    func alert(_ refusal: Refusal, at place: String = "") -> HTML {
        guard !refusal.isOutdated else {
            return .alert(
                """
                Another operator changed this application while you edited it. Your entries are kept, and the other \
                fields show the current values. Check them, and save again.
                """
            )
        }
        return refusal.alert { problem in
            guard let field = fields.first(where: { problem.isAt(place + $0.pointer) }) else { return problem.html }
            return "<a href=\"#\(Self.id(of: field))\">\(field.title)</a>: \(inWords(problem.text))"
        }
    }

    /// Returns a text with the titles of fields in place of their names, and with "empty" in place of `null`.
    ///
    /// Names of one plain word stay, since the text may mean the word.
    private func inWords(_ text: String) -> String {
        var words = ""
        for part in text.split(separator: " ", omittingEmptySubsequences: false) {
            let name = part.prefix { $0.isLetter }
            let field = fields.first { $0.path.last.map { $0 == name } ?? false && name.contains(where: \.isUppercase) }
            let isFirst = words.isEmpty || words.hasSuffix(". ")
            let word = field.map { "\"\($0.title)\"" } ?? (name == "null" ? isFirst ? "Empty" : "empty" : String(name))
            words += "\(word)\(part.dropFirst(name.count)) "
        }
        return String(words.dropLast())
    }

    /// What the operator typed into a form, beside the form's original values.
    private struct Draft {
        /// The text that each input had before the operator changed it, by the name of the field.
        let was: [String: String]
        private let typed: [String: String]

        init(_ form: FormFields) {
            // The ticked boxes of a list have one name, and are its lines.
            typed = Dictionary(form.all.map { ($0.name, $0.value) }) { "\($0)\n\($1)" }
            let members =
                (try? JSONParser.parse(typed[DescribedForm.was] ?? "", limits: .document))?.object?.members ?? []
            was = Dictionary(members.map { ($0.key, $0.value.string ?? "") }) { first, _ in first }
        }

        /// Returns the typed text of a changed field; nil for an unchanged field.
        func typedOver(_ field: Field) -> String? {
            guard let former = was[field.name] else { return nil }
            // Browsers do not send an unticked box.
            guard let text = typed[field.name] ?? (field.isTicked ? "" : nil) else { return nil }
            let lines = text.replacing("\r\n", with: "\n")
            return lines == former ? nil : lines
        }
    }

    private static func id(of field: Field) -> String { "field-" + field.name }

    private func row(
        _ field: Field,
        _ value: JSONValue?,
        said: String,
        _ problems: [String],
        now: String?
    ) -> HTML {
        let id = Self.id(of: field)
        let described: HTML = """
            id="\(id)" name="\(field.name)" aria-describedby="\(id)-hint"\(" aria-invalid=\"true\"", if: !problems.isEmpty)
            """
        let lines = said.split(separator: "\n")
        let control: HTML =
            switch field.shape {
            case .flag:
                """
                <input type="checkbox" value="true" \(described)\(" checked", if: !said.isEmpty)>
                """
            case .word(let words):
                """
                <select \(described)>\(HTML.options(Self.choices(words, of: field), chosen: said))</select>
                """
            case .integer(let range, _):
                """
                <input type="number" value="\(said)" min="\(range.lowerBound)" max="\(range.upperBound)" \(described)>
                """
            case .seconds:
                "<input value=\"\(said)\" placeholder=\"such as 14 days\" spellcheck=\"false\" \(described)>"
            case .text(let rule):
                "<input value=\"\(said)\" placeholder=\"\(Self.example(rule))\" spellcheck=\"false\" \(described)>"
            case .list(.word(let words), _, _):
                """
                <div role="group" id="\(id)" aria-labelledby="\(id)-label" aria-describedby="\(id)-hint">\
                \(words.map { HTML.tick(field.name, "\($0)", value: $0, isTicked: lines.contains($0[...])) })\
                </div>
                """
            case .list(let element, _, _):
                """
                <textarea rows="\(max(2, min(10, lines.count + 1)))" \
                placeholder="\(Self.example(of: element))" spellcheck="false" \(described)>\(said)</textarea>
                """
            case .secret:
                "<input type=\"password\" autocomplete=\"new-password\" \(described)>"
            case .object, .orNull:
                // The fields of an object have rows of their own.
                ""
            }
        let label: HTML =
            field.words == nil
            ? "<label for=\"\(id)\">\(field.title)</label>" : "<span id=\"\(id)-label\">\(field.title)</span>"
        return """
            <div class="setting">\(label)\(control)
            <small id="\(id)-hint">\(problems.map { "<strong class=\"problem\">\(inWords($0))</strong> " as HTML })\
            \(now.map { "<strong>Current value: \($0.isEmpty ? "empty" : $0).</strong> " as HTML } ?? "")\
            \(inWords(field.described.meaning)) \(Self.hint(field, value)) <code>\(field.name)</code>\
            \(Self.usual(field))</small></div>
            """
    }

    /// Returns the options of a select element: the given words, and an empty option if the field's value may be null.
    private static func choices(_ words: [String], of field: Field) -> [(String, String)] {
        let named = words.map { ($0, $0) }
        if case .orNull = field.described.shape { return named + [("", "–")] }
        return named
    }

    private static func example(of element: Shape) -> String {
        if case .text(let rule) = element { example(rule) } else { "" }
    }

    private static func example(_ rule: TextRule) -> String { rule.example.map { "such as \($0)" } ?? "" }

    private static func hint(_ field: Field, _ value: JSONValue?) -> HTML {
        switch field.shape {
        case .list(.word, _, _): ""
        case .list: "One per line."
        case .seconds(let range):
            "From \(DurationText.text(of: range.lowerBound)) to \(DurationText.text(of: range.upperBound))."
        case .secret:
            value?.object?["set"]?.bool == true
                ? "Set since \(HTML.moment(value?.object?["changed"])). Leave it empty to keep it." : "Not set."
        default: ""
        }
    }

    private static func usual(_ field: Field) -> HTML {
        guard let usual = field.described.defaultValue, !usual.isNull, usual.array?.isEmpty != true else { return "" }
        let isTime = if case .seconds = field.shape { true } else { false }
        return ", default \(isTime ? text(usual, field) : shown(usual))"
    }

    /// Returns the default value of a field as text for operators.
    private static func shown(_ value: JSONValue) -> String {
        switch value {
        case .bool(let isOn): isOn ? "on" : "off"
        case .string(let text): text
        case .array(let items): items.map(shown).joined(separator: ", ")
        default: value.text
        }
    }

    /// Returns a field's value as the text of its input.
    private static func text(_ value: JSONValue?, _ field: Field) -> String {
        switch field.shape {
        case .secret: return ""
        case .seconds: if let seconds = value?.integer { return DurationText.text(of: seconds) }
        default: break
        }
        return switch value {
        case nil, .null?, .bool(false)?: ""
        case .string(let text)?: text
        case .array(let items)? where items.allSatisfy({ $0.string != nil }):
            // A list of words has the order of its checkboxes.
            (field.words?.filter { items.contains(.string($0)) } ?? items.compactMap(\.string)).joined(separator: "\n")
        case let value?: value.text
        }
    }

    private static func value(at path: [String], in values: JSONObject) -> JSONValue? {
        path.dropLast().reduce(values as JSONObject?) { $0?[$1]?.object }?[path.last ?? ""]
    }

    // MARK: What a form changes

    /// Returns a JSON Merge Patch with the fields that the operator has changed.
    ///
    /// A text that cannot be parsed as a value is in the patch unchanged. The administration's error then says what the
    /// value should be.
    ///
    /// - Parameters:
    ///   - form: The typed values.
    ///   - place: The JSON pointer of the object with the fields, such as `/settings`.
    /// - Returns: A member for each changed field.
    /// - Throws: The problems of typed texts that are no durations.
    func patch(_ form: FormFields, at place: JSONPointer = JSONPointer()) throws -> JSONObject {
        let draft = Draft(form)
        var patch = JSONObject()
        var problems = DocumentProblems()
        for field in fields {
            guard let text = draft.typedOver(field)?.trimmed else { continue }
            let value = field.described.shape.value(of: text, separator: "\n")
            switch (field.shape, value) {
            case (.flag, _): patch = patch.setting(field.path, to: .bool(!text.isEmpty))
            // A secret with an empty input keeps its stored value.
            case (.secret, .null?): break
            case (.list, _):
                let lines = text.split(separator: "\n").map(\.trimmed).filter { !$0.isEmpty }
                patch = patch.setting(field.path, to: .array(lines.map(JSONValue.string)))
            case (.seconds, nil):
                problems.add(field.path.reduce(place, /), "write a number and a unit, such as 12 hours or 7 days")
            case (.seconds(let range), let value?) where !value.isNull && !range.contains(value.integer ?? -1):
                problems.add(field.path.reduce(place, /), "must be \(field.shape.form)")
            default: patch = patch.setting(field.path, to: value ?? .string(text))
            }
        }
        guard problems.isEmpty else { throw Refusal(problems.failure) }
        return patch
    }
}
