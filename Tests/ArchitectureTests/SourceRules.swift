/// Rules for the text of the sources.
enum SourceRules {
    /// Finds ways to end the process that a request must never reach (decision D14), and unfinished work.
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

    /// Finds code that may skip checks because of an environment variable or a build setting (T-14).
    ///
    /// `mayReadEnvironment` is for the files that read variables; variables of tests are forbidden in them, too.
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

    /// Returns whether a name is `TEST…`, `DEBUG…` or `MOCK…` in capitals, alone or after a prefix.
    private static func isTestVariable(_ text: String) -> Bool {
        guard !text.isEmpty,
            text.utf8.allSatisfy({ $0 == UInt8(ascii: "_") || (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }
            )
        else { return false }
        return text.split(separator: "_").contains { part in
            ["TEST", "DEBUG", "MOCK"].contains { part.hasPrefix($0) }
        }
    }

    /// Returns whether the opening comment of a module says what the module owns and what it must not know.
    static func isModuleHeader(_ comment: SwiftText.Comment) -> Bool {
        let text = comment.lines.joined(separator: " ").lowercased()
        let limits = ["must not know", "knows no", "holds no"]
        return text.contains(" owns") && limits.contains { text.contains($0) }
            || text.contains("owns:") && text.contains("must not know")
    }
}
