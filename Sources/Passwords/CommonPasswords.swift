import EmbeddedFiles
import Encodings

/// The most common passwords, in lower case.
///
/// `common-passwords.txt` has the 6000 most common passwords of four or more characters, and all passwords of 15 or
/// more characters among the 30,000 most common. They were counted from leaks for zxcvbn (Dropbox, MIT licence). Few
/// entries reach the minimum length of a password. But users concatenate them to reach it, so a concatenation of up to
/// three entries counts as a common password, too.
struct CommonPasswords: Sendable {
    static let shared = CommonPasswords(list: EmbeddedFiles.commonPasswords)

    private let entries: Set<[UInt8]>
    private let longest: Int

    /// The maximum number of common passwords whose concatenation counts as a common password.
    private static let maxParts = 3

    init(list: [UInt8]) {
        entries = Set(list.split(separator: UInt8(ascii: "\n")).map { Array($0) })
        longest = entries.lazy.map(\.count).max() ?? 0
    }

    /// Returns whether a password is a concatenation of at most `maxParts` parts, each of which is a common password or
    /// one of the given names.
    ///
    /// The caller limits the length of the password. Names of fewer than four bytes are ignored.
    func makeUp(_ password: String, or names: [String]) -> Bool {
        let bytes = Self.folded(password)
        let names = Set(names.map(Self.folded).filter { $0.count >= 4 })
        let longest = max(longest, names.lazy.map(\.count).max() ?? 0)
        // For each position, the least number of parts that the password up to the position consists of; nil if there
        // are none.
        var parts: [Int?] = [0] + Array(repeating: nil, count: bytes.count)
        for start in bytes.indices {
            guard let before = parts[start], before < Self.maxParts else { continue }
            for end in (start + 1)...min(start + longest, bytes.count) {
                if let known = parts[end], known <= before + 1 { continue }
                let part = Array(bytes[start..<end])
                if entries.contains(part) || names.contains(part) { parts[end] = before + 1 }
            }
        }
        return parts.last.flatMap { $0 } != nil
    }

    /// Returns a text with ASCII letters in lower case; upper case makes a password hardly harder to guess.
    private static func folded(_ text: String) -> [UInt8] {
        text.utf8.map(\.asciiLowercased)
    }
}
