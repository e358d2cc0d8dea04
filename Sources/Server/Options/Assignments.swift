import AdministrationAPI
import ArgumentParser
import Description
import Domain
import Encodings

/// The values from the command line that a command sends to the administration API.
///
/// Each argument `NAME=VALUE` sets a query parameter or a member of the request's JSON document. An argument may
/// instead name a file with the document.
struct Assignments {
    /// One argument `NAME=VALUE` that sets a member of the JSON document.
    ///
    /// The schema of the document may have several alternatives. `ways` contains a path to the member for each
    /// alternative that has the member.
    private struct Member {
        let name: String
        let ways: [[Step]]
        let value: Value
    }

    private enum Value {
        case json(JSONValue)
        /// A secret, which is read from the named file, or from standard input for `-`.
        case secret(file: String)
    }

    /// One step of a path in a JSON document, from an object or a list to an inner value.
    enum Step {
        case member(String)
        /// The step to the list element whose member `key` has the value `id`.
        case element(key: String, id: String)
    }

    private(set) var query: [(name: String, value: String)] = []
    private var members: [Member] = []
    /// The file with the JSON document; nil if the arguments set the members.
    private(set) var file: String?

    /// Parses the command-line arguments.
    ///
    /// - Parameters:
    ///   - words: The arguments.
    ///   - path: The resource that the command sets.
    ///   - takesFile: Whether an argument may name a file with the JSON document.
    /// - Throws: `ValidationError` for an unknown or repeated name, a text that is not a valid value, and a secret
    ///   given as an argument.
    init(_ words: [String], to path: ResourcePath, takesFile: Bool = false) throws {
        for word in words {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty else {
                guard takesFile, path.document != nil, file == nil else {
                    throw ValidationError("\(word) is not NAME=VALUE.")
                }
                file = word
                continue
            }
            let isJSON = parts[0].hasSuffix(":")
            let name = String(isJSON ? parts[0].dropLast() : parts[0])
            let isKnown = { (other: String) in other.hasSameBytes(as: name) }
            guard !query.map(\.name).contains(where: isKnown), !members.map(\.name).contains(where: isKnown) else {
                throw ValidationError("\(name) is repeated.")
            }
            if path.query.map(\.name).contains(where: isKnown) {
                let isMoment = ["since", "until"].contains(name)
                query.append((name, isMoment ? Lifetime.moment(String(parts[1])) : String(parts[1])))
            } else {
                members.append(try Self.member(name, String(parts[1]), isJSON: isJSON, path))
            }
        }
        guard file == nil || members.isEmpty else {
            throw ValidationError("Give a file or NAME=VALUE, not both.")
        }
        guard files.count(where: { $0 == "-" }) <= 1 else {
            throw ValidationError("Only one secret can come from standard input: give the others in files.")
        }
    }

    var isEmpty: Bool { members.isEmpty && file == nil }

    /// The files that the command reads: the file with the JSON document, or the files with secrets.
    var files: [String] {
        [file].compactMap(\.self)
            + members.compactMap { if case .secret(let file) = $0.value { file } else { nil } }
    }

    /// Whether an argument sets a member of a list element, such as `apps.1234.secret=@FILE`.
    ///
    /// A merge patch can only replace a whole list. So the command needs the list's current elements to create the
    /// document.
    var areOfElements: Bool {
        members.contains { $0.ways.joined().contains { if case .element = $0 { true } else { false } } }
    }

    /// Returns whether an argument sets the member with this name.
    func give(_ name: String) -> Bool { members.contains { $0.name.hasSameBytes(as: name) } }

    /// Returns the JSON document that the arguments describe.
    ///
    /// - Parameter current: The stored document. It contains the list elements that the arguments change.
    /// - Returns: The document. A member is `null` if its argument has no value.
    /// - Throws: An exit code after printing which file cannot be read, or which list element is missing.
    func document(changing current: JSONValue? = nil) throws -> JSONValue {
        if let file { return try InputFile.json(file) }
        var document = JSONValue.object([:])
        for member in members {
            let value: JSONValue =
                switch member.value {
                case .json(let value): value
                case .secret(let file): .string(try Self.secret(member.name, file).reveal())
                }
            let way = member.ways.first { current?.hasElements(on: $0[...]) == true } ?? member.ways[0]
            document = try document.setting(way[...], to: value, member.name, changing: current)
        }
        return document
    }

    private static func secret(_ name: String, _ file: String) throws -> Secret {
        file == "-" && Terminal.inputIsTerminal
            ? try Secret(asking: name) : try Secret(line: try InputFile.bytes(file), of: name)
    }

    // MARK: Names and values

