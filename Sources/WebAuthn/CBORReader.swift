/// The error for bytes that are not CBOR in the canonical form of CTAP2, or not the item that the caller expected.
struct CBORError: Error {}

/// Reads CBOR (RFC 8949), item by item; the caller says which kind of item must follow.
///
/// The form is CTAP2's canonical one (docs/protocols/webauthn.md §4): definite lengths, each number in the fewest
/// bytes, no tags. A false length cannot make the reader allocate memory: the length of a byte string must not exceed
/// the number of remaining bytes, and a map or an array must not have more members than these bytes can hold.
struct CBORReader {
    private var rest: ArraySlice<UInt8>

    /// The maximum nesting of items that `skip` accepts.
    ///
    /// The statements of a compound attestation, with certificates, need five levels.
    static let depth = 6

    private enum Kind: UInt8 {
        case unsigned, negative, bytes, text, array, map, tag, simple
    }

    init(_ bytes: ArraySlice<UInt8>) {
        rest = bytes
    }

    /// The bytes that have not been read.
    var remainder: ArraySlice<UInt8> { rest }

    var isAtEnd: Bool { rest.isEmpty }

    /// Reads an integer of at most 63 bits and its sign.
    mutating func integer() throws(CBORError) -> Int64 {
        let (kind, argument) = try head()
        guard let value = Int64(exactly: argument) else { throw CBORError() }
        switch kind {
        case .unsigned: return value
        case .negative: return -1 - value
        default: throw CBORError()
        }
    }

    mutating func bytes() throws(CBORError) -> ArraySlice<UInt8> {
        try string(of: .bytes)
    }

    mutating func text() throws(CBORError) -> String {
        guard let text = String(validating: try string(of: .text), as: UTF8.self) else { throw CBORError() }
        return text
    }

    /// Reads the head of a map, and returns the number of its members.
    ///
    /// The members follow the head. Each is a key and a value.
    mutating func map() throws(CBORError) -> Int {
        let (kind, argument) = try head()
        guard kind == .map else { throw CBORError() }
        return try count(argument, each: 2)
    }

    /// Whether the next item is an integer; nothing is read.
    var isAtInteger: Bool {
        guard let first = rest.first else { return false }
        return first >> 5 <= Kind.negative.rawValue
    }

    /// Whether the next item is a map; nothing is read.
    var isAtMap: Bool {
        guard let first = rest.first else { return false }
        return first >> 5 == Kind.map.rawValue
    }

    /// Reads an item of any kind and discards it.
    mutating func skip(depth: Int = Self.depth) throws(CBORError) {
        let (kind, argument) = try head()
        switch kind {
        case .unsigned, .negative, .simple: return
        case .bytes: _ = try take(argument)
        case .text: guard String(validating: try take(argument), as: UTF8.self) != nil else { throw CBORError() }
        case .array: try skip(items: try count(argument, each: 1), depth: depth)
        case .map: try skip(items: 2 * (try count(argument, each: 2)), depth: depth)
        case .tag: throw CBORError()
        }
    }

    private mutating func skip(items: Int, depth: Int) throws(CBORError) {
        guard depth > 0 else { throw CBORError() }
        for _ in 0..<items { try skip(depth: depth - 1) }
    }

    private mutating func string(of expected: Kind) throws(CBORError) -> ArraySlice<UInt8> {
        let (kind, argument) = try head()
        guard kind == expected else { throw CBORError() }
        return try take(argument)
    }

    private mutating func take(_ length: UInt64) throws(CBORError) -> ArraySlice<UInt8> {
        guard length <= UInt64(rest.count) else { throw CBORError() }
        let taken = rest.prefix(Int(length))
        rest = rest.dropFirst(Int(length))
        return taken
    }

    /// Returns the number of items that an array announces, or of pairs that a map announces, as `Int`.
    ///
    /// - Throws: `CBORError` if so many items, of at least `bytes` bytes each, do not fit into the remaining bytes.
    private func count(_ argument: UInt64, each bytes: Int) throws(CBORError) -> Int {
        guard argument <= UInt64(rest.count / bytes) else { throw CBORError() }
        return Int(argument)
    }

    /// Reads the beginning of an item: its kind and its argument, which is a number (RFC 8949 §3).
    private mutating func head() throws(CBORError) -> (kind: Kind, argument: UInt64) {
        guard let first = rest.popFirst(), let kind = Kind(rawValue: first >> 5) else { throw CBORError() }
        let information = first & 0x1F
        guard kind != .simple else { return (kind, try simpleValue(information)) }
        switch information {
        case 0...23: return (kind, UInt64(information))
        case 24...27:
            let size = 1 << (information - 24)
            let argument = try take(UInt64(size)).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            // A number that fits half as many bytes has a shorter form.
            let least = size == 1 ? 24 : UInt64(1) << (size * 4)
            guard argument >= least else { throw CBORError() }
            return (kind, argument)
        default: throw CBORError()
        }
    }

    /// Reads `false`, `true`, `null`, `undefined`, or a floating point number of 2, 4 or 8 bytes (RFC 8949 §3.3).
    private mutating func simpleValue(_ information: UInt8) throws(CBORError) -> UInt64 {
        switch information {
        case 20...23: return UInt64(information)
        case 25...27: return try take(1 << UInt64(information - 24)).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        default: throw CBORError()
        }
    }
}
