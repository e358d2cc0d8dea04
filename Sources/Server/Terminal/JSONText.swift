import Vocabulary

extension JSONValue {
    /// The value as JSON text on one line.
    var line: String { TerminalText.escapedJSON(text) }

    /// The value as JSON text for people and version control, on lines.
    var indented: String { indented(\.line) }
}
