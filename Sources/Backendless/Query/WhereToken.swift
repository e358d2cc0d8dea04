import Encodings

/// A token of a where clause, with the offset of its first byte.
struct WhereToken: Equatable {
    enum Kind: Equatable {
        /// A name or a keyword without quotes.
        case word(String)
        /// A name in backquotes.
        case name(String)
        /// The content of a text in single quotes.
        ///
        /// A doubled quote in the text is one quote in the content.
        case text(String)
        /// Digits with an optional sign, fraction and exponent, as they were written.
        case number(String)
        /// `(`, `)`, `,`, `=`, `!=`, `<>`, `<`, `<=`, `>`, `>=`.
        case symbol(String)
        case end
    }

    let kind: Kind
    let offset: Int
}

/// An error in a where clause, with its byte offset.
struct WhereProblem: Error, Equatable {
    let text: String
    let offset: Int

    init(_ text: String, at offset: Int) {
        self.text = text
        self.offset = offset
    }
}

/// Splits a where clause into tokens.
///
/// The scanner works on bytes. Comparisons of characters would be slow in a text with many combining marks.
struct WhereScanner {
    private let bytes: [UInt8]
    private var position = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    /// Returns all tokens of a text.
    ///
    /// The last one is `end`.
    static func tokens(of text: String) throws(WhereProblem) -> [WhereToken] {
        var scanner = WhereScanner(text)
        var tokens: [WhereToken] = []
        repeat { tokens.append(try scanner.next()) } while tokens.last?.kind != .end
        return tokens
    }

    private mutating func next() throws(WhereProblem) -> WhereToken {
        while let byte = peek, byte.isOne(of: " \t\r\n") { position += 1 }
        let start = position
        guard let first = peek else { return WhereToken(kind: .end, offset: start) }
        if first.isASCIILetter || first == UInt8(ascii: "_") {
            while let byte = peek, byte.isASCIIAlphanumeric || byte == UInt8(ascii: "_") { position += 1 }
            return WhereToken(kind: .word(text(from: start)), offset: start)
        }
        switch first {
        case UInt8(ascii: "'"): return WhereToken(kind: .text(try quoted(by: first)), offset: start)
        case UInt8(ascii: "`"): return WhereToken(kind: .name(try quoted(by: first)), offset: start)
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
            return WhereToken(kind: .number(try number()), offset: start)
        default: return WhereToken(kind: .symbol(try symbol()), offset: start)
        }
    }

    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    private func text(from start: Int) -> String { String(decoding: bytes[start..<position], as: UTF8.self) }

    private mutating func quoted(by quote: UInt8) throws(WhereProblem) -> String {
        let start = position
        position += 1
        var content: [UInt8] = []
        while let byte = peek {
            position += 1
            guard byte == quote else {
                guard byte != 0 else { throw WhereProblem("a text cannot contain the character NUL", at: position - 1) }
                content.append(byte)
                continue
            }
            guard peek == quote else { return String(decoding: content, as: UTF8.self) }
            content.append(quote)
            position += 1
        }
        throw WhereProblem("a closing quote is missing", at: start)
    }

    private mutating func digits() -> Int {
        let start = position
        while let byte = peek, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
        return position - start
    }

    private mutating func number() throws(WhereProblem) -> String {
        let start = position
        if let sign = peek, sign.isOne(of: "+-") {
            position += 1
            if sign == UInt8(ascii: "-"), peek == UInt8(ascii: ">") {
                throw WhereProblem("members of JSON values are not supported", at: start)
            }
        }
        var count = digits()
        if peek == UInt8(ascii: ".") {
            position += 1
            count += digits()
        }
        guard count > 0 else {
            if bytes[start] == UInt8(ascii: "."), let next = peek, next.isASCIILetter {
                throw WhereProblem("properties of related objects are not supported", at: start)
            }
            throw WhereProblem("a number, name, text or sign is expected", at: start)
        }
        if let exponent = peek, exponent.isOne(of: "eE") {
            position += 1
            if let sign = peek, sign.isOne(of: "+-") { position += 1 }
            guard digits() > 0 else { throw WhereProblem("this number has no digits in its exponent", at: start) }
        }
        if let next = peek, next.isASCIILetter || next == UInt8(ascii: "_") {
            throw WhereProblem("a number cannot continue with letters; write texts in single quotes", at: start)
        }
        return text(from: start)
    }

    private mutating func symbol() throws(WhereProblem) -> String {
        let start = position
        position += 1
        switch bytes[start] {
        case UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: ","), UInt8(ascii: "="): break
        case UInt8(ascii: "<"): if let next = peek, next.isOne(of: "=>") { position += 1 }
        case UInt8(ascii: ">"): if peek == UInt8(ascii: "=") { position += 1 }
        case UInt8(ascii: "!") where peek == UInt8(ascii: "="): position += 1
        case UInt8(ascii: "\""):
            throw WhereProblem("write texts in single quotes, and names in backquotes or without quotes", at: start)
        default: throw WhereProblem("this character is not expected here", at: start)
        }
        return text(from: start)
    }
}
