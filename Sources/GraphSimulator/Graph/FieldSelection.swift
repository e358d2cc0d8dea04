import Encodings

/// An entry of Graph's `fields` parameter: `picture.width(200).as(face){url}`.
struct FieldSelection: Sendable, Equatable {
    var name: String
    var alias: String?
    /// The modifiers, such as `width`, `height`, `type` and `limit`, with the text between their parentheses.
    var modifiers: [String: String] = [:]
    var fields: [FieldSelection]?

    /// The name of the value in the response: the alias, or else the name of the field.
    var key: String { alias ?? name }

    func number(_ modifier: String) -> Int? {
        modifiers[modifier].flatMap { Int($0) }
    }

    /// Parses the value of the parameter `fields`.
    ///
    /// An empty value selects no fields.
    ///
    /// - Throws: Graph's syntax error. The offset in its message counts the value's characters without spaces.
    static func parse(_ text: String) throws(GraphError) -> [FieldSelection] {
        var parser = FieldParser(text)
        return try parser.parse()
    }
}

private struct FieldParser {
    private static let maximumDepth = 8

    private let text: [UInt8]
    private var position = 0

    init(_ text: String) {
        self.text = text.utf8.filter { $0 != 0x20 }
    }

    mutating func parse() throws(GraphError) -> [FieldSelection] {
        if text.isEmpty { return [] }
        let fields = try list(depth: 0)
        if position < text.count { throw expected("Expected end of string") }
        return fields
    }

    private mutating func list(depth: Int) throws(GraphError) -> [FieldSelection] {
        guard depth < Self.maximumDepth else { throw failure("Too many levels of field expansion.") }
        var fields: [FieldSelection] = []
        repeat {
            let field = try field(depth: depth)
            if fields.contains(where: { $0.key.hasSameBytes(as: field.key) }) {
                throw failure("Field \(field.name) specified more than once. This is only possible before version 2.1")
            }
            fields.append(field)
        } while take(UInt8(ascii: ","))
        return fields
    }

    private mutating func field(depth: Int) throws(GraphError) -> FieldSelection {
        var field = FieldSelection(name: try name())
        while take(UInt8(ascii: ".")) {
            let modifier = try name()
            try expect(UInt8(ascii: "("))
            let argument = take(until: UInt8(ascii: ")"))
            try expect(UInt8(ascii: ")"))
            if modifier == "as" { field.alias = argument } else { field.modifiers[modifier] = argument }
        }
        if take(UInt8(ascii: "{")) {
            field.fields = try list(depth: depth + 1)
            try expect(UInt8(ascii: "}"))
        }
        return field
    }

    private mutating func name() throws(GraphError) -> String {
        let start = position
        while position < text.count, text[position].isASCIIAlphanumeric || text[position] == UInt8(ascii: "_") {
            position += 1
        }
        guard position > start else { throw failure("Expected name.") }
        return String(decoding: text[start..<position], as: UTF8.self)
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard position < text.count, text[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func take(until end: UInt8) -> String {
        let start = position
        while position < text.count, text[position] != end { position += 1 }
        return String(decoding: text[start..<position], as: UTF8.self)
    }

    private mutating func expect(_ byte: UInt8) throws(GraphError) {
        guard take(byte) else { throw expected("Expected \"\(Character(Unicode.Scalar(byte)))\"") }
    }

    private func expected(_ what: String) -> GraphError {
        guard position < text.count else { return failure("\(what) instead of end of string.") }
        let found = String(decoding: text[position...].prefix { $0 >= 0x80 }, as: UTF8.self)
        let character = found.isEmpty ? String(Character(Unicode.Scalar(text[position]))) : found
        return failure("\(what) instead of \"\(character)\".")
    }

    private func failure(_ problem: String) -> GraphError {
        .syntax(problem, at: position, of: String(decoding: text, as: UTF8.self))
    }
}
