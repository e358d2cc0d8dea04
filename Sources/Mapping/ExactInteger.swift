import Encodings

extension JSONNumber {
    /// The value if it is an integer of 64 bits, in any notation: `42`, `42.0`, `4.2e1`.
    ///
    /// It is computed from the decimal digits: a Double would turn 9007199254740993 into its neighbour.
    var exactInteger: Int64? {
        if let integer { return integer }
        var isNegative = false
        var digits: [UInt8] = []
        var scale = 0
        var isFraction = false
        var exponent: Substring.UTF8View?
        var rest = literal.utf8[...]
        scan: while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "-"): isNegative = true
            case UInt8(ascii: "."): isFraction = true
            case UInt8(ascii: "e"), UInt8(ascii: "E"):
                exponent = rest
                break scan
            default:
                if byte != UInt8(ascii: "0") || !digits.isEmpty { digits.append(byte - UInt8(ascii: "0")) }
                if isFraction { scale -= 1 }
            }
        }
        while digits.last == 0 {
            digits.removeLast()
            scale += 1
        }
        guard !digits.isEmpty else { return 0 }
        if let exponent {
            // There are fewer than 1000 digits, so an exponent beyond this bound cannot bring the value back into
            // range.
            guard let number = Int(Substring(exponent)), (-1000...1000).contains(number) else { return nil }
            scale += number
        }
        guard scale >= 0, digits.count + scale <= 19 else { return nil }
        digits.append(contentsOf: repeatElement(0, count: scale))
        var result: Int64 = 0
        for digit in digits {
            // Negative numbers are counted downwards: the lowest Int64 has no positive counterpart.
            let step = isNegative ? -Int64(digit) : Int64(digit)
            let tens = result.multipliedReportingOverflow(by: 10)
            let sum = tens.partialValue.addingReportingOverflow(step)
            guard !tens.overflow, !sum.overflow else { return nil }
            result = sum.partialValue
        }
        return result
    }

    /// Reads a number from a text by the grammar of JSON: no plus sign, no spaces, no digits of other scripts.
    init?(spelledBy text: String) {
        let limits = JSONLimits(bytes: 64, depth: 0, members: 0, keyBytes: 0, asciiKeys: true)
        guard let value = try? JSONParser.parse(text, limits: limits), case .number(let number) = value,
            number.literal.utf8.count == text.utf8.count
        else { return nil }
        self = number
    }
}
