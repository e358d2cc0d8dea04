import Domain

/// Parses days and times in where clauses (docs/protocols/backendless.md §3.6).
///
/// A day stands for its beginning in UTC. A time without a zone is in UTC. The separator shows whether the day or the
/// month comes first: the month in `03/23/2015`, the day in `23-03-2015`.
enum WhereMoment {
    /// Returns whether a time, in milliseconds since 1970, is within the years 1 to 9999.
    static func isMoment(_ milliseconds: Int64) -> Bool { day(of: milliseconds) != nil }

    /// Returns the day, in UTC, of a time in milliseconds since 1970.
    static func day(of milliseconds: Int64) -> CalendarDate? { CalendarDate(ofMoment: milliseconds) }

    /// Parses a text into milliseconds since 1970 UTC; nil if the text has no known format.
    static func read(_ text: String) -> Int64? {
        guard text.utf8.count <= 40 else { return nil }
        var reader = MomentReader(text)
        guard let date = reader.date() else { return nil }
        var milliseconds = Int64(date.daysSince1970) * 86_400_000
        if reader.isAtEnd { return milliseconds }
        guard reader.skip("T") || reader.skip("t") || reader.skip(" "), let time = reader.time(),
            let offset = reader.offset(),
            reader.isAtEnd
        else { return nil }
        milliseconds += time - offset
        return isMoment(milliseconds) ? milliseconds : nil
    }
}

/// Reads the parts of a date and time from a text, one after the other.
private struct MomentReader {
    private var rest: Substring.UTF8View

    init(_ text: String) { rest = Substring(text).utf8 }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func skip(_ sign: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: sign) else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func number(_ digits: ClosedRange<Int>) -> Int? {
        let found = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard digits.contains(found.count) else { return nil }
        rest = rest.dropFirst(found.count)
        return found.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    /// Reads a date: `yyyy-MM-dd`, `dd-MM-yyyy`, `dd-MMM-yyyy`, `MM/dd/yyyy`, `yyyy/MM/dd`.
    mutating func date() -> CalendarDate? {
        let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.count
        guard let first = number(1...4) else { return nil }
        if skip("/") {
            guard let second = number(1...2), skip("/") else { return nil }
            if digits == 4 {
                guard let day = number(1...2) else { return nil }
                return CalendarDate(year: first, month: second, day: day)
            }
            guard let year = number(4...4) else { return nil }
            return CalendarDate(year: year, month: first, day: second)
        }
        guard skip("-") else { return nil }
        if digits == 4 {
            guard let month = number(1...2), skip("-"), let day = number(1...2) else { return nil }
            return CalendarDate(year: first, month: month, day: day)
        }
        guard let month = number(1...2) ?? monthName(), skip("-"), let year = number(4...4) else { return nil }
        return CalendarDate(year: year, month: month, day: first)
    }

    private mutating func monthName() -> Int? {
        let name = String(decoding: rest.prefix(3), as: UTF8.self).lowercased()
        guard let index = Self.months.firstIndex(of: name) else { return nil }
        rest = rest.dropFirst(3)
        return index + 1
    }

    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]

    /// Parses a time of day, `HH:mm`, `HH:mm:ss` or `HH:mm:ss.SSS`, into milliseconds since midnight.
    mutating func time() -> Int64? {
        guard let hour = number(1...2), hour < 24, skip(":"), let minute = number(2...2), minute < 60 else {
            return nil
        }
        var milliseconds = Int64(hour * 60 + minute) * 60_000
        guard skip(":") else { return milliseconds }
        guard let second = number(2...2), second < 60 else { return nil }
        milliseconds += Int64(second) * 1000
        guard skip(".") else { return milliseconds }
        let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.count
        guard let fraction = number(1...9) else { return nil }
        let scale = [0, 100, 10, 1][min(digits, 3)]
        // Digits after the third are ignored.
        let dropped = (3..<max(digits, 3)).reduce(fraction) { rest, _ in rest / 10 }
        return milliseconds + Int64(digits < 3 ? fraction * scale : dropped)
    }

    /// Parses an offset from UTC into milliseconds: nothing, `Z`, `GMT`, `GMT-0200`, `+02:00` or `-0200`.
    mutating func offset() -> Int64? {
        while skip(" ") {}
        if isAtEnd || skip("Z") || skip("z") { return 0 }
        if skip("G") {
            guard skip("M"), skip("T") else { return nil }
            if isAtEnd { return 0 }
        }
        let isWest = skip("-")
        guard isWest || skip("+") else { return nil }
        let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.count
        guard digits == 2 || digits == 4, let number = number(2...4) else { return nil }
        var (hours, minutes) = digits == 4 ? (number / 100, number % 100) : (number, 0)
        if digits == 2, skip(":") {
            guard let more = self.number(2...2) else { return nil }
            minutes = more
        }
        guard hours < 24, minutes < 60 else { return nil }
        if isWest { (hours, minutes) = (-hours, -minutes) }
        return Int64(hours * 60 + minutes) * 60_000
    }
}
