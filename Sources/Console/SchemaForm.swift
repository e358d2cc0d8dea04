import HTTP
import Vocabulary

/// A form for what the JSON Schema of application documents describes, with the meaning and the default of each field
/// beside it.
///
/// The schema is the one source of what there is; the administration judges what is typed. The form says what it was
/// made of, and only what was typed over is sent: where somebody else has changed something meanwhile, it stays.
struct SchemaForm {
    /// What a value is, as far as a form has to know.
    private enum Kind {
        case flag
        /// One of these; nil stands for null.
        case choice([String?])
        case number(least: Int64?, most: Int64?)
        case text
        /// A text, or texts, each in a line of its own.
        case lines(choices: [String])
        /// What is given once and never shown.
        case secret
        /// Anything else.
        case json
    }

    private struct Field {
        /// The names that lead to it from the top of the form's values.
        let path: [String]
        /// What people call it, after the object that it is a member of.
        let title: String
        let kind: Kind
        let meaning: String
        let usual: JSONValue?
        let example: String?

        /// As forms and messages call it.
        var name: String { path.joined(separator: ".") }
        var pointer: String { "/" + path.joined(separator: "/") }
    }

    private let fields: [Field]

    /// A form for members of an object of the schema.
    ///
    /// - Parameters:
    ///   - root: The schema as a whole.
    ///   - pointer: The names that lead from it to the object whose members are shown.
    ///   - members: Which of them, in their order.
    init(_ root: JSONObject, at pointer: [String], members: [String]) {
        let object = pointer.reduce(root as JSONObject?) { $0?[$1]?.object } ?? JSONObject()
        fields = members.flatMap { name in
            object["properties"]?.object?[name]?.object.map { Self.fields(of: $0, at: [name], [], root) } ?? []
        }
    }

    /// The members of an object of the schema.
    static func members(of root: JSONObject, at pointer: [String]) -> [String] {
        let object = pointer.reduce(root as JSONObject?) { $0?[$1]?.object }
        return object?["properties"]?.object?.members.map(\.key) ?? []
    }

    private static func fields(
        of node: JSONObject,
        at path: [String],
        _ above: [String],
        _ root: JSONObject
    ) -> [Field] {
        let schema = resolved(node, root)
        let titles = above + [schema["title"]?.string ?? path.last ?? ""]
        if let members = schema["properties"]?.object?.members, schema["oneOf"] == nil {
            return members.flatMap { member in
                member.value.object.map { fields(of: $0, at: path + [member.key], titles, root) } ?? []
            }
        }
        let field = Field(
            path: path,
            title: titles.joined(separator: ": "),
            kind: kind(of: schema, root),
            meaning: schema["description"]?.string ?? "",
            usual: schema["default"],
            example: schema["examples"]?.array?.first?.string
                ?? schema["items"]?.object.flatMap { resolved($0, root)["examples"]?.array?.first?.string }
        )
        return [field]
    }

    /// A node with what it refers to; its own members count before those.
    private static func resolved(_ node: JSONObject, _ root: JSONObject) -> JSONObject {
        guard let reference = node["$ref"]?.string, reference.hasPrefix("#/") else { return node }
        let target = reference.split(separator: "/").dropFirst()
            .reduce(root as JSONObject?) { $0?[String($1)]?.object }
        guard let target else { return node }
        return JSONObject(node.members + resolved(target, root).members)
    }

    private static func kind(of schema: JSONObject, _ root: JSONObject) -> Kind {
        if let choices = schema["enum"]?.array { return .choice(choices.map(\.string)) }
        let types = schema["type"]?.array?.compactMap(\.string) ?? [schema["type"]?.string ?? ""]
        switch types.first(where: { $0 != "null" }) ?? "" {
        case "boolean": return .flag
        case "integer": return .number(least: schema["minimum"]?.integer, most: schema["maximum"]?.integer)
        case "string": return .text
        case "array":
            let items = schema["items"]?.object.map { resolved($0, root) }
            let choices = items?["enum"]?.array?.compactMap(\.string) ?? []
            return items?["type"]?.string == "string" || !choices.isEmpty ? .lines(choices: choices) : .json
        default:
            let ways = schema["oneOf"]?.array?.compactMap(\.object) ?? []
            return ways.contains { $0["$ref"]?.string == "#/$defs/secret" } ? .secret : .json
        }
    }

