import Encodings

/// JSON for tests, with the product's strict parser, which refuses duplicate keys.
enum JSON {
    /// Parses a text; `nil` for invalid JSON.
    static func value(_ text: String) -> JSONValue? { try? JSONParser.parse(text, limits: .stored) }

    /// Parses an object; `nil` for anything else.
    static func object(_ text: String) -> JSONObject? { value(text)?.object }

    /// Returns a text as a JSON string, with quotes.
    static func quoted(_ text: String) -> String {
        var writer = JSONWriter()
        writer.string(text)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

extension JSONObject {
    /// The keys in their order.
    var keys: [String] { members.map(\.key) }
}
