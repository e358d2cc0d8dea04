/// What the code says about the things that the documents list.
enum CodeFacts {
    /// A variable of the environment that the service reads.
    struct Variable: Equatable {
        let name: String
        /// As a document writes it; nil when there is none.
        let fallback: String?
    }

    /// The variables that a source with calls such as `milliseconds("login", default: 5000)` reads.
    ///
    /// A default that is a name, such as `GraphConfiguration.Default.baseURL`, is looked up in `constants` by its type
    /// and its last part, as `GraphConfiguration.baseURL`.
    static func variables(in source: SwiftText, constants: [String: String]) -> [Variable] {
        let readers = ["text", "address", "integer", "milliseconds", "boolean", "string", "upstream"]
        let tokens = source.tokens
        return tokens.indices.compactMap { index in
            guard tokens[index].kind == .word, readers.contains(tokens[index].text), index + 2 < tokens.count,
                tokens[index + 1].isSymbol("(")
            else { return nil }
            let key = tokens[index + 2].isWord("forKey") ? index + 4 : index + 2
            guard key < tokens.count, tokens[key].kind == .literal else { return nil }
            var parts = tokens[key].text.split(separator: ".").map { $0.uppercased() }
            if parts.first != "FEDERATION" { parts.insert("FEDERATION", at: 0) }
            if tokens[index].isWord("milliseconds") { parts.append("MILLISECONDS") }
            return Variable(name: parts.joined(separator: "_"), fallback: fallback(behind: key, in: tokens, constants))
        }
    }

    /// The value behind `, default:`, or behind `) ??`.
    private static func fallback(
        behind key: Int,
        in tokens: [SwiftText.Token],
        _ constants: [String: String]
    ) -> String? {
        let rest = tokens[(key + 1)...].prefix(8).map(\.text)
        guard rest.count == 8 else { return nil }
        let isArgument = rest[0] == "," && rest[1] == "default" && rest[2] == ":"
        let isOperator = rest[0] == ")" && rest[1] == "?" && rest[2] == "?"
        guard isArgument || isOperator else { return nil }
        let isName = rest[4] == "." && rest[5] == "Default" && rest[6] == "."
        return isName ? constants[rest[3] + "." + rest[7]] : rest[3].filter { $0 != "_" }
    }

    /// The values of `static let name = …` by the type and the name; those of a list have commas between them.
    static func constants(of type: String, in source: SwiftText) -> [String: String] {
        let tokens = source.tokens
        var constants: [String: String] = [:]
        for index in tokens.indices
        where tokens[index].isWord("let") && index > 0 && tokens[index - 1].isWord("static") && index + 3 < tokens.count
            && tokens[index + 2].isSymbol("=")
        {
            let values =
                tokens[index + 3].isSymbol("[")
                ? tokens[(index + 4)...].prefix { !$0.isSymbol("]") }.filter { $0.kind == .literal }
                : [tokens[index + 3]]
            constants[type + "." + tokens[index + 1].text] = values.map(\.text).joined(separator: ",")
        }
        return constants
    }

    /// The raw values of an enumeration of texts by the names of its cases.
    static func rawValues(in source: SwiftText) -> [String: String] {
        let tokens = source.tokens
        var values: [String: String] = [:]
        for index in tokens.indices
        where tokens[index].isWord("case") && index + 3 < tokens.count && tokens[index + 2].isSymbol("=") {
            values[tokens[index + 1].text] = tokens[index + 3].text
        }
        return values
    }

    /// Code and status of each case in a table of lines such as `case .one, .other: (8001, .badRequest)`.
    static func rows(in source: SwiftText) -> [String: (code: String, status: String)] {
        let tokens = source.tokens
        var rows: [String: (code: String, status: String)] = [:]
        for index in tokens.indices where tokens[index].isWord("case") {
            var names: [String] = []
            var position = index + 1
            while position + 1 < tokens.count, tokens[position].isSymbol(".") {
                names.append(tokens[position + 1].text)
                position += tokens[position + 2].isSymbol(",") ? 3 : 2
            }
            let rest = tokens[position...].prefix(6).map(\.text)
            guard rest.count == 6, rest[0] == ":", rest[1] == "(", rest[3] == ",", rest[4] == "." else { continue }
            for name in names { rows[name] = (rest[2], rest[5]) }
        }
        return rows
    }
}