    // MARK: The form

    /// The field of a form that says what it was made of.
    private static let was = "was"

    /// The fields with what they hold; what is not stored is as it is by default.
    ///
    /// - Parameters:
    ///   - values: What is stored.
    ///   - typed: What was typed, when it could not be stored.
    ///   - refusal: Why not.
    ///   - place: The pointer in front of those of the fields, such as `/settings`.
    /// - Returns: A row for each.
    func fields(_ values: JSONObject, typed: FormFields?, _ refusal: Refusal?, at place: String = "") -> HTML {
        let draft = typed.map(Draft.init)
        var was = JSONObject()
        let rows = fields.map { field -> HTML in
            let value = Self.value(at: field.path, in: values) ?? field.usual
            let now = Self.text(value, field)
            was.append(field.name, .string(now))
            let pointer = place + field.pointer
            let wrong = (refusal?.problems ?? []).filter { $0.place == pointer || $0.place.hasPrefix(pointer + "/") }
            let over = draft?.typedOver(field)
            // Both have changed it: who looks at it decides.
            let isContested = refusal?.isOutdated == true && over != nil && draft?.was[field.name] != now
            return Self.row(field, value, said: over ?? now, wrong.map(\.text), now: isContested ? now : nil)
        }
        return "\(HTML.hidden(Self.was, JSONValue.object(was).text))\(rows)"
    }

    /// What somebody has typed into the fields.
    private struct Draft {
        /// The texts that the form was made of, by the names of the fields.
        let was: [String: String]
        private let typed: [String: String]

        init(_ form: FormFields) {
            typed = Dictionary(form.all.map { ($0.name, $0.value) }) { first, _ in first }
            let members = (try? JSONParser.parse(typed[SchemaForm.was] ?? "", limits: .document))?.object?.members ?? []
            was = Dictionary(members.map { ($0.key, $0.value.string ?? "") }) { first, _ in first }
        }

        /// The text of a field that was in the form and is another one now.
        func typedOver(_ field: Field) -> String? {
            guard let former = was[field.name] else { return nil }
            // A box that is not ticked is not sent.
            let isFlag = if case .flag = field.kind { true } else { false }
            guard let text = typed[field.name] ?? (isFlag ? "" : nil) else { return nil }
            let lines = text.replacing("\r\n", with: "\n")
            return lines == former ? nil : lines
        }
    }

    private static func row(
        _ field: Field,
        _ value: JSONValue?,
        said: String,
        _ problems: [String],
        now: String?
    ) -> HTML {
        let id = "field-" + field.name
        let described: HTML = """
            id="\(id)" name="\(field.name)" aria-describedby="\(id)-hint"\(" aria-invalid=\"true\"", if: !problems.isEmpty)
            """
        let control: HTML =
            switch field.kind {
            case .flag:
                """
                <input type="checkbox" value="true" \(described)\(" checked", if: !said.isEmpty)>
                """
            case .choice(let choices):
                """
                <select \(described)>\(HTML.options(choices.map { ($0 ?? "", $0 ?? "–") }, chosen: said))</select>
                """
            case .number(let least, let most):
                """
                <input type="number" value="\(said)"\(least.map { " min=\"\($0)\"" as HTML } ?? "")\
                \(most.map { " max=\"\($0)\"" as HTML } ?? "") \(described)>
                """
            case .text:
                "<input value=\"\(said)\" placeholder=\"\(field.example ?? "")\" spellcheck=\"false\" \(described)>"
            case .lines:
                """
                <textarea rows="\(max(2, min(10, said.split(separator: "\n").count + 1)))" \
                placeholder="\(field.example ?? "")" spellcheck="false" \(described)>\(said)</textarea>
                """
            case .secret:
                "<input type=\"password\" autocomplete=\"new-password\" \(described)>"
            case .json:
                "<textarea rows=\"4\" spellcheck=\"false\" \(described)>\(said)</textarea>"
            }
        return """
            <div class="setting"><label for="\(id)">\(field.title)</label>\(control)
            <small id="\(id)-hint">\(problems.map { "<strong class=\"problem\">\($0)</strong> " as HTML })\
            \(now.map { "<strong>Now it is \($0.isEmpty ? "empty" : $0).</strong> " as HTML } ?? "")\(field.meaning) \
            \(kindHint(field, value)) <code>\(field.name)</code>\(usual(field))</small></div>
            """
    }

