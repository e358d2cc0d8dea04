extension PropertyType {
    /// A value that somebody has typed, as JSON; an empty text is no value.
    ///
    /// Whether it fits the type is for whoever takes it to say.
    ///
    /// - Returns: Nil for what is no JSON where the type is.
    package func value(typed text: String) -> JSONValue? {
        guard !text.isEmpty else { return .null }
        switch self {
        case .json: return try? JSONParser.parse(text, limits: .document)
        case .boolean: return text == "true" ? .bool(true) : text == "false" ? .bool(false) : .string(text)
        case .int, .double: return (try? JSONParser.parse(text, limits: .document)) ?? .string(text)
        case .string, .text, .date, .dateTime: return .string(text)
        }
    }
}
