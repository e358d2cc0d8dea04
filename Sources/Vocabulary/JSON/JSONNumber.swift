/// A number as it was written: ids with more digits than a Double holds stay exact.
package struct JSONNumber: Sendable, Equatable {
    /// The literal, ASCII, in the grammar of RFC 8259.
    package let literal: String

    /// Takes a literal that the parser has checked.
    init(checkedLiteral: String) {
        literal = checkedLiteral
    }

    /// An integer.
    package init(_ value: Int64) {
        literal = String(value)
    }

    /// A finite number; nil for NaN and infinities, which JSON cannot write.
    package init?(_ value: Double) {
        guard value.isFinite else { return nil }
        literal = value.description
    }

    /// The value if it is written without fraction and exponent and fits 64 bits.
    package var integer: Int64? { Int64(literal) }

    /// The nearest Double; nil when the number is beyond its range.
    package var double: Double? {
        guard let value = Double(literal), value.isFinite else { return nil }
        return value
    }
}

// What a number costs once it is stored. PostgreSQL keeps a number of jsonb as a decimal and writes all of its digits:
// nine bytes, `1e131071`, are 131,072 to whoever reads them again.
extension JSONNumber {
    /// Bytes of the longest number that is read, as it came and written out: a Double has up to 309 digits in front of
    /// the point and 324 places behind it, and those of its mantissa besides.
    package static let mostBytes = 512

    /// Whether a Double is near to the number, neither beyond all of them nor so small that they call it 0, and whether
    /// it is not longer than `mostBytes` when it is written out.
    var isInRange: Bool {
        // Without an exponent no number of fewer bytes than a Double has digits leaves its range.
        guard literal.utf8.count > 300 || literal.utf8.contains(where: { $0 | 0x20 == UInt8(ascii: "e") }) else {
            return true
        }
        guard literal.utf8.count <= Self.mostBytes, let decimal = Decimal(literal), decimal.bytes <= Self.mostBytes,
            let double
        else { return false }
        return double != 0 || decimal.isZero
    }

    /// Bytes of the number without an exponent, as PostgreSQL writes it.
    var storedBytes: Int { Decimal(literal)?.bytes ?? literal.utf8.count }

    /// Where the digits of a number are once its exponent has moved the point.
    private struct Decimal {
        var isNegative = false
        /// Digits in front of the point, zeros at the front not counted.
        var whole = 0
        /// Digits behind the point.
        var places = 0
        var isZero = true

        var bytes: Int { (isNegative && !isZero ? 1 : 0) + max(whole, 1) + (places > 0 ? places + 1 : 0) }

        /// Nil for an exponent that no number in range needs.
        init?(_ literal: String) {
            var digits = 0
            var leadingZeros = 0
            var fraction = 0
            var isFraction = false
            var exponent: Int?
            var hasNegativeExponent = false
            for byte in literal.utf8 {
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"):
                    let digit = Int(byte - UInt8(ascii: "0"))
                    if let value = exponent {
                        exponent = value * 10 + digit
                        guard value < JSONNumber.mostBytes else { return nil }
                        continue
                    }
                    digits += 1
                    if isFraction { fraction += 1 }
                    if digit != 0 { isZero = false }
                    if isZero { leadingZeros += 1 }
                case UInt8(ascii: "."): isFraction = true
                case UInt8(ascii: "e"), UInt8(ascii: "E"): exponent = 0
                case UInt8(ascii: "-"): if exponent == nil { isNegative = true } else { hasNegativeExponent = true }
                default: break
                }
            }
            guard exponent ?? 0 <= JSONNumber.mostBytes else { return nil }
            let shift = hasNegativeExponent ? -(exponent ?? 0) : exponent ?? 0
            whole = isZero ? 1 : digits - fraction + shift - leadingZeros
            places = max(0, fraction - shift)
        }
    }
}