    private static func kindHint(_ field: Field, _ value: JSONValue?) -> HTML {
        switch field.kind {
        case .lines(let choices) where !choices.isEmpty: "One in a line: \(choices.joined(separator: ", "))."
        case .lines: "One in a line."
        case .number: duration(field, value).map { "That is \($0)." } ?? ""
        case .secret:
            value?.object?["set"]?.bool == true
                ? "One is set since \(HTML.moment(value?.object?["changed"])); empty, it stays." : "None is set."
        default: ""
        }
    }

    private static func usual(_ field: Field) -> HTML {
        guard let usual = field.usual, !usual.isNull, usual.array?.isEmpty != true else { return "" }
        return ", default \(duration(field, usual) ?? shown(usual))"
    }

    /// A default, as people say it.
    private static func shown(_ value: JSONValue) -> String {
        switch value {
        case .bool(let isOn): isOn ? "on" : "off"
        case .string(let text): text
        case .array(let items): items.map(shown).joined(separator: ", ")
        default: value.text
        }
    }

    /// A number of seconds in larger units; nil for whatever else.
    private static func duration(_ field: Field, _ value: JSONValue?) -> String? {
        guard field.path.last?.lowercased().hasSuffix("seconds") == true, let seconds = value?.integer else {
            return nil
        }
        return durationText(seconds)
    }

    /// A value as it stands in a field.
    private static func text(_ value: JSONValue?, _ field: Field) -> String {
        if case .secret = field.kind { return "" }
        return switch value {
        case nil, .null?, .bool(false)?: ""
        case .string(let text)?: text
        case .array(let items)? where items.allSatisfy({ $0.string != nil }):
            items.compactMap(\.string).joined(separator: "\n")
        case let value?: value.text
        }
    }

    private static func value(at path: [String], in values: JSONObject) -> JSONValue? {
        path.dropLast().reduce(values as JSONObject?) { $0?[$1]?.object }?[path.last ?? ""]
    }

    // MARK: What a form changes

    /// A merge patch of what was typed over.
    ///
    /// - Throws: `malformed_request` for what is no JSON where that is typed.
    func patch(_ form: FormFields) throws -> JSONObject {
        let draft = Draft(form)
        var patch = JSONObject()
        for field in fields {
            guard let text = draft.typedOver(field), let value = try Self.read(text, field) else { continue }
            patch = Self.merged(patch, field.path[...], value)
        }
        return patch
    }

    /// The value that a text stands for; nil for a secret that stays.
    private static func read(_ text: String, _ field: Field) throws -> JSONValue? {
        let trimmed = text.trimmed
        switch field.kind {
        case .flag: return .bool(!text.isEmpty)
        case .choice, .text: return trimmed.isEmpty ? .null : .string(trimmed)
        case .number:
            // What is no number is sent as it is: the administration says what it should be.
            return trimmed.isEmpty ? .null : Int64(trimmed).map(JSONValue.integer) ?? .string(trimmed)
        case .lines:
            let lines = text.split(whereSeparator: \.isNewline).map { String($0).trimmed }.filter { !$0.isEmpty }
            return .array(lines.map(JSONValue.string))
        case .secret: return trimmed.isEmpty ? nil : .string(trimmed)
        case .json: return trimmed.isEmpty ? .null : try Console.parsed(text, field.name)
        }
    }

    private static func merged(_ object: JSONObject, _ path: ArraySlice<String>, _ value: JSONValue) -> JSONObject {
        guard let name = path.first else { return object }
        let inner =
            path.count == 1
            ? value : .object(merged(object[name]?.object ?? JSONObject(), path.dropFirst(), value))
        return JSONObject(object.members.filter { $0.key != name } + [.init(name, inner)])
    }
}

extension String {
    /// Without the spaces at both ends, as forms are typed.
    fileprivate var trimmed: String {
        var text = self[...]
        while text.first?.isWhitespace ?? false { text.removeFirst() }
        while text.last?.isWhitespace ?? false { text.removeLast() }
        return String(text)
    }
}
