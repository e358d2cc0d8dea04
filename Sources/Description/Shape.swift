package import Encodings

/// The type of a configurable value, for everything that does not handle the Swift value: schemas, forms, texts.
package indirect enum Shape: Sendable {
    case flag
    /// One of several words.
    case word([String])
    /// A whole number in a unit such as `days`.
    case integer(ClosedRange<Int64>, unit: String)
    /// A duration in whole seconds.
    case seconds(ClosedRange<Int64>)
    case text(TextRule)
    /// A list of at most `max` elements.
    ///
    /// A set contains no element twice.
    case list(Shape, max: Int, isSet: Bool)
    case object(ObjectShape)
    /// The value or `null`.
    case orNull(Shape)
    /// A secret.
    ///
    /// It can be written, and never be read.
    case secret

    /// The shape of a value that is not `null`.
    package var present: Shape { if case .orNull(let shape) = self { shape } else { self } }
}

/// A rule that a text must follow.
package struct TextRule: Sendable {
    /// The problem of a text that breaks the rule, as a sentence without a subject, such as `must look like v25.0`.
    package let text: String
    /// The keywords of JSON Schema that express the rule, as far as this is possible.
    package let schema: JSONObject
    /// A text that follows the rule.
    package let example: String?
    /// Returns the problem of a text, in the form of `text`; nil for a valid text.
    package let problem: @Sendable (String) -> String?

    package func allows(_ text: String) -> Bool { problem(text) == nil }

    /// Creates a rule that has a different problem for each kind of violation.
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
    ///   - pattern: The rule as a regular expression for the whole text (ECMA-262), for JSON Schema.
    ///   - maxBytes: The maximum number of bytes, for JSON Schema; nil if the pattern bounds the length.
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

/// The members of a configurable object, without their values.
package struct ObjectShape: Sendable {
    package let sections: [Section]
    /// The rules that involve several members, as elements of JSON Schema's `allOf`.
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
    /// Parses a part of a JSON Schema from the source code of this service.
    package init(schema text: String) {
        self = (try? JSONParser.parse(text, limits: .document)) ?? .object([:])
    }
}
