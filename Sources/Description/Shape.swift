package import Encodings

/// The type of a configurable value, independent of the Swift type that stores it.
///
/// Schemas, forms and texts are made from shapes.
package indirect enum Shape: Sendable {
    case flag
    /// A text that is one of the given words.
    case word([String])
    /// A whole number in a unit such as `days`.
    case integer(ClosedRange<Int64>, unit: String)
    /// A duration in whole seconds.
    case seconds(ClosedRange<Int64>)
    case text(TextRule)
    /// A list of at most `max` elements; if `isSet` is true, no element occurs twice.
    case list(Shape, max: Int, isSet: Bool)
    case object(ObjectShape)
    /// A value of the inner shape, or `null`.
    case orNull(Shape)
    /// A secret, which an operator can set but never read.
    case secret

    /// The shape of a value that is not `null`.
    package var present: Shape { if case .orNull(let shape) = self { shape } else { self } }
}

/// A rule that a text must follow.
package struct TextRule: Sendable {
    /// The message about a text that breaks the rule.
    ///
    /// It begins with the verb, as in `must look like v25.0`.
    package let text: String
    /// The keywords of JSON Schema that express the rule, as far as JSON Schema can.
    package let schema: JSONObject
    /// An example of a text that follows the rule; nil if there is none.
    package let example: String?
    /// Returns the message about an invalid text; nil for a valid text.
    ///
    /// The message begins with the verb, as in `must look like v25.0`.
    package let problem: @Sendable (String) -> String?

    package func allows(_ text: String) -> Bool { problem(text) == nil }

    /// Creates a rule with a different message for each way to break it.
    package init(
        _ text: String,
        schema: JSONObject,
        example: String? = nil,
        problem: @escaping @Sendable (String) -> String?
    ) {
        (self.text, self.schema, self.example, self.problem) = (text, schema, example, problem)
    }

    /// Creates a rule that has one message for all ways to break it.
    ///
    /// - Parameters:
    ///   - text: The message about a text that breaks the rule.
    ///   - pattern: The rule as a regular expression for the whole text (ECMA-262), for JSON Schema.
    ///   - maxBytes: The maximum number of bytes, for JSON Schema; nil if the pattern limits the length.
    ///   - example: A text that follows the rule.
    ///   - isValid: Returns whether a text follows the rule, including its length.
    package init(
        _ text: String,
        pattern: String,
        maxBytes: Int64? = nil,
        example: String? = nil,
        isValid: @escaping @Sendable (String) -> Bool
    ) {
        var schema = JSONObject()
        if let maxBytes { schema.append("maxLength", .integer(maxBytes)) }
        schema.append("pattern", .string(pattern))
        self.init(text, schema: schema, example: example) { isValid($0) ? nil : text }
    }
}

/// Describes the members of a configurable object, but not their values.
package struct ObjectShape: Sendable {
    package let sections: [Section]
    /// The rules that involve several members, as elements of JSON Schema's `allOf`.
    package let rules: [JSONValue]

    /// A group of fields that the console and the documentation show together.
    package struct Section: Sendable {
        package let id: String
        package let title: String
        package let fields: [FieldDescription]
    }

    package init(sections: [Section] = [], rules: [JSONValue] = []) {
        (self.sections, self.rules) = (sections, rules)
    }

    /// Creates the shape of an object whose fields are not grouped in sections.
    package init(_ fields: [FieldDescription]) { self.init(sections: [Section(id: "", title: "", fields: fields)]) }

    /// The fields of all sections.
    package var fields: [FieldDescription] { sections.flatMap(\.fields) }
    package var names: [String] { fields.map(\.name) }
}

/// Describes a member of a configurable object, for humans and programs.
package struct FieldDescription: Sendable {
    /// The member's name in documents.
    package let name: String
    /// The displayed name, such as the label of an input.
    package let title: String
    /// The meaning of the value for operators, in whole sentences.
    package let meaning: String
    package let shape: Shape
    /// The value of an absent member; nil for a member that every document must have.
    package let defaultValue: JSONValue?
    /// Whether the value is a secret, which an operator can set but never read.
    package var isSecret: Bool { if case .secret = shape { true } else { false } }

    package init(name: String, title: String, meaning: String, shape: Shape, defaultValue: JSONValue? = nil) {
        (self.name, self.title, self.meaning, self.shape, self.defaultValue) = (
            name, title, meaning, shape, defaultValue
        )
    }
}

extension JSONValue {
    /// Parses a part of a JSON Schema that is a literal in the service's source code.
    package init(schema text: String) {
        self = (try? JSONParser.parse(text, limits: .document)) ?? .object([:])
    }
}
