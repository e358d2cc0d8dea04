/// An import statement of a source, in any of its forms.
struct ImportStatement: Equatable {
    /// The module, without the submodule or declaration after it.
    let module: String
    /// The names of the attributes, such as `testable` and `_exported`.
    let attributes: [String]
    let line: Int

    private static let kinds = [
        "typealias", "struct", "class", "enum", "protocol", "let", "var", "func", "actor", "macro",
    ]
    private static let accessLevels = ["public", "package", "internal", "fileprivate", "private", "open"]

    /// Returns the imports of a source, in their order.
    ///
    /// `import` is a keyword: elsewhere it is only a member after a point or a label in a list.
    static func all(in text: SwiftText) -> [ImportStatement] {
        let tokens = text.tokens
        return tokens.indices.compactMap { index in
            guard tokens[index].isWord("import"), !isInsideExpression(index, of: tokens) else { return nil }
            var name = index + 1
            if name + 1 < tokens.count, kinds.contains(tokens[name].text), isName(tokens[name + 1]) { name += 1 }
            guard name < tokens.count, isName(tokens[name]) else { return nil }
            return ImportStatement(
                module: tokens[name].text,
                attributes: attributes(before: index, in: tokens),
                line: tokens[index].line
            )
        }
    }

    private static func isInsideExpression(_ index: Int, of tokens: [SwiftText.Token]) -> Bool {
        index > 0 && [".", "(", ","].contains { tokens[index - 1].isSymbol($0) }
    }

    private static func isName(_ token: SwiftText.Token) -> Bool {
        token.kind == .word || token.kind == .quotedWord
    }

    /// Walks back over access levels and attributes: `@testable`, `@_spi(Name)`.
    private static func attributes(before index: Int, in tokens: [SwiftText.Token]) -> [String] {
        var attributes: [String] = []
        var position = index - 1
        while position >= 0 {
            if tokens[position].kind == .word, accessLevels.contains(tokens[position].text) {
                position -= 1
                continue
            }
            var name = position
            if tokens[name].isSymbol(")") {
                while name > 0, !tokens[name].isSymbol("(") { name -= 1 }
                name -= 1
            }
            guard name > 0, tokens[name].kind == .word, tokens[name - 1].isSymbol("@") else { break }
            attributes.insert(tokens[name].text, at: 0)
            position = name - 2
        }
        return attributes
    }
}
