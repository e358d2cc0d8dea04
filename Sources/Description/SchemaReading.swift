package import Encodings

extension Schema {
    /// Parses a JSON Schema, but leaves out its titles, defaults, examples and conditions.
    ///
    /// The result is for generators of client code. They would name types by the titles, would send the defaults, and
    /// would fail at the conditions.
    ///
    /// - Parameters:
    ///   - value: The schema.
    ///   - definitions: The schemas to which references refer; each key is the last segment of a reference.
    ///   - references: Schemas that replace some definitions. The schema must refer to each of these definitions.
    package init(reading value: JSONValue, definitions: JSONObject, references: [String: Schema] = [:]) {
        var used: Set<String> = []
        self.init(value, definitions, references, &used)
        let unused = Set(references.keys).subtracting(used)
        precondition(unused.isEmpty, "Nothing in the schema refers to \(unused.sorted()).")
    }

    private init(
        _ value: JSONValue,
        _ definitions: JSONObject,
        _ references: [String: Schema],
        _ used: inout Set<String>
    ) {
        func schema(_ value: JSONValue) -> Schema { Schema(value, definitions, references, &used) }
        let object = value.object ?? JSONObject()
        let name = object["$ref"]?.string?.split(separator: "/").last.map { String($0) } ?? ""
        used.insert(name)
        self = references[name] ?? definitions[name].map(schema) ?? Schema()
        for member in object.members { read(member, in: object, schema) }
    }

    private mutating func read(_ member: JSONObject.Member, in object: JSONObject, _ schema: (JSONValue) -> Schema) {
        switch member.key {
        case "type":
            let names = member.value.array?.compactMap(\.string) ?? [member.value.string ?? ""]
            kind = names.lazy.compactMap(Kind.init).first
            isNullable = names.contains("null")
        case "description": description = member.value.string
        case "properties":
            let required = object["required"]?.array?.compactMap(\.string) ?? []
            properties = (member.value.object?.members ?? []).map {
                Property($0.key, schema($0.value), isRequired: required.contains($0.key))
            }
        case "additionalProperties":
            rest = member.value.bool.map { $0 ? .anything : .nothing } ?? .values(schema(member.value))
        case "items": elements = [schema(member.value)]
        case "enum":
            kind = .string
            self = limited(to: member.value.array ?? [])
        case "const":
            kind = .string
            rules.append(member)
        case "pattern", "minLength", "maxLength", "minimum", "maximum", "maxItems", "uniqueItems": rules.append(member)
        default: break
        }
    }
}
