import FoundationEssentials

/// A file of the repository that is generated from the code, as a whole or in marked blocks.
///
/// Usually, tests compare the file with the generated text. If the environment variable `FEDERATION_GENERATE` is set,
/// as `scripts/generate` does, the tests write the generated text to the file instead. The script runs the tests one at
/// a time, since two tests may write blocks of the same file.
package struct GeneratedFile {
    package let path: String
    /// The text on disk.
    package let text: String
    private let file: URL

    /// Reads a file.
    ///
    /// - Parameter path: The path from the root of the repository.
    /// - Throws: The error of the file system.
    package init(_ path: String) throws {
        self.path = path
        file = URL(filePath: PackageLayout.path(path))
        text = try String(contentsOf: file, encoding: .utf8)
    }

    /// Compares the file with the generated text, or writes this text to the file if `FEDERATION_GENERATE` is set.
    ///
    /// - Parameter made: The whole generated text.
    /// - Returns: Whether the file has the text now.
    /// - Throws: The error of the file system.
    package func has(_ made: String) throws -> Bool {
        guard ProcessInfo.processInfo.environment["FEDERATION_GENERATE"] != nil else { return text == made }
        try Data(made.utf8).write(to: file)
        return true
    }

    /// Returns the file's text, in which the contents of the given blocks are replaced.
    ///
    /// A block lies between the lines `<!-- NAME: made by scripts/generate -->` and `<!-- end -->`.
    ///
    /// - Parameter blocks: The new contents, each with a line break at its end. The keys are the names of the blocks.
    /// - Returns: The whole text.
    /// - Throws: `MissingBlock` for a name without a block.
    package func text(withBlocks blocks: [String: String]) throws -> String {
        try blocks.reduce(text) { text, block in
            let begin = "<!-- \(block.key): made by scripts/generate -->\n"
            guard let start = text.firstRange(of: begin)?.upperBound,
                let end = text[start...].firstRange(of: "<!-- end -->\n")?.lowerBound
            else { throw MissingBlock(description: "\(path) has no block \(block.key)") }
            return text[..<start] + block.value + text[end...]
        }
    }

    /// Returns a Markdown table with the given column titles and rows.
    package static func table(_ columns: [String], _ rows: [[String]]) -> String {
        let rule = "|\(columns.map { _ in "---" }.joined(separator: "|"))|\n"
        let lines = ([columns] + rows).map { "| \($0.joined(separator: " | ")) |\n" }
        return lines[0] + rule + lines.dropFirst().joined()
    }

    package struct MissingBlock: Error, CustomStringConvertible {
        package let description: String
    }
}
