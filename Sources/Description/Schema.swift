package import Encodings

/// The schema of a JSON value (JSON Schema, draft 2020-12).
///
/// An object may have no members other than the described ones, unless its schema is made `open`.
package struct Schema: Sendable {
    /// A type of JSON values, such as `string`.
    package enum Kind: String, Sendable {
        case string, integer, number, boolean, object, array
    }

    /// A member of an object.
    package struct Property: Sendable {
        package let name: String
        package let schema: Schema
        /// Whether every object that the schema describes must have the member.
        package let isRequired: Bool

        package init(_ name: String, _ schema: Schema, isRequired: Bool) {
            self.name = name
            self.schema = schema
            self.isRequired = isRequired
        }
    }

    /// Which members an object may have in addition to its described properties.
    package indirect enum Rest: Sendable {
        /// Any members. The JSON form of the schema says nothing about them.
        case unsaid
        case anything
        case nothing
        case values(Schema)
    }

    /// A schema with a name, so that other schemas can refer to it.
    package final class Definition: Sendable {
        package let name: String
        package let schema: Schema

        init(_ name: String, _ schema: Schema) {
            self.name = name
            self.schema = schema
        }
    }

    /// The JSON type of the value; nil for a value of any type.
    package internal(set) var kind: Kind?
    /// Whether the value may also be `null`.
    var isNullable = false
    package internal(set) var description: String?
    package internal(set) var properties: [Property] = []
    package internal(set) var rest = Rest.unsaid
    /// The schema of an array's elements, in a list that has only this schema; empty if the elements may be any values.
    package internal(set) var elements: [Schema] = []
    /// Alternative schemas; a value must fit at least one of them.
    package internal(set) var alternatives: [Schema] = []
    /// A value must fit all of these schemas.
    var all: [Schema] = []
    /// The only allowed values; empty if the schema does not list the allowed values.
    package internal(set) var values: [JSONValue] = []
    /// Further keywords of JSON Schema, with their values.
    package internal(set) var rules: [JSONObject.Member] = []
    /// Whether the value is a secret.
    ///
    /// Commands do not accept a secret as an argument, and print a newly generated secret alone.
    package private(set) var isSecret = false
    /// Whether the value is a time in milliseconds since 1970.
    ///
    /// Such a value is shown as date and time.
    package private(set) var isMoment = false
    /// The definition to which this schema refers; nil if it is not a reference.
    ///
    /// A schema that is a reference has no other keyword, except a description.
    package internal(set) var definition: Definition?

    /// Creates a schema of values of the given JSON type; without an argument, of values of any type.
    package init(_ kind: Kind? = nil) {
        self.kind = kind
    }

    // MARK: Kinds

    package static let any = Schema()
    package static let string = Schema(.string)
    package static let integer = Schema(.integer)
    /// The schema of a whole number of 64 bits.
    package static let long = integer.format("int64")
    package static let number = Schema(.number)
    package static let boolean = Schema(.boolean)
    package static let uuid = string.format("uuid")
    package static let moment: Schema = {
        var schema = long.described("Milliseconds since 1970 UTC.")
        schema.isMoment = true
        return schema
    }()
    /// The schema of an object with any members.
    package static let anyObject = Schema(.object)

    /// Returns the schema of an object that has the required members and may have the optional ones.
    package static func object(
        _ required: KeyValuePairs<String, Schema> = [:],
        optional: KeyValuePairs<String, Schema> = [:]
    ) -> Schema {
        var schema = Schema(.object)
        schema.rest = .nothing
        return schema.adding(required, optional: optional)
    }

    /// Returns the schema of an object with any member names, whose values all have the given schema.
    package static func dictionary(of values: Schema) -> Schema {
        var schema = Schema(.object)
        schema.rest = .values(values)
        return schema
    }

    package static func array(of elements: Schema) -> Schema {
        var schema = Schema(.array)
        schema.elements = [elements]
        return schema
    }

    package static let strings = array(of: .string)

    /// Returns the schema of a text that is one of the given texts.
    package static func oneOf(_ values: String...) -> Schema { oneOf(values) }

    /// Returns the schema of a text that is one of the given texts.
    package static func oneOf(_ values: [String]) -> Schema { string.limited(to: values.map { .string($0) }) }

    /// Returns the schema of a text that must be the raw value of a case of an enumeration.
    package static func cases<Value>(of type: Value.Type) -> Schema
    where Value: RawRepresentable<String> & CaseIterable {
        oneOf(type.allCases.map(\.rawValue))
    }

    /// Returns the schema of values that fit at least one of the given schemas.
    package static func either(_ alternatives: [Schema]) -> Schema {
        var schema = Schema()
        schema.alternatives = alternatives
        return schema
    }

    /// Returns the schema of values that fit all of the given schemas.
    package static func all(_ all: [Schema]) -> Schema {
        var schema = Schema()
        schema.all = all
        return schema
    }

    // MARK: Rules

    package func described(_ description: String) -> Schema {
        var schema = self
        schema.description = description
        return schema
    }

    /// Returns a copy of the schema with a further keyword of JSON Schema.
    package func rule(_ key: String, _ value: JSONValue) -> Schema {
        var schema = self
        schema.rules.append(JSONObject.Member(key, value))
        return schema
    }

    package var secret: Schema {
        var schema = self
        schema.isSecret = true
        return schema
    }

    /// Returns a copy of the schema that allows only the given values.
    package func limited(to values: [JSONValue]) -> Schema {
        var schema = self
        schema.values = values.filter { !$0.isNull }
        return values.contains(where: \.isNull) ? schema.nullable : schema
    }

    package func format(_ format: String) -> Schema { rule("format", .string(format)) }
    package func pattern(_ pattern: String) -> Schema { rule("pattern", .string(pattern)) }
    package func const(_ text: String) -> Schema { rule("const", .string(text)) }
    package func byDefault(_ value: JSONValue) -> Schema { rule("default", value) }

    package func examples(_ texts: String...) -> Schema {
        rule("examples", .array(texts.map { .string($0) }))
    }

    package func range(_ bounds: ClosedRange<Int64>) -> Schema {
        from(bounds.lowerBound).rule("maximum", .integer(bounds.upperBound))
    }

    package func from(_ least: Int64) -> Schema { rule("minimum", .integer(least)) }

    /// Returns a copy of the schema that limits the number of characters of a text.
    package func length(_ bounds: ClosedRange<Int64>) -> Schema {
        rule("minLength", .integer(bounds.lowerBound)).length(upTo: bounds.upperBound)
    }

    package func length(upTo max: Int64) -> Schema { rule("maxLength", .integer(max)) }
    package var notEmpty: Schema { rule("minLength", .integer(1)) }

    /// Returns a copy of the schema that limits the number of elements of an array.
    package func count(upTo max: Int64) -> Schema { rule("maxItems", .integer(max)) }
    package var unique: Schema { rule("uniqueItems", .bool(true)) }

    /// A copy of the schema that allows members besides the described ones.
    package var open: Schema {
        var schema = self
        schema.rest = .anything
        return schema
    }

    /// Returns a copy of the schema that allows members besides the described ones if their values fit the given
    /// schema.
    package func open(to values: Schema) -> Schema {
        var schema = self
        schema.rest = .values(values)
        return schema
    }

    /// Returns a copy of the schema in which the names of all members must fit the given schema.
    package func keyed(by names: Schema) -> Schema {
        rule("propertyNames", names.json(referringTo: OpenAPI.schemas))
    }

    /// The schema of the same values, and also of `null`.
    package var nullable: Schema {
        guard !takesNull else { return self }
        var schema = self
        guard definition == nil, alternatives.isEmpty else {
            schema = Schema()
            schema.alternatives = (definition == nil ? alternatives : [self]) + [.null]
            schema.description = definition == nil ? description : nil
            return schema
        }
        schema.isNullable = true
        return schema
    }

    /// The schema of `null` alone.
    package static let null: Schema = {
        var schema = Schema()
        schema.isNullable = true
        return schema
    }()

    private var takesNull: Bool {
        let schema = resolved
        return schema.isNullable || schema.alternatives.contains(where: \.takesNull)
    }

    // MARK: Names

    /// Gives this schema a name, and returns a reference to it.
    package func named(_ name: String) -> Schema {
        var schema = Schema()
        schema.definition = Definition(name, self)
        return schema
    }

    /// The schema to which a reference refers; the schema itself if it is not a reference.
    package var resolved: Schema { definition?.schema ?? self }

    /// The schemas that this schema contains or refers to directly.
    package var parts: [Schema] {
        var parts = definition.map { [$0.schema] } ?? []
        parts += properties.map(\.schema)
        parts += elements + alternatives + all
        if case .values(let values) = rest { parts.append(values) }
        return parts
    }
}

