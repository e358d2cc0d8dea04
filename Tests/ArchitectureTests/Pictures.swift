/// What the pictures of a page, its fenced blocks, name of the sources.
struct Pictures {
    /// Files and folders, by the end of their paths without `.swift`: names with a slash, and those that fill a column
    /// by themselves.
    private(set) var files: Set<String> = []
    /// Further names in what is said of those: a file's or a type's.
    private(set) var others: Set<String> = []

    /// Names that look like ours.
    private static let foreign: Set<String> = ["PostgreSQL"]

    init(of page: Document) {
        for line in page.examples.split(separator: "\n") {
            let columns = String(line.map { Self.isLine($0) ? " " : $0 }).split(separator: "  ")
            for column in columns {
                let words = column.split { " ,:;()".contains($0) }
                let isList = words.allSatisfy { Self.isPath($0) || Self.isName($0) }
                for word in words where !Self.foreign.contains(String(word)) {
                    if Self.isPath(word) {
                        files.insert(String(word.hasPrefix("…/") ? word.dropFirst(2) : word))
                    } else if Self.isName(word) {
                        if isList { files.insert(String(word)) } else { others.insert(String(word)) }
                    }
                }
            }
        }
    }

    /// Whether a character draws the branches of a tree.
    private static func isLine(_ character: Character) -> Bool { "│├└┬┴┘─".contains(character) }

    /// Whether a word is a path with capitals, such as `Store/FirstUse`; those of requests have small letters.
    private static func isPath(_ word: Substring) -> Bool {
        let parts = word.split(separator: "/", omittingEmptySubsequences: false)
        return parts.count > 1 && parts.drop { $0 == "…" }.allSatisfy(isWord)
    }

    /// Whether a word has a capital in front and another one behind a small letter, as `LoginPlan`.
    private static func isName(_ word: Substring) -> Bool {
        isWord(word) && zip(word, word.dropFirst()).contains { $0.isLowercase && $1.isUppercase }
    }

    private static func isWord(_ text: Substring) -> Bool {
        text.first?.isUppercase == true && text.allSatisfy { $0.isLetter || $0.isNumber || $0 == "+" }
    }
}
