/// Escapes untrusted text before it is printed, since a terminal obeys control sequences (T-114, T-119).
///
/// Such text is, for example, the name of a user that comes from Facebook.
enum TerminalText {
    /// Returns the text with unsafe characters escaped.
    ///
    /// Unsafe are characters that move the cursor, change colours, begin a line, are invisible or change the direction
    /// of reading.
    static func escaped(_ text: String) -> String {
        escaped(text) { "\\u{\(String($0.value, radix: 16, uppercase: true))}" }
    }

    /// Returns a text of several lines with unsafe characters escaped; the line breaks stay.
    static func escapedLines(_ text: String) -> String {
        text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
            .map { escaped(String($0)) }.joined(separator: "\n")
    }

    /// Returns JSON text in which characters that are unsafe at a terminal are escaped; its meaning stays the same.
    ///
    /// `JSONWriter` has already escaped the control characters. The other unsafe characters occur only in strings,
    /// where JSON allows an escape.
    static func escapedJSON(_ text: String) -> String {
        escaped(text) { scalar in
            Character(scalar).utf16.map { unit in
                let digits = String(unit, radix: 16)
                return "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
            }.joined()
        }
    }

    private static func escaped(_ text: String, _ escape: (Unicode.Scalar) -> String) -> String {
        guard !text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if isSafe(scalar) {
                result.append(scalar)
            } else {
                result.append(contentsOf: escape(scalar).unicodeScalars)
            }
        }
        return String(result)
    }

    private static func isSafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate: false
        // Persian, Hindi and emoji need the two joiners; the others change the direction of text or are invisible.
        case .format: scalar == "\u{200C}" || scalar == "\u{200D}"
        default: true
        }
    }

    // MARK: Width

    /// Returns the number of terminal columns that the text occupies.
    static func width(of text: String) -> Int {
        text.utf8.allSatisfy { $0 < 0x80 } ? text.utf8.count : text.unicodeScalars.reduce(0) { $0 + width(of: $1) }
    }

    /// Returns the text if it fits into `width` columns of the terminal; else its beginning and an ellipsis.
    static func cut(_ text: String, to width: Int) -> String {
        guard self.width(of: text) > width || text.unicodeScalars.count > maxScalars(width) else { return text }
        var result = String.UnicodeScalarView()
        var taken = 0
        // Combining marks take no column, and a text may stack thousands of them.
        for scalar in text.unicodeScalars.prefix(maxScalars(width)) {
            taken += self.width(of: scalar)
            guard taken < width else { break }
            result.append(scalar)
        }
        return String(result) + "…"
    }

    private static func maxScalars(_ width: Int) -> Int { 4 * width }

    private static func width(of scalar: Unicode.Scalar) -> Int {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        // The blocks to which UAX 11 gives two columns: Hangul, CJK, kana, full-width forms and emoji.
        return switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD:
            2
        default: 1
        }
    }
}
