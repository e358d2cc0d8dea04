/// Rules for what stands in the sources themselves.
enum SourceRules {
    /// Ways to end the process that a request must never find (decision D14), and work left undone.
    static func unfinishedOrTrapping(path: String, source: SwiftText) -> [String] {
        var findings: [String] = []
        for (word, mark) in zip(source.tokens, source.tokens.dropFirst())
        where mark.isGlued && mark.isSymbol("!") && (word.isWord("try") || word.isWord("as")) {
            findings.append("\(path):\(mark.line): \(word.text)! ends the process when it fails")
        }
        for comment in source.comments {
            for (offset, line) in comment.lines.enumerated() {
                for word in ["TODO", "FIXME"] where line.contains(word) {
                    findings.append("\(path):\(comment.line + offset): \(word)")
                }
            }
        }
        return findings
    }

    /// What could let somebody past the checks because a variable of the environment or a build setting says so (T-14).
    ///
    /// `mayReadEnvironment` is for the files that read variables; those of tests are forbidden to them, too.
    static func backDoors(path: String, source: SwiftText, mayReadEnvironment: Bool) -> [String] {
        var findings: [String] = []
        for token in source.tokens {
            switch token.kind {
            case .literal where isTestVariable(token.text):
                findings.append("\(path):\(token.line): names the variable \(token.text)")
            case .word where environmentReaders.contains(token.text) && !mayReadEnvironment:
                findings.append("\(path):\(token.line): reads the environment by \(token.text)")
            case .word where token.text.lowercased().contains("simulat"):
                findings.append("\(path):\(token.line): knows of a simulator: \(token.text)")
            default:
                continue
            }
        }
        for (index, token) in source.tokens.enumerated() where token.isSymbol("#") && index + 2 < source.tokens.count {
            let condition = source.tokens[index + 2].text
            if ["if", "elseif"].contains(source.tokens[index + 1].text), isTestVariable(condition) {
                findings.append("\(path):\(token.line): is built differently under \(condition)")
            }
        }
        return findings
    }

    private static let environmentReaders: Set<String> = [
        "ProcessInfo", "getenv", "secure_getenv", "environ", "EnvironmentVariablesProvider",
    ]

    /// `TEST…`, `DEBUG…` and `MOCK…` in capitals, alone or behind a prefix.
    private static func isTestVariable(_ text: String) -> Bool {
        guard !text.isEmpty,
            text.utf8.allSatisfy({ $0 == UInt8(ascii: "_") || (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }
            )
        else { return false }
        return text.split(separator: "_").contains { part in
            ["TEST", "DEBUG", "MOCK"].contains { part.hasPrefix($0) }
        }
    }

    /// Whether the text that opens a module says what it owns and what it must not know.
    static func isModuleHeader(_ comment: SwiftText.Comment) -> Bool {
        let text = comment.lines.joined(separator: " ").lowercased()
        let limits = ["must not know", "knows no", "holds no"]
        return text.contains(" owns") && limits.contains { text.contains($0) }
            || text.contains("owns:") && text.contains("must not know")
    }
}
