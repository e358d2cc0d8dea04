import Vocabulary

/// JSON as tests read and write it; the parser is the strict one of the product, which takes no duplicate keys.
enum JSON {
    /// The value of a text, nil when it is not JSON.
    static func value(_ text: String) -> JSONValue? { try? JSONParser.parse(text, limits: .stored) }

    /// The object of a text, nil when it is not one.
    static func object(_ text: String) -> JSONObject? { value(text)?.object }

    /// A text as JSON, with its quotes.
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
