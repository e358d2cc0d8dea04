/// A number with the text in which it was written.
///
/// An id with more digits than a Double can hold stays exact.
package struct JSONNumber: Sendable, Equatable {
    /// The text of the number, in the grammar of RFC 8259.
    package let literal: String

    /// Creates a number from a literal that the parser has checked.
    init(checkedLiteral: String) {
        literal = checkedLiteral
    }

    package init(_ value: Int64) {
        literal = String(value)
    }

    /// Creates a number; nil for NaN and infinities, which JSON cannot express.
    package init?(_ value: Double) {
        guard value.isFinite else { return nil }
        literal = value.description
    }

    /// The number as a 64-bit integer; nil if it does not fit, or is written with a fraction or an exponent.
    package var integer: Int64? { Int64(literal) }

    /// The nearest Double; nil if the number is outside the range of a Double.
    package var double: Double? {
        guard let value = Double(literal), value.isFinite else { return nil }
        return value
    }
}

// The size of a stored number. PostgreSQL stores a number of jsonb as a decimal, and returns all of its digits. So a
// number of eight bytes, `1e131071`, becomes 131,072 bytes when it is read.
extension JSONNumber {
    /// The maximum number of bytes in a number, as received and also when written without an exponent.
    ///
    /// A Double has up to 309 digits before the point and 324 after it, and in addition those of its mantissa.
    package static let maxBytes = 512

    /// Whether the number is in the range of a Double, and has at most `maxBytes` without an exponent.
    ///
    /// A nonzero number that a Double rounds to 0 is out of range.
    var isInRange: Bool {
        // Without an exponent, a text of at most 300 bytes is always in the range of a Double.
        guard literal.utf8.count > 300 || literal.utf8.contains(where: { $0 | 0x20 == UInt8(ascii: "e") }) else {
            return true
        }
        guard literal.utf8.count <= Self.maxBytes, let decimal = Decimal(literal), decimal.bytes <= Self.maxBytes,
            let double
        else { return false }
        return double != 0 || decimal.isZero
    }

    /// The size in bytes of the number without an exponent, as PostgreSQL writes it.
    var storedBytes: Int { Decimal(literal)?.bytes ?? literal.utf8.count }

    /// The number of digits before and after the point, after the exponent is applied.
    private struct Decimal {
        var isNegative = false
        /// The number of digits before the point, without leading zeros.
        var whole = 0
        /// The number of digits after the point.
        var places = 0
        var isZero = true

        var bytes: Int { (isNegative && !isZero ? 1 : 0) + max(whole, 1) + (places > 0 ? places + 1 : 0) }

        /// Counts the digits of a number.
        ///
        /// The initializer fails if the exponent is so large that the number cannot be in the range of a Double.
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
                        guard value < JSONNumber.maxBytes else { return nil }
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
            guard exponent ?? 0 <= JSONNumber.maxBytes else { return nil }
            let shift = hasNegativeExponent ? -(exponent ?? 0) : exponent ?? 0
            whole = isZero ? 1 : digits - fraction + shift - leadingZeros
            places = max(0, fraction - shift)
        }
    }
}
