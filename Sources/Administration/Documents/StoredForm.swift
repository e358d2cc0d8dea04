import Encodings

extension JSONValue {
    /// Returns whether PostgreSQL stores this value in the same form as the other one.
    ///
    /// PostgreSQL's type `jsonb` normalizes numbers and ignores the order of members.
    func isStored(as other: JSONValue) -> Bool {
        switch (self, other) {
        case (.number(let left), .number(let right)): return NumericText(left) == NumericText(right)
        case (.array(let left), .array(let right)):
            return left.count == right.count && zip(left, right).allSatisfy { $0.isStored(as: $1) }
        case (.object(let left), .object(let right)):
            return left.members.count == right.members.count
                && left.members.allSatisfy { member in right[member.key].map(member.value.isStored) ?? false }
        default: return self == other
        }
    }
}

/// A number in the form of PostgreSQL's `numeric`: `1e2` is `100`, `-0` is `0`, and `1.50` keeps both decimals.
private struct NumericText: Equatable {
    /// The digits of the number, without leading zeros.
    ///
    /// If the number has no decimals, trailing zeros are left out, too.
    private let digits: [UInt8]
    private let isNegative: Bool
    /// The number of decimals.
    ///
    /// A negative number counts the zeros that follow the digits: with -2, two zeros follow.
    private let scale: Int

    init(_ number: JSONNumber) {
        let literal = Array(number.literal.utf8)
        let mantissa = literal.prefix { $0 | 0x20 != UInt8(ascii: "e") }
        let exponent = Int(String(decoding: literal.dropFirst(mantissa.count + 1), as: UTF8.self)) ?? 0
        let point = mantissa.firstIndex(of: UInt8(ascii: "."))
        let decimals = point.map { mantissa.count - $0 - 1 } ?? 0
        var digits = Array(mantissa.filter(\.isASCIIDigit).drop { $0 == UInt8(ascii: "0") })
        var scale = decimals.subtractingReportingOverflow(exponent).partialValue
        while scale <= 0, digits.last == UInt8(ascii: "0") {
            digits.removeLast()
            scale -= 1
        }
        if digits.isEmpty { scale = max(scale, 0) }
        self.digits = digits
        self.scale = scale
        isNegative = literal.first == UInt8(ascii: "-") && !digits.isEmpty
    }
}
