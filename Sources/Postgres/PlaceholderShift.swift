/// Numbers the placeholders of a text on, so that it can follow another one.
///
/// A `$1` counts only where PostgreSQL's own lexer sees a parameter: not in strings, quoted or plain identifiers,
/// dollar-quoted bodies and comments (PostgreSQL documentation, "Lexical Structure"). The text is a statement of ours;
/// `standard_conforming_strings` is taken to be on.
enum PlaceholderShift {
    static func shift(_ sql: String, by offset: Int) -> String {
        guard offset > 0, sql.utf8.contains(UInt8(ascii: "$")) else { return sql }
        var lexer = Lexer(bytes: Array(sql.utf8), offset: offset)
        lexer.run()
        return String(decoding: lexer.output, as: UTF8.self)
    }
}

private struct Lexer {
    let bytes: [UInt8]
    let offset: Int
    var output: [UInt8] = []
    var index = 0

    init(bytes: [UInt8], offset: Int) {
        self.bytes = bytes
        self.offset = offset
        output.reserveCapacity(bytes.count + 8)
    }

    private func byte(_ distance: Int = 0) -> UInt8? {
        index + distance < bytes.count ? bytes[index + distance] : nil
    }

    private mutating func copy(_ count: Int = 1) {
        let end = min(index + count, bytes.count)
        output += bytes[index..<end]
        index = end
    }

    mutating func run() {
        while let current = byte() {
            switch current {
            case UInt8(ascii: "'"): copyQuoted(by: current, backslashEscapes: false)
            case UInt8(ascii: "\""): copyQuoted(by: current, backslashEscapes: false)
            case UInt8(ascii: "-") where byte(1) == UInt8(ascii: "-"): copyLineComment()
            case UInt8(ascii: "/") where byte(1) == UInt8(ascii: "*"): copyBlockComment()
            case UInt8(ascii: "$"): copyDollar()
            case _ where Self.startsIdentifier(current): copyWord()
            default: copy()
            }
        }
    }

    private static func startsIdentifier(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"), 0x80...:
            true
        default:
            false
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    /// An identifier or keyword, which may hold `$`; an `E` right before a quote makes backslashes escape in it.
    private mutating func copyWord() {
        let start = index
        while let current = byte(),
            Self.startsIdentifier(current) || Self.isDigit(current) || current == UInt8(ascii: "$")
        {
            copy()
        }
        let isEscapePrefix = index == start + 1 && bytes[start] | 0x20 == UInt8(ascii: "e")
        if isEscapePrefix, byte() == UInt8(ascii: "'") {
            copyQuoted(by: UInt8(ascii: "'"), backslashEscapes: true)
        }
    }

    /// Up to the closing quote; a doubled quote ends one run and starts the next, which comes to the same.
    private mutating func copyQuoted(by quote: UInt8, backslashEscapes: Bool) {
        copy()
        while let current = byte() {
            if backslashEscapes, current == UInt8(ascii: "\\") {
                copy(2)
            } else if backslashEscapes, current == quote, byte(1) == quote {
                copy(2)
            } else {
                copy()
                if current == quote { return }
            }
        }
    }

    private mutating func copyLineComment() {
        while let current = byte() {
            copy()
            if current == UInt8(ascii: "\n") { return }
        }
    }

    private mutating func copyBlockComment() {
        var depth = 0
        while byte() != nil {
            if byte() == UInt8(ascii: "/"), byte(1) == UInt8(ascii: "*") {
                depth += 1
                copy(2)
            } else if byte() == UInt8(ascii: "*"), byte(1) == UInt8(ascii: "/") {
                depth -= 1
                copy(2)
                if depth == 0 { return }
            } else {
                copy()
            }
        }
    }

    /// `$12` is a placeholder, `$tag$ … $tag$` a quoted body, any other dollar itself.
    private mutating func copyDollar() {
        if let digit = byte(1), Self.isDigit(digit) {
            copy()
            let start = index
            while let digit = byte(), Self.isDigit(digit) { index += 1 }
            if let number = Int(String(decoding: bytes[start..<index], as: UTF8.self)) {
                let (shifted, overflow) = number.addingReportingOverflow(offset)
                output += String(overflow ? number : shifted).utf8
            } else {
                output += bytes[start..<index]
            }
            return
        }
        var length = 1
        while let current = byte(length), Self.startsIdentifier(current) || (length > 1 && Self.isDigit(current)) {
            length += 1
        }
        guard byte(length) == UInt8(ascii: "$") else {
            copy()
            return
        }
        let tag = bytes[index...(index + length)]
        copy(tag.count)
        while byte() != nil, !bytes[index...].starts(with: tag) { copy() }
        copy(tag.count)
    }
}
