/// Facts of the code that the documents list.
enum CodeFacts {
    /// An environment variable that the service declares.
    struct Variable: Equatable {
        /// The enumeration that contains the declaration.
        let owner: String
        let name: String
        /// Whether the enumeration's list `all` has the variable.
        let isListed: Bool
    }

    /// Returns the variables that a source declares.
    ///
    /// A declaration is `static let name = Variable…`, in an enumeration that has the list `all`.
    static func variables(in source: SwiftText) -> [Variable] {
        let parts = source.tokens.split(omittingEmptySubsequences: false) { $0.isWord("enum") }
        return parts.dropFirst().flatMap { part -> [Variable] in
            let tokens = Array(part)
            let list = tokens.indices.first { $0 > 0 && tokens[$0].isWord("all") && tokens[$0 - 1].isWord("let") }
            let listed = list.map { tokens[$0...].map(\.text) } ?? []
            return tokens.indices.dropLast(3).compactMap { index in
                let name = tokens[index + 1].text
                guard tokens[index].isWord("let"), tokens[index + 2].isSymbol("="), tokens[index + 3].isWord("Variable")
                else { return nil }
                return Variable(owner: tokens[0].text, name: name, isListed: listed.contains(name))
            }
        }
    }

    /// Returns the enumerations of a source that have a list, `static let all`.
    static func lists(in source: SwiftText) -> [String] {
        source.tokens.split(omittingEmptySubsequences: false) { $0.isWord("enum") }.dropFirst().compactMap { part in
            let tokens = Array(part)
            let hasList = tokens.indices.dropLast(2).contains { index in
                tokens[index].isWord("static") && tokens[index + 1].isWord("let") && tokens[index + 2].isWord("all")
            }
            return hasList ? tokens.first?.text : nil
        }
    }

    /// Returns whether a source names a member, as `Owner.name`.
    static func names(_ owner: String, _ name: String, in source: SwiftText) -> Bool {
        let tokens = source.tokens
        return tokens.indices.dropLast(2).contains { index in
            tokens[index].isWord(owner) && tokens[index + 1].isSymbol(".") && tokens[index + 2].isWord(name)
        }
    }

    /// Returns the raw values of a string enumeration by the names of its cases.
    static func rawValues(in source: SwiftText) -> [String: String] {
        let tokens = source.tokens
        var values: [String: String] = [:]
        for index in tokens.indices
        where tokens[index].isWord("case") && index + 3 < tokens.count && tokens[index + 2].isSymbol("=") {
            values[tokens[index + 1].text] = tokens[index + 3].text
        }
        return values
    }

    /// Returns the code and status of each case in a table of lines such as `case .one, .other: (8001, .badRequest)`.
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
