/// The ids of a trace and of one of its spans, with flags, as in W3C Trace Context (www.w3.org/TR/trace-context).
///
/// The headers `traceparent` and `tracestate` contain these values.
package struct TraceParent: Sendable, Hashable {
    /// The id of the trace: 32 digits `0-9 a-f`, not all of them 0.
    package let traceID: String
    /// The id of the span: 16 digits `0-9 a-f`, not all of them 0.
    package let spanID: String
    /// Whether the spans of the trace are recorded: the flag `sampled` of `traceparent`.
    package let isSampled: Bool
    /// The value of the header `tracestate`, in which each tracing system keeps data of its own; nil if it is absent or
    /// invalid.
    package let state: String?

    package init(traceID: String, spanID: String, isSampled: Bool, state: String? = nil) {
        self.traceID = traceID
        self.spanID = spanID
        self.isSampled = isSampled
        self.state = state
    }

    /// Parses the headers; nil if `traceparent` is invalid.
    ///
    /// The caller then begins a new trace.
    ///
    /// - Parameters:
    ///   - text: A text such as `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01`, possibly with additions of a
    ///     later version.
    ///   - state: The value of `tracestate`. Commas join the values of several headers.
    package init?(_ text: String, state: String? = nil) {
        let bytes = Array(text.utf8)
        guard bytes.count >= 55, bytes.count <= 512, [2, 35, 52].allSatisfy({ bytes[$0] == Self.dash }),
            let version = Self.digits(bytes[0..<2]), version != "ff",
            let traceID = Self.digits(bytes[3..<35]), traceID.utf8.contains(where: { $0 != Self.zero }),
            let spanID = Self.digits(bytes[36..<52]), spanID.utf8.contains(where: { $0 != Self.zero }),
            let flags = Self.digits(bytes[53..<55]), let bits = UInt8(flags, radix: 16)
        else { return nil }
        // Version 00 ends here. A later version may continue after another dash.
        guard bytes.count == 55 || (version != "00" && bytes[55] == Self.dash) else { return nil }
        self.init(
            traceID: traceID,
            spanID: spanID,
            isSampled: bits & 1 == 1,
            state: state.flatMap { TraceState.isOne($0) ? $0 : nil }
        )
    }

    private static let dash = UInt8(ascii: "-")
    private static let zero = UInt8(ascii: "0")

    private static func digits(_ bytes: ArraySlice<UInt8>) -> String? {
        let isDigits = bytes.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        return isDigits ? String(decoding: bytes, as: UTF8.self) : nil
    }
}

/// Checks the header `tracestate` (W3C Trace Context, tracestate).
///
/// Its value has up to 32 members `key=value`, and may have empty members.
enum TraceState {
    /// The number of bytes in a `tracestate` value that every tracing system must be able to pass on.
    private static let maxBytes = 512
    private static let maxMembers = 32

    static func isOne(_ text: String) -> Bool {
        guard (1...maxBytes).contains(text.utf8.count) else { return false }
        let members = text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
            .map { $0.drop(while: isSpace) }
            .map { $0.prefix($0.reversed().drop(while: isSpace).count) }
            .filter { !$0.isEmpty }
        guard !members.isEmpty, members.count <= maxMembers else { return false }
        var keys: Set<[UInt8]> = []
        for member in members {
            guard let equals = member.firstIndex(of: UInt8(ascii: "=")) else { return false }
            let key = Array(member[..<equals])
            guard isKey(key), isValue(member[member.index(after: equals)...]), keys.insert(key).inserted else {
                return false
            }
        }
        return true
    }

    /// Whether the bytes are a key of the form `key` or `tenant@system`.
    private static func isKey(_ key: [UInt8]) -> Bool {
        let parts = key.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        switch parts.count {
        case 1: return key.count <= 256 && key.first.map(isLowercase) == true && key.allSatisfy(isKeyByte)
        case 2:
            let (tenant, system) = (parts[0], parts[1])
            return (1...241).contains(tenant.count) && tenant.allSatisfy(isKeyByte)
                && tenant.first.map { isLowercase($0) || isDigit($0) } == true
                && (1...14).contains(system.count) && system.allSatisfy(isKeyByte)
                && system.first.map(isLowercase) == true
        default: return false
        }
    }

    private static func isValue(_ value: some Collection<UInt8>) -> Bool {
        value.count <= 256 && !value.isEmpty
            && value.allSatisfy { (0x20...0x7E).contains($0) && $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "=") }
    }

    private static func isKeyByte(_ byte: UInt8) -> Bool {
        isLowercase(byte) || isDigit(byte) || "_-*/".utf8.contains(byte)
    }

    private static func isLowercase(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) }
    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
