/// The tokens and the comments of a Swift source, as far as the checks of this target need them.
///
/// Words inside comments and literals are not code; code inside an interpolation is. Regex literals are read as
/// operators.
struct SwiftText {
    struct Token: Equatable {
        enum Kind {
            /// A keyword, an identifier or a number.
            case word
            /// An identifier between backticks, which is never a keyword.
            case quotedWord
            /// Any other character.
            case symbol
            /// The text of a string literal, without its delimiters and interpolations.
            case literal
        }

        let kind: Kind
        let text: String
        let line: Int
        /// Whether the token directly follows the one before.
        let isGlued: Bool

        func isWord(_ word: String) -> Bool { kind == .word && text == word }
        func isSymbol(_ symbol: String) -> Bool { kind == .symbol && text == symbol }
    }

    /// A run of comments separated only by white space and line ends, without slashes and stars.
    struct Comment {
        var lines: [String]
        let line: Int
    }

    private(set) var tokens: [Token] = []
    private(set) var comments: [Comment] = []

    private let bytes: [UInt8]
    private var position = 0
    private var line = 1
    /// Whether the position is directly after a token.
    private var isBehindToken = false
    private var isBehindComment = false

    init(_ text: String) {
        bytes = Array(text.utf8)
        readCode(endsAtParenthesis: false)
    }

    // MARK: Code

    private mutating func readCode(endsAtParenthesis: Bool) {
        var depth = 0
        while let byte = peek() {
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"):
                advance(1)
                isBehindToken = false
            case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "/"):
                readLineComment()
            case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "*"):
                readBlockComment()
            case UInt8(ascii: "\""):
                readLiteral(hashes: 0)
            case UInt8(ascii: "#") where hashesBeforeQuote() > 0:
                readLiteral(hashes: hashesBeforeQuote())
            case UInt8(ascii: "`"):
                readQuotedWord()
            case _ where Self.isWordByte(byte):
                readWord()
            default:
                if endsAtParenthesis, byte == UInt8(ascii: ")"), depth == 0 { return }
                if byte == UInt8(ascii: "(") { depth += 1 }
                if byte == UInt8(ascii: ")") { depth -= 1 }
                add(.symbol, [byte], line: line)
                advance(1)
            }
        }
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
            true
        default:
            false
        }
    }

    private mutating func readWord() {
        let start = position
        while let byte = peek(), Self.isWordByte(byte) { advance(1) }
        add(.word, bytes[start..<position], line: line)
    }

    private mutating func readQuotedWord() {
        advance(1)
        let start = position
        while let byte = peek(), byte != UInt8(ascii: "`"), byte != UInt8(ascii: "\n") { advance(1) }
        add(.quotedWord, bytes[start..<position], line: line)
        advance(1)
    }

    // MARK: Comments

    private mutating func readLineComment() {
        let start = position
        while let byte = peek(), byte != UInt8(ascii: "\n") { advance(1) }
        add(
            comment: String(decoding: bytes[start..<position].drop { $0 == UInt8(ascii: "/") }, as: UTF8.self),
            line: line
        )
    }

    private mutating func readBlockComment() {
        let start = position + 2
        let first = line
        var depth = 0
        repeat {
            switch (peek(), peek(1)) {
            case (UInt8(ascii: "/"), UInt8(ascii: "*")):
                depth += 1
                advance(2)
            case (UInt8(ascii: "*"), UInt8(ascii: "/")):
                depth -= 1
                advance(2)
            default:
                advance(1)
            }
        } while depth > 0 && position < bytes.count
        let end = max(start, position - 2)
        for (offset, text) in String(decoding: bytes[start..<end], as: UTF8.self).split(
            separator: "\n",
            omittingEmptySubsequences: false
        ).enumerated() {
            add(comment: String(text.drop { $0 == "*" || $0 == " " }), line: first + offset)
        }
    }

    private mutating func add(comment text: String, line: Int) {
        if isBehindComment, let last = comments.indices.last {
            comments[last].lines.append(text)
        } else {
            comments.append(Comment(lines: [text], line: line))
        }
        isBehindToken = false
        isBehindComment = true
    }

    // MARK: Literals

    /// Returns the number of `#` at the position if a quote follows them, else 0.
    private func hashesBeforeQuote() -> Int {
        var count = 0
        while peek(count) == UInt8(ascii: "#") { count += 1 }
        return peek(count) == UInt8(ascii: "\"") ? count : 0
    }

    private mutating func readLiteral(hashes: Int) {
        let first = line
        advance(hashes)
        let quotes = peek(1) == UInt8(ascii: "\"") && peek(2) == UInt8(ascii: "\"") ? 3 : 1
        advance(quotes)
        let end =
            Array(repeating: UInt8(ascii: "\""), count: quotes) + Array(repeating: UInt8(ascii: "#"), count: hashes)
        let escape = [UInt8(ascii: "\\")] + Array(repeating: UInt8(ascii: "#"), count: hashes)
        var content: [UInt8] = []
        while let byte = peek(), !stands(end) {
            // A single-line literal ends at the end of its line, so that a missing quote does not swallow the file.
            if quotes == 1, byte == UInt8(ascii: "\n") { break }
            guard stands(escape) else {
                content.append(byte)
                advance(1)
                continue
            }
            advance(escape.count)
            if peek() == UInt8(ascii: "(") {
                advance(1)
                readCode(endsAtParenthesis: true)
            } else {
                content += escape + (peek().map { [$0] } ?? [])
            }
            advance(1)
        }
        if stands(end) { advance(end.count) }
        add(.literal, content, line: first)
    }

    private func stands(_ expected: [UInt8]) -> Bool {
        bytes[position...].starts(with: expected)
    }

    // MARK: Steps

    private func peek(_ distance: Int = 0) -> UInt8? {
        position + distance < bytes.count ? bytes[position + distance] : nil
    }

    private mutating func advance(_ count: Int) {
        let end = min(position + count, bytes.count)
        line += bytes[position..<end].count { $0 == UInt8(ascii: "\n") }
        position = end
    }

    private mutating func add(_ kind: Token.Kind, _ text: some Sequence<UInt8>, line: Int) {
        tokens.append(
            Token(kind: kind, text: String(decoding: Array(text), as: UTF8.self), line: line, isGlued: isBehindToken)
        )
        isBehindToken = true
        isBehindComment = false
    }
}