extension Schema {
    // MARK: Derived schemas

    /// Returns a copy of the object's schema with further members; a further member replaces an existing one of the
    /// same name.
    package func adding(
        _ required: KeyValuePairs<String, Schema> = [:],
        optional: KeyValuePairs<String, Schema> = [:]
    ) -> Schema {
        adding(
            required.map { Property($0.key, $0.value, isRequired: true) }
                + optional.map { Property($0.key, $0.value, isRequired: false) }
        )
    }

    /// Returns a copy of the object's schema with further members; a further member replaces an existing one of the
    /// same name.
    package func adding(_ members: [Property]) -> Schema {
        var schema = resolved
        for member in members {
            if let index = schema.properties.firstIndex(where: { $0.name == member.name }) {
                schema.properties[index] = member
            } else {
                schema.properties.append(member)
            }
        }
        return schema
    }

    package func without(_ names: String...) -> Schema {
        var schema = resolved
        schema.properties.removeAll { names.contains($0.name) }
        return schema
    }

    package func mapProperties(_ change: (Property) -> Property) -> Schema {
        var schema = resolved
        schema.properties = schema.properties.map(change)
        return schema
    }

    package func mapElements(_ change: (Schema) -> Schema) -> Schema {
        var schema = resolved
        schema.elements = schema.elements.map(change)
        return schema
    }

