import Encodings

extension Schema {
    /// Returns the shape by which a text that an operator typed is parsed as a value of this schema.
    ///
    /// An object or a list of objects is typed as JSON.
    ///
    /// - Parameter name: The member's name. A name that ends with `seconds` marks a duration.
    /// - Returns: The shape, without titles and without rules for texts.
    package func typed(as name: String) -> Shape {
        let schema = resolved
        if isSecret || schema.isSecret { return .secret }
        if let first = schema.alternatives.first { return first.typed(as: name) }
        if !schema.values.isEmpty { return .word(schema.values.compactMap(\.string)) }
        switch schema.kind {
        case .boolean: return .flag
        case .integer:
            let bounds = ["minimum", "maximum"].map { key in schema.rules.first { $0.key == key }?.value.integer }
            let range = (bounds[0] ?? .min)...(bounds[1] ?? .max)
            return name.lowercased().hasSuffix("seconds") ? .seconds(range) : .integer(range, unit: "")
        case .array:
            let max = schema.rules.first { $0.key == "maxItems" }?.value.integer
            return .list(elements(of: schema), max: max.map { Int($0) } ?? .max, isSet: false)
        case .object, .number: return .object(ObjectShape())
        case .string, nil: return .text(TextRule("", schema: [:]) { _ in nil })
        }
    }

    private func elements(of schema: Schema) -> Shape {
        schema.elements.first?.typed(as: "") ?? .object(ObjectShape())
    }
}
