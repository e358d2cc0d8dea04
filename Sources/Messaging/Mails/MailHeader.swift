import Domain
import FoundationEssentials

/// The encoding of header values.
///
/// Line breaks and other control characters first become spaces. So no text can add a header.
enum MailHeader {
    /// The maximum number of Unicode scalars in the text of a header value.
    ///
    /// A longer text is cut to this length.
    private static let longest = 200

    /// Encodes a text.
    ///
    /// Short ASCII stays unchanged; any other text becomes encoded words (RFC 2047).
    static func text(_ text: String) -> String {
        let clean = trimmed(text)
        return isShortASCII(clean) && !clean.utf8.contains(where: { "=".utf8.contains($0) }) ? clean : encoded(clean)
    }

    static func mailbox(name: String, address: MailAddress) -> String {
        let clean = trimmed(name)
        guard !clean.isEmpty else { return "<\(address.text)>" }
        guard isShortASCII(clean), !clean.utf8.contains(where: { "\"\\=".utf8.contains($0) }) else {
            return "\(encoded(clean)) <\(address.text)>"
        }
        return "\"\(clean)\" <\(address.text)>"
    }

    /// Formats a time like `Sun, 22 Nov 2026 05:31:00 +0000`.
    static func date(_ now: Int64) -> String {
        let now = Int(clamping: max(0, now))
        let (days, seconds) = now.quotientAndRemainder(dividingBy: 86_400)
        guard let day = CalendarDate(daysSince1970: days) else { return date(0) }
        // 1970-01-01 was a Thursday.
        let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][days % 7]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let time = [seconds / 3600, seconds / 60 % 60, seconds % 60].map { ($0 < 10 ? "0" : "") + String($0) }
        return "\(weekday), \(day.day) \(months[day.month - 1]) \(day.year) \(time.joined(separator: ":")) +0000"
    }

    /// Returns the text on one line, with single spaces between the words and at most ``longest`` Unicode scalars.
    private static func trimmed(_ text: String) -> String {
        let plain = Escaping.plain(text).unicodeScalars.prefix(longest)
        let words = plain.split(separator: " ").map { String($0) }
        return words.joined(separator: " ")
    }

    private static func isShortASCII(_ text: String) -> Bool {
        text.utf8.count <= 60 && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }

    /// Encodes a text as encoded words (RFC 2047) of at most 75 characters, one on each line.
    private static func encoded(_ text: String) -> String {
        var words: [String] = []
        var piece: [UInt8] = []
        func close() {
            guard !piece.isEmpty else { return }
            words.append("=?utf-8?B?\(Data(piece).base64EncodedString())?=")
            piece = []
        }
        for scalar in text.unicodeScalars {
            let bytes = Array(String(scalar).utf8)
            if piece.count + bytes.count > 45 { close() }
            piece += bytes
        }
        close()
        return words.joined(separator: "\r\n ")
    }
}