    /// Returns a copy of the object's schema in which the named members are optional and all others are required.
    package func whole(but names: String...) -> Schema {
        mapProperties { Property($0.name, $0.schema, isRequired: !names.contains($0.name)) }
    }

    /// The schema of the member with this name, for use in another schema.
    package subscript(name: String) -> Schema {
        resolved.properties.first { $0.name == name }?.schema ?? .any
    }

    /// The schema of a JSON Merge Patch (RFC 7396) for the object that this schema describes.
    ///
    /// In the patch, every member may be absent. An optional member may be `null`, which restores its default. An array
    /// replaces the whole stored array.
    package var patch: Schema {
        mapProperties { property in
            let value = property.schema.resolved
            let isMerged = value.kind == .object && !value.properties.isEmpty
            let part = isMerged ? value.patch : property.schema
            return Property(property.name, property.isRequired ? part : part.nullable, isRequired: false)
        }
    }
}

extension Schema {
    // MARK: As JSON

    /// Returns the schema as JSON.
    ///
    /// Each reference to another schema begins with `path`.
    package func json(referringTo path: String) -> JSONValue {
        var object = JSONObject()
        if let definition {
            object.append("$ref", .string(path + definition.name))
        } else if let type {
            object.append("type", type)
        }
        if let description { object.append("description", .string(description)) }
        let required = properties.filter(\.isRequired).map { JSONValue.string($0.name) }
        if !required.isEmpty { object.append("required", .array(required)) }
        if !properties.isEmpty {
            let members = properties.map { JSONObject.Member($0.name, $0.schema.json(referringTo: path)) }
            object.append("properties", .object(JSONObject(members)))
        }
        switch rest {
        case .unsaid: break
        case .anything: object.append("additionalProperties", .bool(true))
        case .nothing: object.append("additionalProperties", .bool(false))
        case .values(let schema): object.append("additionalProperties", schema.json(referringTo: path))
        }
        if let elements = elements.first { object.append("items", elements.json(referringTo: path)) }
        if !alternatives.isEmpty {
            object.append("anyOf", .array(alternatives.map { $0.json(referringTo: path) }))
        }
        if !all.isEmpty { object.append("allOf", .array(all.map { $0.json(referringTo: path) })) }
        if !values.isEmpty { object.append("enum", .array(values + (isNullable ? [.null] : []))) }
        for rule in rules { object.append(rule.key, rule.value) }
        return .object(object)
    }

    private var type: JSONValue? {
        guard let kind = kind.map({ JSONValue.string($0.rawValue) }) else {
            return isNullable ? .string("null") : nil
        }
        return isNullable ? .array([kind, .string("null")]) : kind
    }
}
