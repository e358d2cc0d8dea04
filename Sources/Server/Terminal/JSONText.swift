import Encodings

extension JSONValue {
    /// The value as JSON text on one line, with characters escaped that are unsafe at a terminal.
    var line: String { TerminalText.escapedJSON(text) }

    /// The value as indented JSON text, for humans and version control.
    var indented: String { indented(\.line) }
}
