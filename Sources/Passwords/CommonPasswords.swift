import EmbeddedFiles
import Encodings

/// The most common passwords, in lower case.
///
/// `common-passwords.txt` holds the commonest 6000 of four characters and more, and of 15 and more the commonest
/// 30,000, as counted from leaks for zxcvbn (Dropbox, MIT licence). Few of them are long enough to be allowed, but
/// users reach a minimum length by concatenating common passwords. So a password is common when it consists of up to
/// three of them.
struct CommonPasswords: Sendable {
    static let shared = CommonPasswords(list: EmbeddedFiles.commonPasswords)

    private let entries: Set<[UInt8]>
    private let longest: Int

    /// The largest number of entries in a common password.
    private static let mostParts = 3

    init(list: [UInt8]) {
        entries = Set(list.split(separator: UInt8(ascii: "\n")).map { Array($0) })
        longest = entries.lazy.map(\.count).max() ?? 0
    }

    /// Returns whether a password of bounded length is only a concatenation of a few entries and of the given names.
    func makeUp(_ password: String, or names: [String]) -> Bool {
        let bytes = Self.folded(password)
        let names = Set(names.map(Self.folded).filter { $0.count >= 4 })
        let longest = max(longest, names.lazy.map(\.count).max() ?? 0)
        // The least number of parts that make up the password up to each position; nil where none do.
        var parts: [Int?] = [0] + Array(repeating: nil, count: bytes.count)
        for start in bytes.indices {
            guard let before = parts[start], before < Self.mostParts else { continue }
            for end in (start + 1)...min(start + longest, bytes.count) {
                if let known = parts[end], known <= before + 1 { continue }
                let part = Array(bytes[start..<end])
                if entries.contains(part) || names.contains(part) { parts[end] = before + 1 }
            }
        }
        return parts.last.flatMap { $0 } != nil
    }

    /// Returns a text with ASCII letters in lower case; upper case makes guessing hardly harder.
    private static func folded(_ text: String) -> [UInt8] {
        text.utf8.map(\.asciiLowercased)
    }
}
