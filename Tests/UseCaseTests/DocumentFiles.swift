import Encodings
import FoundationEssentials
import Testing
import TestSupport

/// The files below `mappings`.
enum DocumentFiles {
    /// The application documents that ship.
    static let ready = [
        "demo.json", "profile-basics.json", "full-graph-user.json", "backendless-migration.json", "two-providers.json",
    ]

    static func text(_ name: String) throws -> String {
        try String(contentsOfFile: PackageLayout.path("mappings/" + name), encoding: .utf8)
    }

    /// A fenced block of the page: the word after the fence, and the lines.
    struct Block {
        let kind: String
        let text: String
    }

    /// The fenced blocks of `mappings/README.md`.
    static func blocks() throws -> [Block] {
        var blocks: [Block] = []
        var open: (kind: String, lines: [Substring])?
        for line in try text("README.md").split(separator: "\n", omittingEmptySubsequences: false) {
            switch (line.hasPrefix("```"), open) {
            case (true, nil): open = (String(line.dropFirst(3)), [])
            case (true, let block?):
                blocks.append(Block(kind: block.kind, text: block.lines.joined(separator: "\n")))
                open = nil
            case (false, let block?): open = (block.kind, block.lines + [line])
            case (false, nil): continue
            }
        }
        return blocks
    }

    /// Returns the valid documents of the page, each part inserted at its place in the whole document.
    static func examples() throws -> [String] {
        let blocks = try blocks()
        let whole = blocks.filter { $0.kind == "json" }.map(\.text)
        let parts = try blocks.filter { $0.kind.hasPrefix("json part ") }.map { block in
            let document = try json(try #require(whole.last))
            let place = block.kind.dropFirst("json part /".count).split(separator: "/").map(String.init)
            return document.replacing(place[...], with: try json(block.text)).text
        }
        return whole + parts
    }
}

extension JSONValue {
    /// Returns the value with another value at a path of names.
    fileprivate func replacing(_ place: ArraySlice<String>, with value: JSONValue) -> JSONValue {
        guard let name = place.first, let object else { return value }
        return .object(
            JSONObject(
                object.members.map { member in
                    guard member.key == name else { return member }
                    return JSONObject.Member(name, member.value.replacing(place.dropFirst(), with: value))
                }
            )
        )
    }
}
