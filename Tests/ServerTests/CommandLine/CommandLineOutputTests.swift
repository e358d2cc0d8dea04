import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite("What the command line prints")
struct CommandLineOutputTests {
    private static let first = "0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60"

    /// Names with characters that control a terminal.
    private static let hostile = [
        "\u{1B}[31mred\u{1B}[0m", "\u{1B}]0;title\u{7}", "two\nlines", "carriage\rreturn", "tab\tbed", "bell\u{7}",
        "\u{9B}31m", "back\u{8}space", "\u{202E}txt.exe", "\u{2066}isolated\u{2069}", "\u{2028}separated",
        "\u{FEFF}mark",
        "\u{E0041}tagged", "delete\u{7F}",
    ]

    private func withUsers(
        _ names: [String],
        _ body: (CommandLineOperator) async throws -> Void
    ) async throws {
        try await withDatabase { database in
            let ann = CommandLineOperator(database: database)
            try await ann.succeed("set applications/demo")
            for (index, name) in names.enumerated() {
                let quoted = name.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''")
                let id = index == 0 ? "'\(Self.first)'" : "gen_random_uuid()"
                try await database.psql("insert into demo.users (object_id, name) values (\(id), '\(quoted)')")
            }
            try await body(ann)
        }
    }

    /// Whether no character but line breaks moves the cursor or changes the reading direction.
    private func isHarmless(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { scalar in
            let category = scalar.properties.generalCategory
            return scalar == "\n"
                || ![.control, .format, .lineSeparator, .paragraphSeparator].contains(category)
        }
    }

    @Test("hostile names reach no terminal, in tables, details, JSON and messages")
    func hostileNames() async throws {
        try await withUsers(Self.hostile) { ann in
            let table = try await ann.succeed("list applications/demo/users")
            #expect(isHarmless(table), "\(table)")
            #expect(table.split(separator: "\n").count == Self.hostile.count + 1, "each on one line")
            #expect(table.contains(#"\u{1B}[31mred\u{1B}[0m"#))
            #expect(isHarmless(try await ann.succeed("get applications/demo/users/\(Self.first)")))

            let json = try await ann.succeed("list applications/demo/users --json")
            #expect(isHarmless(json))
            let names = JSON.object(json)?["items"]?.array?.compactMap { $0.object?["name"]?.string } ?? []
            #expect(Set(names) == Set(Self.hostile), "JSON means what is stored")
            let refused = try await ann.run("get", "applications/\u{1B}[31mred\u{202E}")
            #expect(isHarmless(refused.standardError), "\(refused.standardError)")
            let confirmed = try await ann.run("delete applications/demo --confirm", "\u{1B}[31mred")
            #expect(confirmed.exitStatus == .exited(64) && isHarmless(confirmed.standardError))
        }
    }

    @Test("columns stand below their titles, whatever width the letters have")
    func alignment() async throws {
        try await withUsers(["Ann", "李雷", "e\u{301}te\u{301}", "👩‍👩‍👧"]) { ann in
            let lines = try await ann.succeed("list applications/demo/users").split(separator: "\n").map(String.init)
            let header = try #require(lines.first)
            #expect(header.hasPrefix("OBJECT ID") && !header.contains("\u{1B}"))
            // Text before this column is padded to the column's width, and a wide character takes two places.
            let start = try #require(header.firstRange(of: "EMAIL")).lowerBound
            let column = header.distance(from: header.startIndex, to: start)
            let ann = try #require(lines.first { $0.contains("Ann") })
            let wide = try #require(lines.first { $0.contains("李雷") })
            let marked = try #require(lines.first { $0.unicodeScalars.contains("\u{301}") })
            #expect(Array(ann)[column] == "-" && Array(marked)[column] == "-")
            #expect(Array(wide)[column - 2] == "-")
            #expect(lines.allSatisfy { !$0.hasSuffix(" ") })
        }
    }

    @Test("long cells are cut on a terminal only, ids never")
    func width() async throws {
        let long = String(repeating: "very long name ", count: 20)
        try await withUsers(["Ann", long, "Zalgo" + String(repeating: "\u{301}", count: 5000)]) { ann in
            #expect(try await ann.succeed("list applications/demo/users").contains(long))
            let terminal = try await CommandLineTerminal.start("list applications/demo/users", columns: 140, as: ann)
            let screen = try await terminal.end(with: .exited(0))
            // The terminal puts a carriage return in front of each line break; Swift counts both as one character.
            let lines = screen.split(separator: "\r\n").map(String.init)
            #expect(lines.count == 4 && lines.allSatisfy { $0.count <= 140 }, "\(screen)")
            #expect(screen.contains("…") && screen.contains(Self.first))
            #expect(screen.utf8.count < 2000, "thousands of marks stay away")
        }
    }

    @Test("lists go on where they ended")
    func pages() async throws {
        try await withUsers(["a", "b", "c", "d", "e"]) { ann in
            let first = try await ann.json("list applications/demo/users --limit 2")
            let cursor = try #require(first["next"]?.string)
            let rest = try await ann.json("list applications/demo/users --limit 200 --cursor=\(cursor)")
            let ids = [first, rest].flatMap { $0["items"]?.array ?? [] }.compactMap { $0.object?["objectId"]?.string }
            #expect(Set(ids).count == 5 && ids.count == 5)
            #expect(rest["next"]?.isNull == true)
            let hint = try await ann.run("list applications/demo/users --limit 2")
            #expect(hint.standardError.contains("--cursor=\(cursor)"), "\(hint.standardError)")
            try await ann.fail("list applications/demo/users --cursor nonsense", with: 65)
            try await ann.fail("list applications/demo/users --limit 0", with: 64)
        }
    }

    @Test("all problems of a failure are said, one a line, with their pointers")
    func problems() async throws {
        try await withUsers([]) { ann in
            let said = try await ann.fail(
                "set applications/demo/mappings/facebook -",
                with: 65,
                input: #"[{"from": "email", "to": "nobody"}, {"from": "name", "to": "objectId"}]"#
            )
            let lines = said.split(separator: "\n")
            #expect(lines.count == 2 && lines[0].hasPrefix("/0/to: ") && lines[1].hasPrefix("/1/to: "), "\(said)")
        }
    }
}