    private static func member(_ name: String, _ text: String, isJSON: Bool, _ path: ResourcePath) throws -> Member {
        let document = path.document
        let names = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let found = document?.ways(to: names[...]) ?? []
        guard !found.isEmpty else { throw unknown(name, path) }
        let value = try value(of: text, name, found.map(\.leaf), isJSON: isJSON)
        return Member(name: name, ways: found.map(\.steps), value: value)
    }

    /// Parses the value of a `NAME=VALUE` argument as the schema of the member requires.
    ///
    /// The document's schema may have several alternatives, each with a schema of its own for the member (`leaves`).
    /// The value is a secret if any of these schemas describes it as one.
    private static func value(of text: String, _ name: String, _ leaves: [Schema], isJSON: Bool) throws -> Value {
        let shapes = leaves.map { $0.typed(as: name) }
        let isSecret = shapes.contains { if case .secret = $0 { true } else { false } }
        guard !text.isEmpty else {
            return .json(.null)
        }
        guard !isSecret else {
            guard text.hasPrefix("@"), text.utf8.count > 1, !isJSON else { throw refusal(name) }
            return .secret(file: String(text.dropFirst()))
        }
        if let inside = leaves.flatMap(\.secrets).first(where: { text.contains($0.lastName) }) {
            throw refusal("\(name).\(inside)")
        }
        let json = isJSON ? try? JSONParser.parse(text, limits: .document) : shapes[0].value(of: text, separator: ",")
        guard let json else { throw ValidationError("\(name) must be \(isJSON ? "JSON" : shapes[0].form).") }
        return .json(json)
    }

    /// Returns the error for an argument whose name no member of the document has.
    ///
    /// If the name and that of a secret have the same last part, such as `secret` in `apps.1234.secret`, the error says
    /// that a secret must not be an argument.
    private static func unknown(_ name: String, _ path: ResourcePath) -> ValidationError {
        let secrets = path.route.document()?.secrets ?? []
        if let secret = secrets.first(where: { $0.lastName == name.lastName }) { return refusal(secret) }
        let known = path.query.map(\.name) + (path.document?.leaves.map(\.name) ?? [])
        let advice = known.isEmpty ? "It has no members." : "Use --help after the path for a list."
        return ValidationError(
            "\(path.text) has no member \(name)\(NearestName.hint(for: name, among: known)). \(advice)"
        )
    }

    private static func refusal(_ name: String) -> ValidationError {
        ValidationError(Secret.refusal(ofArgument: name, use: "\(name)=@FILE, where @- is standard input"))
    }
}

extension Assignments {
    /// The words that a shell offers to complete `NAME=VALUE` arguments, such as `NAME=`.
    ///
    /// If a member has a fixed list of values, there is a word `NAME=VALUE` for each value.
    static let completions: [String] = {
        let leaves = AdministrationRoute.resources.flatMap { $0.document()?.leaves ?? [] }
        let words = leaves.flatMap { leaf -> [String] in
            switch leaf.schema.typed(as: leaf.name) {
            case .flag: ["true", "false"].map { "\(leaf.name)=\($0)" }
            case .word(let words): words.map { "\(leaf.name)=\($0)" }
            case .secret: [leaf.name + "=@"]
            default: [leaf.name + "="]
            }
        }
        return Set(words).sorted()
    }()
}

extension Schema {
    /// Returns the paths through this schema to the member that a dotted name denotes.
    ///
    /// There is one path for each alternative of the schema that has the member.
    fileprivate func ways(to names: ArraySlice<String>) -> [(steps: [Assignments.Step], leaf: Schema)] {
        guard let name = names.first else { return [([], self)] }
        let schema = resolved
        guard !isSecret, !schema.isSecret else { return [] }
        let rest = names.dropFirst()
        func behind(_ step: Assignments.Step, _ inner: Schema) -> [(steps: [Assignments.Step], leaf: Schema)] {
            inner.ways(to: rest).map { ([step] + $0.steps, $0.leaf) }
        }
        guard schema.alternatives.isEmpty else { return schema.alternatives.flatMap { $0.ways(to: names) } }
        if let (key, element) = schema.keyed {
            return name.isEmpty || rest.first == key ? [] : behind(.element(key: key, id: name), element)
        }
        if let property = schema.properties.first(where: { $0.name.hasSameBytes(as: name) }) {
            return behind(.member(name), property.schema)
        }
        return switch schema.rest {
        case .anything: behind(.member(name), .any)
        case .values(let values): behind(.member(name), values)
        case .unsaid where schema.kind == .object: behind(.member(name), .any)
        case .unsaid, .nothing: []
        }
    }

    /// The names of the elements in the list that this schema describes: `key` is the member that contains an element's
    /// name.
    ///
    /// `key` is the elements' only required member, and `element` is their schema. Nil if this schema describes no
    /// list, or if the elements have no required member or several.
    private var keyed: (key: String, element: Schema)? {
        guard let element = elements.first?.resolved else { return nil }
        let required = element.properties.filter(\.isRequired)
        return required.count == 1 ? (required[0].name, element) : nil
    }

