/// The only JSON parser of the service.
///
/// The parser follows RFC 8259 without leniency: UTF-8 without byte order mark, no trailing comma or text, no duplicate
/// keys, no NUL, no lone surrogates. In the same pass it checks ``JSONLimits`` (decision D5). There is only one parser,
/// since two parsers that read one body differently can be attacked (T-53).
package struct JSONParser {
    private let bytes: [UInt8]
    private let limits: JSONLimits
    private var position = 0
    private var members = 0
    /// The wider limits that ``JSONLimits`` has for some values, while the parser reads such a value; otherwise nil.
    private var inside: JSONLimits.Inside?
    private var membersInside = 0

    /// Parses a whole text.
    ///
    /// - Throws: `JSONError` with the violated rule and the position.
    package static func parse(_ bytes: [UInt8], limits: JSONLimits) throws(JSONError) -> JSONValue {
        guard bytes.count <= limits.bytes else { throw JSONError(rule: .tooLarge, offset: limits.bytes) }
        do throws(JSONError) { return try whole(bytes, limits: limits) } catch { throw error.placed(in: bytes) }
    }

    private static func whole(_ bytes: [UInt8], limits: JSONLimits) throws(JSONError) -> JSONValue {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { throw JSONError(rule: .byteOrderMark, offset: 0) }
        var parser = JSONParser(bytes: bytes, limits: limits)
        parser.skipWhitespace()
        let value = try parser.value(depth: 0)
        parser.skipWhitespace()
        guard parser.position == bytes.count else { throw parser.error(.trailingText) }
        return value
    }

    /// Parses a JSON text in a string, by the same rules as a JSON text in bytes.
    package static func parse(_ text: String, limits: JSONLimits) throws(JSONError) -> JSONValue {
        guard text.utf8.count <= limits.bytes else { throw JSONError(rule: .tooLarge, offset: limits.bytes) }
        return try parse(Array(text.utf8), limits: limits)
    }

    private init(bytes: [UInt8], limits: JSONLimits) {
        self.bytes = bytes
        self.limits = limits
    }

    // MARK: Values

    private mutating func value(depth: Int) throws(JSONError) -> JSONValue {
        switch peek() {
        case UInt8(ascii: "{"): return .object(try object(depth: depth + 1))
        case UInt8(ascii: "["): return .array(try array(depth: depth + 1))
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        case UInt8(ascii: "-"), .some(UInt8(ascii: "0")...UInt8(ascii: "9")): return .number(try number())
        default: throw error(.syntax)
        }
    }

    private mutating func object(depth: Int) throws(JSONError) -> JSONObject {
        guard depth <= limits.depth else { throw error(.tooDeep) }
        position += 1
        var found: [JSONObject.Member] = []
        var seen = SeenKeys()
        let hasWiderBounds = depth == limits.inside?.depth
        if hasWiderBounds { membersInside = 0 }
        skipWhitespace()
        if take(UInt8(ascii: "}")) { return JSONObject() }
        while true {
            try countMember()
            let start = position
            guard peek() == UInt8(ascii: "\"") else { throw error(.syntax) }
            let key = try string(isKey: true)
            guard seen.insert(key, among: found) else { throw JSONError(rule: .duplicateKey, offset: start) }
            skipWhitespace()
            guard take(UInt8(ascii: ":")) else { throw error(.syntax) }
            skipWhitespace()
            if hasWiderBounds { inside = limits.inside(key) }
            found.append(JSONObject.Member(key, try value(depth: depth)))
            if hasWiderBounds { inside = nil }
            skipWhitespace()
            if take(UInt8(ascii: "}")) { return JSONObject(found) }
            guard take(UInt8(ascii: ",")) else { throw error(.syntax) }
            skipWhitespace()
        }
    }

    private mutating func array(depth: Int) throws(JSONError) -> [JSONValue] {
        guard depth <= limits.depth else { throw error(.tooDeep) }
        position += 1
        var elements: [JSONValue] = []
        skipWhitespace()
        if take(UInt8(ascii: "]")) { return elements }
        while true {
            try countMember()
            elements.append(try value(depth: depth))
            skipWhitespace()
            if take(UInt8(ascii: "]")) { return elements }
            guard take(UInt8(ascii: ",")) else { throw error(.syntax) }
            skipWhitespace()
        }
    }

    private mutating func countMember() throws(JSONError) {
        if let inside {
            membersInside += 1
            guard membersInside <= inside.members else { throw error(.tooManyMembers) }
        } else {
            members += 1
            guard members <= limits.members else { throw error(.tooManyMembers) }
        }
    }

    private mutating func literal(_ text: StaticString, _ value: JSONValue) throws(JSONError) -> JSONValue {
        for offset in 0..<text.utf8CodeUnitCount {
            guard take(text.utf8Start[offset]) else { throw error(.syntax) }
        }
        return value
    }

    // MARK: Numbers

    private mutating func number() throws(JSONError) -> JSONNumber {
        let start = position
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { try digits() }
        if take(UInt8(ascii: ".")) { try digits() }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try digits()
        }
        guard position - start <= JSONNumber.maxBytes else { throw JSONError(rule: .numberTooLong, offset: start) }
        let number = JSONNumber(checkedLiteral: String(decoding: bytes[start..<position], as: UTF8.self))
        guard number.isInRange else { throw JSONError(rule: .numberOutOfRange, offset: start) }
        return number
    }

    private mutating func digits() throws(JSONError) {
        let start = position
        while let byte = peek(), byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { position += 1 }
        guard position > start else { throw error(.syntax) }
    }

    // MARK: Strings

    private mutating func string(isKey: Bool = false) throws(JSONError) -> String {
        position += 1
        let start = position
        var end = start
        while end < bytes.count, bytes[end] >= 0x20, bytes[end] != UInt8(ascii: "\""), bytes[end] != UInt8(ascii: "\\")
        {
            end += 1
        }
        position = end
        switch peek() {
        case UInt8(ascii: "\""):
            defer { position += 1 }
            if isKey { try checkKey(bytes[start..<position], at: start) }
            return try text(bytes[start..<position], at: start)
        case UInt8(ascii: "\\"):
            return try escapedString(from: start, isKey: isKey)
        case 0x00: throw error(.nulCharacter)
        default: throw error(.syntax)
        }
    }

    /// Reads the rest of a string from its first escape on.
    ///
    /// The string began at `start`.
    private mutating func escapedString(from start: Int, isKey: Bool) throws(JSONError) -> String {
        var decoded = Array(bytes[start..<position])
        while let byte = peek() {
            switch byte {
            case UInt8(ascii: "\""):
                defer { position += 1 }
                if isKey { try checkKey(decoded[...], at: start) }
                return try text(decoded[...], at: start)
            case UInt8(ascii: "\\"):
                position += 1
                try appendEscape(to: &decoded)
            case 0x00: throw error(.nulCharacter)
            case 0x01..<0x20: throw error(.syntax)
            default:
                decoded.append(byte)
                position += 1
            }
        }
        throw error(.syntax)
    }

    private mutating func appendEscape(to decoded: inout [UInt8]) throws(JSONError) {
        guard let byte = peek() else { throw error(.syntax) }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): decoded.append(byte)
        case UInt8(ascii: "b"): decoded.append(0x08)
        case UInt8(ascii: "f"): decoded.append(0x0C)
        case UInt8(ascii: "n"): decoded.append(0x0A)
        case UInt8(ascii: "r"): decoded.append(0x0D)
        case UInt8(ascii: "t"): decoded.append(0x09)
        case UInt8(ascii: "u"):
            decoded.append(contentsOf: UTF8.encode(try escapedScalar()) ?? UTF8.encodedReplacementCharacter)
        default: throw error(.syntax)
        }
    }

    /// Reads the rest of an escape after `\u`, and the second escape of a surrogate pair.
    ///
    /// Returns the scalar.
    private mutating func escapedScalar() throws(JSONError) -> Unicode.Scalar {
        let first = try hexQuad()
        guard first != 0 else { return try unusable(.nulCharacter) }
        if let scalar = Unicode.Scalar(first) { return scalar }
        let behindFirst = position
        guard first < 0xDC00, take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else {
            position = behindFirst
            return try unusable(.loneSurrogate)
        }
        let second = try hexQuad()
        guard (0xDC00..<0xE000).contains(second),
            let scalar = Unicode.Scalar(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))
        else {
            // The second escape is then read again, as an escape of its own.
            if limits.readsUnusableEscapes { position = behindFirst }
            return try unusable(.loneSurrogate)
        }
        return scalar
    }

    /// Returns NUL in place of an escaped character that strings must not contain.
    ///
    /// - Throws: `JSONError` with the rule, unless the limits allow such escapes.
    private func unusable(_ rule: JSONError.Rule) throws(JSONError) -> Unicode.Scalar {
        guard limits.readsUnusableEscapes || limits.readsEscapedNUL && rule == .nulCharacter else { throw error(rule) }
        return "\0"
    }

    private mutating func hexQuad() throws(JSONError) -> UInt32 {
        var result: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = peek().flatMap(Hexadecimal.value(of:)) else { throw error(.syntax) }
            result = result << 4 | UInt32(digit)
            position += 1
        }
        return result
    }

    private func checkKey(_ key: ArraySlice<UInt8>, at start: Int) throws(JSONError) {
        guard key.count <= inside?.keyBytes ?? limits.keyBytes else {
            throw JSONError(rule: .keyTooLong, offset: start)
        }
        guard inside != nil || !limits.asciiKeys || key.allSatisfy({ $0 < 0x80 }) else {
            throw JSONError(rule: .keyNotASCII, offset: start)
        }
    }

    private func text(_ slice: ArraySlice<UInt8>, at start: Int) throws(JSONError) -> String {
        guard let text = String(validating: slice, as: UTF8.self) else {
            throw JSONError(rule: .invalidUTF8, offset: start)
        }
        return text
    }

    // MARK: Bytes

    private func peek() -> UInt8? {
        position < bytes.count ? bytes[position] : nil
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard peek() == byte else { return false }
        position += 1
        return true
    }

    private mutating func skipWhitespace() {
        while let byte = peek(), byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private func error(_ rule: JSONError.Rule) -> JSONError {
        JSONError(rule: rule, offset: position)
    }
}

extension JSONLimits {
    /// Returns the wider limits for the value of the member `key`; nil if the limits of the whole text apply.
    fileprivate func inside(_ key: String) -> Inside? {
        guard let inside, inside.member?.hasSameBytes(as: key) ?? true else { return nil }
        return inside
    }
}

/// The keys of one JSON object that the parser has read so far, to find duplicates.
///
/// A few keys are compared one by one; more keys are hashed as bytes.
private struct SeenKeys {
    private var hashed: Set<[UInt8]> = []
    private static let few = 32

    /// Adds a key, and returns whether it is new.
    mutating func insert(_ key: String, among members: [JSONObject.Member]) -> Bool {
        if members.count < Self.few {
            return !members.contains { $0.key.hasSameBytes(as: key) }
        }
        if hashed.isEmpty { hashed = Set(members.map { Array($0.key.utf8) }) }
        return hashed.insert(Array(key.utf8)).inserted
    }
}
