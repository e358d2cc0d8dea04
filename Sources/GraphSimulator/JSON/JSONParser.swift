extension JSON {
    /// Reads one JSON text.
    /// - Throws: ``GraphSimulator/DataError`` naming line and column, also for a member named twice and for nesting
    ///   beyond 64 levels.
    public init(parsing text: some Collection<UInt8>) throws(GraphSimulator.DataError) {
        var parser = JSONParser(bytes: Array(text))
        self = try parser.document()
    }
}

/// A strict RFC 8259 reader for the data file and the control API.
private struct JSONParser {
    private static let maximumDepth = 64

    private let bytes: [UInt8]
    private var position = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    mutating func document() throws(GraphSimulator.DataError) -> JSON {
        let value = try value(depth: 0)
        skipSpace()
        guard position == bytes.count else { throw failure("expected the end of the text") }
        return value
    }

    private mutating func value(depth: Int) throws(GraphSimulator.DataError) -> JSON {
        guard depth < Self.maximumDepth else { throw failure("nested too deeply") }
        skipSpace()
        switch peek {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case let byte? where byte == UInt8(ascii: "-") || (0x30...0x39).contains(byte): return try number()
        default: throw failure("expected a value")
        }
    }

    private mutating func object(depth: Int) throws(GraphSimulator.DataError) -> JSON {
        position += 1
        var members: [JSON.Member] = []
        skipSpace()
        if take(UInt8(ascii: "}")) { return .object(members) }
        repeat {
            skipSpace()
            guard peek == UInt8(ascii: "\"") else { throw failure("expected a member name in quotes") }
            let name = try string()
            if members.contains(where: { $0.name.utf8.elementsEqual(name.utf8) }) {
                throw failure("the member \"\(name)\" appears twice")
            }
            skipSpace()
            guard take(UInt8(ascii: ":")) else { throw failure("expected \":\"") }
            members.append(JSON.Member(name, try value(depth: depth + 1)))
            skipSpace()
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "}")) else { throw failure("expected \",\" or \"}\"") }
        return .object(members)
    }

    private mutating func array(depth: Int) throws(GraphSimulator.DataError) -> JSON {
        position += 1
        var elements: [JSON] = []
        skipSpace()
        if take(UInt8(ascii: "]")) { return .array(elements) }
        repeat {
            elements.append(try value(depth: depth + 1))
            skipSpace()
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "]")) else { throw failure("expected \",\" or \"]\"") }
        return .array(elements)
    }

    private mutating func word(_ word: StaticString, _ value: JSON) throws(GraphSimulator.DataError) -> JSON {
        for expected in word.withUTF8Buffer(Array.init) {
            guard take(expected) else { throw failure("expected a value") }
        }
        return value
    }

    private mutating func number() throws(GraphSimulator.DataError) -> JSON {
        let start = position
        _ = take(UInt8(ascii: "-"))
        let leading = peek
        try digits()
        if leading == UInt8(ascii: "0"), position - start > (bytes[start] == UInt8(ascii: "-") ? 2 : 1) {
            throw failure("a number may not begin with 0")
        }
        var isInteger = true
        if take(UInt8(ascii: ".")) {
            isInteger = false
            try digits()
        }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            isInteger = false
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try digits()
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if isInteger, let number = Int(text) { return .integer(number) }
        guard let number = Double(text), number.isFinite else { throw failure("the number is out of range") }
        return .double(number)
    }

    private mutating func digits() throws(GraphSimulator.DataError) {
        let start = position
        while let byte = peek, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
        guard position > start else { throw failure("expected a digit") }
    }

    private mutating func string() throws(GraphSimulator.DataError) -> String {
        position += 1
        var text: [UInt8] = []
        while let byte = peek {
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let string = String(validating: text, as: UTF8.self) else {
                    throw failure("the string is not UTF-8")
                }
                return string
            case UInt8(ascii: "\\"): try escape(into: &text)
            case ..<0x20: throw failure("a control character must be escaped")
            default: text.append(byte)
            }
        }
        throw failure("the string does not end")
    }

    private mutating func escape(into text: inout [UInt8]) throws(GraphSimulator.DataError) {
        guard let byte = peek else { throw failure("the string does not end") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            var scalar = try codeUnit()
            if (0xD800...0xDBFF).contains(scalar) {
                guard take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else { throw failure("a surrogate is alone") }
                let low = try codeUnit()
                guard (0xDC00...0xDFFF).contains(low) else { throw failure("a surrogate is alone") }
                scalar = 0x10000 + (scalar - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(scalar) else { throw failure("a surrogate is alone") }
            text.append(contentsOf: Character(scalar).utf8)
        default: throw failure("unknown escape")
        }
    }

    private mutating func codeUnit() throws(GraphSimulator.DataError) -> UInt32 {
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = peek, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw failure("expected four hexadecimal digits")
            }
            position += 1
            unit = unit << 4 | UInt32(digit)
        }
        return unit
    }

    private var peek: UInt8? {
        position < bytes.count ? bytes[position] : nil
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard peek == byte else { return false }
        position += 1
        return true
    }

    private mutating func skipSpace() {
        while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private func failure(_ reason: String) -> GraphSimulator.DataError {
        let before = bytes[..<min(position, bytes.count)]
        let line = before.count { $0 == 0x0A } + 1
        let column = before.count - (before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0) + 1
        return GraphSimulator.DataError(path: "line \(line), column \(column)", reason: reason)
    }
}