    /// Returns the names by which arguments can refer to a document's list elements, such as `apps.1234`.
    func elementNames(in value: JSONValue?, behind front: String = "") -> [String] {
        guard let value else { return [] }
        let schema = resolved
        guard schema.alternatives.isEmpty else {
            return schema.alternatives.flatMap { $0.elementNames(in: value, behind: front) }
        }
        if let (key, _) = schema.keyed {
            return (value.array ?? []).compactMap { element in element.object?[key]?.string.map { front + $0 } }
        }
        return schema.properties.flatMap { property in
            property.schema.elementNames(in: value.object?[property.name], behind: "\(front)\(property.name).")
        }
    }

    /// The innermost members of the schema, each once, with the name that an argument `NAME=VALUE` uses.
    var leaves: [(name: String, schema: Schema)] {
        var leaves: [(name: String, schema: Schema)] = []
        collect("", into: &leaves)
        return leaves
    }

    private func collect(_ name: String, into leaves: inout [(name: String, schema: Schema)]) {
        let schema = resolved
        let front = name.isEmpty ? "" : name + "."
        if isSecret || schema.isSecret {
            if !leaves.contains(where: { $0.name == name }) { leaves.append((name, self)) }
        } else if !schema.alternatives.isEmpty {
            for alternative in schema.alternatives where alternative.resolved.kind != nil {
                alternative.collect(name, into: &leaves)
            }
        } else if let (key, element) = schema.keyed {
            for property in element.properties where property.name != key {
                property.schema.collect(front + "{\(key)}." + property.name, into: &leaves)
            }
        } else if schema.kind == .object, !schema.properties.isEmpty {
            for property in schema.properties { property.schema.collect(front + property.name, into: &leaves) }
        } else if !name.isEmpty, !leaves.contains(where: { $0.name == name }) {
            leaves.append((name, self))
        }
    }

    /// The names of the schema's members that are secrets, including members of inner objects.
    fileprivate var secrets: [String] {
        leaves.compactMap { leaf in if case .secret = leaf.schema.typed(as: "") { leaf.name } else { nil } }
    }
}

extension String {
    /// The part of a dotted name after its last full stop.
    fileprivate var lastName: Substring { split(separator: ".").last ?? "" }
}

extension JSONValue {
    /// Returns whether the path leads to a list in which at least one element has a name.
    ///
    /// The name of an element is the value of its member `key`.
    fileprivate func hasElements(on way: ArraySlice<Assignments.Step>) -> Bool {
        switch way.first {
        case nil: false
        case .member(let name): object?[name]?.hasElements(on: way.dropFirst()) ?? false
        case .element(let key, _): array?.contains { $0.object?[key] != nil } ?? false
        }
    }

    /// Returns this document with the value at a path replaced.
    ///
    /// This document is a merge patch, which can only replace a list as a whole. So the first change to a list copies
    /// all its elements from `current`, the stored document. The value `null` removes a list element, or a member of an
    /// element.
    fileprivate func setting(
        _ way: ArraySlice<Assignments.Step>,
        to value: JSONValue,
        _ title: String,
        changing current: JSONValue?,
        inElement: Bool = false
    ) throws -> JSONValue {
        let rest = way.dropFirst()
        switch way.first {
        case nil: return value
        case .member(let name):
            let object = object ?? JSONObject()
            let isGone = inElement && rest.isEmpty && value.isNull
            let inner =
                isGone
                ? nil
                : try (object[name] ?? .object([:])).setting(
                    rest,
                    to: value,
                    title,
                    changing: current?.object?[name],
                    inElement: inElement
                )
            let others = object.members.filter { !$0.key.hasSameBytes(as: name) }
            return .object(JSONObject(others + (inner.map { [.init(name, $0)] } ?? [])))
        case .element(let key, let id):
            var elements = array ?? current?.array ?? []
            let index = elements.firstIndex { $0.object?[key]?.string?.hasSameBytes(as: id) ?? false }
            guard !rest.isEmpty || !value.isNull else {
                guard let index else { throw Exit.saying("federation: there is no \(title)", Exit.noInput) }
                elements.remove(at: index)
                return .array(elements)
            }
            let element = index.map { elements[$0] } ?? .object([key: .string(id)])
            let changed = try element.setting(rest, to: value, title, changing: nil, inElement: true)
            if let index { elements[index] = changed } else { elements.append(changed) }
            return .array(elements)
        }
    }

    /// This value without those members of objects that are `null`, at any depth.
    ///
    /// Lists remain unchanged, with all that is in them.
    var withoutNulls: JSONValue {
        guard case .object(let object) = self else { return self }
        return .object(
            JSONObject(object.members.filter { !$0.value.isNull }.map { .init($0.key, $0.value.withoutNulls) })
        )
    }
}
