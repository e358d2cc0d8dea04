import Encodings

extension ObjectShape {
    /// The fields as a Markdown table with the name, the values, the default and the meaning of each field.
    package var table: String {
        let rows = leaves.map { leaf in
            let name = leaf.path.joined(separator: ".")
            let meaning = leaf.field.meaning.replacing("|", with: "\\|")
            return "| `\(name)` | \(leaf.field.shape.form) | \(leaf.field.defaultText) | \(meaning) |\n"
        }
        return "| name | value | default | meaning |\n|---|---|---|---|\n" + rows.joined()
    }
}

extension FieldDescription {
    /// The field's default as Markdown text.
    package var defaultText: String {
        guard let defaultValue else { return "required" }
        if case .seconds = shape, let seconds = defaultValue.integer { return DurationText.text(of: seconds) }
        return switch defaultValue {
        case .string(let text): "`\(text)`"
        case .array(let elements) where elements.isEmpty: "none"
        case .array(let elements): elements.map { "`\($0.string ?? $0.text)`" }.joined(separator: ", ")
        case .null: "none"
        default: "`\(defaultValue.text)`"
        }
    }
}
