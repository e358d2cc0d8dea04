package import Encodings

extension Shape {
    /// The shape as a JSON Schema (draft 2020-12).
    package var schema: JSONObject {
        switch self {
        case .flag: ["type": .string("boolean")]
        case .word(let words): ["enum": .array(words.map(JSONValue.string))]
        case .integer(let range, _), .seconds(let range):
            [
                "type": .string("integer"), "minimum": .integer(range.lowerBound),
                "maximum": .integer(range.upperBound),
            ]
        case .text(let rule):
            JSONObject(
                [.init("type", .string("string"))] + rule.schema.members
                    + (rule.example.map { [.init("examples", .array([.string($0)]))] } ?? [])
            )
        case .list(let element, let max, let isSet):
            JSONObject(
                [.init("type", .string("array")), .init("maxItems", .integer(Int64(max)))]
                    + (isSet ? [.init("uniqueItems", .bool(true))] : []) + [.init("items", .object(element.schema))]
            )
        case .object(let object): object.schema
        case .orNull(let shape): shape.schema.allowingNull
        case .secret: ["$ref": .string("#/$defs/secret")]
        }
    }
}

extension ObjectShape {
    /// The object's shape as a JSON Schema that refuses unknown members.
    package var schema: JSONObject {
        let properties = fields.map { JSONObject.Member($0.name, .object($0.schema)) }
        var schema: JSONObject = [
            "type": .string("object"), "additionalProperties": .bool(false),
            "properties": .object(JSONObject(properties)),
        ]
        let required = fields.filter { $0.defaultValue == nil }.map { JSONValue.string($0.name) }
        if !required.isEmpty { schema.append("required", .array(required)) }
        if !rules.isEmpty { schema.append("allOf", .array(rules)) }
        return schema
    }
}

extension FieldDescription {
    /// The field as a JSON Schema, with its title, its meaning and its default.
    package var schema: JSONObject {
        var schema: JSONObject = ["title": .string(title), "description": .string(meaning)]
        for member in shape.schema.members { schema.append(member.key, member.value) }
        // An object has no default of its own: its members have defaults.
        if case .object = shape.present { return schema }
        if let defaultValue { schema.append("default", defaultValue) }
        return schema
    }
}

extension JSONObject {
    /// A JSON Schema of the same values, and also of `null`.
    fileprivate var allowingNull: JSONObject {
        JSONObject(
            members.map { member in
                switch (member.key, member.value) {
                case ("type", .string): .init("type", .array([member.value, .string("null")]))
                case ("enum", .array(let words)): .init("enum", .array(words + [.null]))
                default: member
                }
            }
        )
    }
}
