import FoundationEssentials
import Testing

/// A page of the documentation.
struct Document: Sendable, CustomTestStringConvertible {
    /// The path from the root of the repository.
    let path: String
    let text: String

    init(path: String, text: String) {
        self.path = path
        self.text = text
    }

    init(path: String) throws {
        self.init(
            path: path,
            text: try String(contentsOfFile: Repository.root.appending(path: path).path, encoding: .utf8)
        )
    }

    var testDescription: String { path }

    /// The cells of each table row whose first cell is code, such as `` | `name` | … | ``, without code marks.
    var codeRows: [[String]] {
        text.split(separator: "\n").filter { $0.hasPrefix("| `") }.map { line in
            line.dropFirst().split(separator: "|").map { cell in
                let cell = String(cell.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
                return cell.hasPrefix("`") && cell.count { $0 == "`" } == 2 && cell.hasSuffix("`")
                    ? cell.filter { $0 != "`" } : cell
            }
        }
    }

    /// The targets of links to files and headings of this repository, without those in examples.
    var links: [String] {
        prose.split(separator: "](").dropFirst().compactMap { rest in
            let target = rest.prefix { $0 != ")" && $0 != "\n" }
            return target.contains("://") ? nil : String(target)
        }
    }

    /// The names that a link may have after `#`, made of the headings by the rules of forges.
    var anchors: Set<String> {
        var anchors: Set<String> = []
        for line in prose.split(separator: "\n") where line.hasPrefix("#") {
            let heading = line.drop { $0 == "#" }.dropFirst().lowercased()
            let slug = String(
                heading.compactMap { $0 == " " ? "-" : $0.isLetter || $0.isNumber || "-_".contains($0) ? $0 : nil }
            )
            var anchor = slug
            var count = 0
            while !anchors.insert(anchor).inserted {
                count += 1
                anchor = "\(slug)-\(count)"
            }
        }
        return anchors
    }

    /// The numbers of the page's sections, with the sign `§`, with which headings begin.
    var sections: Set<String> {
        Set(
            prose.split(separator: "\n").filter { $0.hasPrefix("#") }.compactMap { line in
                line.split(separator: " ").dropFirst().first.map(String.init)
            }.filter { $0.hasPrefix("§") }
        )
    }

    /// The parts of docs/decisions.md, with headings such as `## D4: Title`.
    var decisions: [(number: Int, text: String)] {
        ("\n" + prose).split(separator: "\n## D").dropFirst().compactMap { part in
            let (number, rest) = (part.prefix { $0 != ":" }, part.drop { $0 != "\n" }.dropFirst())
            return Int(number).map { ($0, rest.last == "\n" ? String(rest.dropLast()) : String(rest)) }
        }
    }

    /// The text without fenced blocks.
    private var prose: String { parts { $0.isMultiple(of: 2) } }

    /// The fenced blocks: examples and pictures.
    var examples: String { parts { !$0.isMultiple(of: 2) } }

    private func parts(where isMeant: (Int) -> Bool) -> String {
        text.split(separator: "```", omittingEmptySubsequences: false).enumerated()
            .filter { isMeant($0.offset) }.map { String($0.element) }.joined(separator: "\n")
    }

    /// The page's folder, with a slash at its end; empty for the root.
    var folder: String { path.lastIndex(of: "/").map { String(path[...$0]) } ?? "" }
}
