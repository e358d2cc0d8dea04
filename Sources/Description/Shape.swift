package import Encodings

/// The type of a configurable value, for all uses without a Swift value: schemas, forms, texts.
package indirect enum Shape: Sendable {
    case flag
    /// One of several words.
    case word([String])
    /// A whole number in a unit such as `days`.
    case integer(ClosedRange<Int64>, unit: String)
    /// A duration in whole seconds.
    case seconds(ClosedRange<Int64>)
    case text(TextRule)
    /// A list of at most `most` elements; a set has no element twice.
    case list(Shape, most: Int, isSet: Bool)
    case object(ObjectShape)
    /// The value or `null`.
    case orNull(Shape)
    /// A secret, which is written and never read back.
    case secret

    /// The shape of the value when it is not `null`.
    package var present: Shape { if case .orNull(let shape) = self { shape } else { self } }
}

/// A rule that a text must follow.
package struct TextRule: Sendable {
    /// The problem of a text that breaks the rule, a sentence without subject such as `must look like v25.0`.
    package let text: String
    /// The rule as keywords of JSON Schema, as far as JSON Schema can express it.
    package let schema: JSONObject
    /// A text that follows the rule.
    package let example: String?
    /// Returns the problem of a text, in the form of `text`; nil for a valid text.
    package let problem: @Sendable (String) -> String?

    package func allows(_ text: String) -> Bool { problem(text) == nil }

    /// Creates a rule with different problems for different violations.
    package init(
        _ text: String,
        schema: JSONObject,
        example: String? = nil,
        problem: @escaping @Sendable (String) -> String?
    ) {
        (self.text, self.schema, self.example, self.problem) = (text, schema, example, problem)
    }

    /// Creates a rule with a single problem.
    ///
    /// - Parameters:
    ///   - text: The problem of a text that breaks the rule.
    ///   - pattern: The rule as a regular expression over the whole text (ECMA-262), for JSON Schema.
    ///   - mostBytes: The length of the longest text, for JSON Schema; nil where the pattern bounds the length.
    ///   - example: A text that follows the rule.
    ///   - isValid: Returns whether a text follows the rule, including its length.
    package init(
        _ text: String,
        pattern: String,
        mostBytes: Int64? = nil,
        example: String? = nil,
        isValid: @escaping @Sendable (String) -> Bool
    ) {
        var schema = JSONObject()
        if let mostBytes { schema.append("maxLength", .integer(mostBytes)) }
        schema.append("pattern", .string(pattern))
        self.init(text, schema: schema, example: example) { isValid($0) ? nil : text }
    }
}

/// The shape of a configurable object, without its values.
package struct ObjectShape: Sendable {
    package let sections: [Section]
    /// The rules between members, as elements of JSON Schema's `allOf`.
    package let rules: [JSONValue]

    /// A group of fields that are shown together.
    package struct Section: Sendable {
        package let id: String
        package let title: String
        package let fields: [FieldDescription]
    }

    package init(sections: [Section] = [], rules: [JSONValue] = []) {
        (self.sections, self.rules) = (sections, rules)
    }

    /// Creates the shape of an object without sections.
    package init(_ fields: [FieldDescription]) { self.init(sections: [Section(id: "", title: "", fields: fields)]) }

    /// The fields of all sections.
    package var fields: [FieldDescription] { sections.flatMap(\.fields) }
    package var names: [String] { fields.map(\.name) }
}

/// The description of a configurable object's member, for humans and programs.
package struct FieldDescription: Sendable {
    /// The name in documents.
    package let name: String
    /// The displayed name, such as the label of an input.
    package let title: String
    /// What the value means, in whole sentences.
    package let meaning: String
    package let shape: Shape
    /// The value of an absent member; nil for a member that every document must have.
    package let defaultValue: JSONValue?

    package init(name: String, title: String, meaning: String, shape: Shape, defaultValue: JSONValue? = nil) {
        (self.name, self.title, self.meaning, self.shape, self.defaultValue) = (
            name, title, meaning, shape, defaultValue
        )
    }
}

extension JSONValue {
    /// Reads a part of a JSON Schema from the service's source code.
    package init(schema text: String) {
        self = (try? JSONParser.parse(text, limits: .document)) ?? .object([:])
    }
}
