/// The names of the sources in the pictures of a page, which are its fenced blocks.
struct Pictures {
    /// Files and folders, by the end of their paths without `.swift`.
    ///
    /// These are the names with a slash, and the names that fill a column by themselves.
    private(set) var files: Set<String> = []
    /// Names of files or types in the descriptions beside the files.
    private(set) var others: Set<String> = []

    /// Names of products that look like names of this repository.
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

    /// Returns whether a character draws the branches of a tree.
    private static func isLine(_ character: Character) -> Bool { "│├└┬┴┘─".contains(character) }

    /// Returns whether a word is a path with capitals, such as `Store/FirstUse`; paths of requests have small letters.
    private static func isPath(_ word: Substring) -> Bool {
        let parts = word.split(separator: "/", omittingEmptySubsequences: false)
        return parts.count > 1 && parts.drop { $0 == "…" }.allSatisfy(isWord)
    }

    /// Returns whether a word has a first capital and another capital after a small letter, as `LoginPlan`.
    private static func isName(_ word: Substring) -> Bool {
        isWord(word) && zip(word, word.dropFirst()).contains { $0.isLowercase && $1.isUppercase }
    }

    private static func isWord(_ text: Substring) -> Bool {
        text.first?.isUppercase == true && text.allSatisfy { $0.isLetter || $0.isNumber || $0 == "+" }
    }
}
