import Encodings

extension GraphSimulator {
    /// A JSON value that keeps the order of its members.
    ///
    /// In Graph's responses, this order is fixed. A Swift literal can stand for a value, such as `["id": "1",
    /// "age_range": ["min": 21]]`.
    public struct JSON: Sendable, Equatable {
        private(set) var value: JSONValue

        init(_ value: JSONValue) { self.value = value }
    }
}

typealias JSON = GraphSimulator.JSON

extension JSON {
    /// A member of a JSON object: its name and its value.
    typealias Member = (name: String, value: JSON)

    /// The limits of the parser.
    ///
    /// The parser also accepts the escape `\u0000` in strings, since a test may configure the simulator to send this
    /// character.
    private static let limits = {
        var limits = JSONLimits(bytes: 16 << 20, depth: 64, members: 1 << 20, keyBytes: 65_536, asciiKeys: false)
        limits.readsEscapedNUL = true
        return limits
    }()

    /// Parses a JSON text.
    ///
    /// - Throws: ``GraphSimulator/DataError`` with line and column. Duplicate members, and more than 64 levels of
    ///   nesting, are errors, too.
    public init(parsing text: some Collection<UInt8>) throws(GraphSimulator.DataError) {
        do {
            value = try JSONParser.parse(Array(text), limits: Self.limits)
        } catch {
            throw DataError(path: "", reason: "\(error)")
        }
    }

    /// The JSON value `null`.
    public static let null = GraphSimulator.JSON(.null)

    /// Makes an integer.
    public static func integer(_ value: Int) -> GraphSimulator.JSON { JSON(.integer(Int64(value))) }

    static func bool(_ value: Bool) -> JSON { JSON(.bool(value)) }

    static func strings(_ texts: [String]) -> JSON { JSON(.array(texts.map { .string($0) })) }

    static func object(_ members: [Member]) -> JSON {
        JSON(.object(JSONObject(members.map { JSONObject.Member($0.name, $0.value.value) })))
    }

    /// Makes a string.
    public static func string(_ text: String) -> GraphSimulator.JSON { JSON(.string(text)) }

    /// Makes an array.
    public static func array(_ elements: [GraphSimulator.JSON]) -> GraphSimulator.JSON {
        JSON(.array(elements.map(\.value)))
    }

    /// The first member with that name; `nil` if it is absent or if this value is not an object.
    ///
    /// Setting `nil` removes the member. Setting a new name appends a member. Setting a member of a value that is not
    /// an object turns the value into an object.
    public subscript(name: String) -> GraphSimulator.JSON? {
        get { value.object?[name].map { JSON($0) } }
        set {
            var members = value.object?.members ?? []
            let index = members.firstIndex { $0.key.hasSameBytes(as: name) }
            switch (index, newValue?.value) {
            case (let index?, let value?): members[index] = JSONObject.Member(name, value)
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append(JSONObject.Member(name, value))
            case (nil, nil): break
            }
            value = .object(JSONObject(members))
        }
    }

    /// The text, if this value is a string; otherwise `nil`.
    public var string: String? { value.string }

    /// The number, if this value is an integer; otherwise `nil`.
    public var integer: Int? { value.integer.map { Int($0) } }

    /// The boolean, if this value is one; otherwise `nil`.
    public var bool: Bool? { value.bool }

    /// The elements, if this value is an array; otherwise `nil`.
    public var array: [GraphSimulator.JSON]? { value.array?.map { JSON($0) } }

    /// The members in their order, if this value is an object; otherwise `nil`.
    public var members: [(name: String, value: GraphSimulator.JSON)]? {
        value.object?.members.map { ($0.key, JSON($0.value)) }
    }

    /// Returns this value after a JSON merge patch (RFC 7396).
    ///
    /// Objects are merged, `null` removes a member, and any other value replaces the existing one.
    func merging(_ patch: JSON) -> JSON { JSON(value.merging(patch: patch.value)) }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByFloatLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    /// Makes a string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Makes an integer.
    public init(integerLiteral value: Int) { self = .integer(value) }
    /// Makes a boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Makes a number with a fraction; `null` for a number that JSON cannot express.
    public init(floatLiteral value: Double) { self.init(JSONNumber(value).map { .number($0) } ?? .null) }
    /// Makes `null`.
    public init(nilLiteral: ()) { self = .null }
    /// Makes an array.
    public init(arrayLiteral elements: GraphSimulator.JSON...) { self = .array(elements) }
    /// Makes an object with its members in the written order.
    public init(dictionaryLiteral elements: (String, GraphSimulator.JSON)...) {
        self = .object(elements.map { ($0.0, $0.1) })
    }
}

// MARK: - Text in Facebook's form

extension JSON {
    /// This value as JSON text, written as Facebook writes JSON.
    ///
    /// The text has no spaces. `/`, `@`, `%` and `<` are escaped, and non-ASCII characters are `\uXXXX` in lower case.
    public var graphText: String { String(decoding: graphBytes, as: UTF8.self) }

    var graphBytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(512)
        Self.append(value, to: &bytes)
        return bytes
    }

    /// The JSON text with only the escapes that JSON requires.
    ///
    /// Responses of the simulator's control port have this form. In contrast, ``graphText`` has further escapes, as
    /// Facebook's responses do.
    var plainText: String { value.text }

    private static func append(_ value: JSONValue, to bytes: inout [UInt8]) {
        switch value {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .bool(let value): bytes.append(contentsOf: (value ? "true" : "false").utf8)
        case .number(let number): bytes.append(contentsOf: number.literal.utf8)
        case .string(let text): append(text, to: &bytes)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                append(element, to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let object):
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in object.members.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                append(member.key, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                append(member.value, to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    private static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for unit in text.utf16 {
            switch unit {
            case 0x22, 0x5C, 0x2F: bytes += [UInt8(ascii: "\\"), UInt8(unit)]
            case 0x08: bytes.append(contentsOf: "\\b".utf8)
            case 0x09: bytes.append(contentsOf: "\\t".utf8)
            case 0x0A: bytes.append(contentsOf: "\\n".utf8)
            case 0x0C: bytes.append(contentsOf: "\\f".utf8)
            case 0x0D: bytes.append(contentsOf: "\\r".utf8)
            // Facebook writes these three with upper-case digits.
            case 0x40: bytes.append(contentsOf: "\\u0040".utf8)
            case 0x25: bytes.append(contentsOf: "\\u0025".utf8)
            case 0x3C: bytes.append(contentsOf: "\\u003C".utf8)
            case 0x20..<0x80: bytes.append(UInt8(unit))
            default:
                bytes.append(contentsOf: "\\u".utf8)
                bytes.append(contentsOf: Hexadecimal.encode([UInt8(unit >> 8), UInt8(unit & 0xFF)]).utf8)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
