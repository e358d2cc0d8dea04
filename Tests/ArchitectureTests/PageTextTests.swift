import FoundationEssentials
import Testing

@Suite("What pages say")
struct PageTextTests {
    private static let texts: [(key: String, values: [String])] = {
        let path = Repository.root.appending(path: "Sources/Pages/Assets/en.txt").path
        let lines = (try? String(contentsOfFile: path, encoding: .utf8))?.split(separator: "\n") ?? []
        return lines.filter { !$0.hasPrefix("#") }.compactMap { line in
            let sides = line.split(separator: " = ", maxSplits: 1)
            guard sides.count == 2 else { return nil }
            let values = sides[1].split(separator: "{").dropFirst(sides[1].hasPrefix("{") ? 0 : 1)
                .map { String($0.prefix { $0 != "}" }) }
            return (String(sides[0]), values.filter { $0 != "application" })
        }
    }()

    @Test("every text is said somewhere, and where one is said by name, with the values that it names and no others")
    func values() {
        let sources = Repository.sources.filter { $0.module == "Pages" }
        #expect(Self.texts.count > 100 && sources.count > 10)
        for (key, values) in Self.texts {
            let isSaid = sources.contains { source in
                source.name != "PageText.swift" && source.text.contains(".\(key)")
            }
            #expect(isSaid, "\(key)")
            for source in sources {
                for call in ["words(.\(key)", "self(.\(key)"] {
                    let calls = source.text.split(separator: call, omittingEmptySubsequences: false).dropFirst()
                    // Any other character means that another key begins alike, or that a helper names the values.
                    for rest in calls where rest.hasPrefix(")") || rest.hasPrefix(", [") {
                        let given = rest.hasPrefix(")") ? [] : Self.names(in: rest.dropFirst(2))
                        #expect(Set(given) == Set(values), "\(key) in \(source.path)")
                    }
                }
            }
        }
    }

    /// Returns the keys of the dictionary at the beginning of a source, such as `[.count: "\(ids[0])"]`.
    private static func names(in source: some StringProtocol) -> [String] {
        var depth = 0
        let dictionary = source.prefix { character in
            depth += character == "[" ? 1 : character == "]" ? -1 : 0
            return depth > 0
        }
        return String(dictionary).matches(of: /\.([a-z]+):/).map { String($0.output.1) }
    }

    @Test("names of values are those of the dictionary alone")
    func names() {
        let source = #"[.count: "\(ids[0])", .day: a ? .b : c]) + words(.x, [.word: y])"#
        #expect(Self.names(in: source) == ["count", "day"])
    }
}
