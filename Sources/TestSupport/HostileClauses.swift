/// Generates random filter expressions (where clauses), most of them malformed.
///
/// Each expression begins as a valid one with the properties `name`, `age`, `seen` and `isActive`. Words of it are
/// removed, inserted or replaced. Many of the new words are known to break parsers or to inject SQL.
package struct HostileClauses {
    private var random: SeededRandom

    package init(seed: UInt64) { random = SeededRandom(seed) }

    private static let right = [
        "age = 5 and ( name like 'x' or not seen after 5 )", "name in ( 'x' , 'y' ) or age is null",
        "isActive = true and age between 1 and 2", "`name` != 'x' and not ( age < 5 )",
    ]
    private static let pieces = [
        "name", "age", "`seen`", "'a\\\\'", "isActive", "nobody", "=", "!=", "<>", "<", ">=", "in", "not", "and", "or",
        "between",
        "like", "is", "null", "(", ")", ",", "'x'", "'%'", "''", "'", "5", "-1.5e3", "1e", "true", "at", "after", "--",
        "/*", ";", "\\", "\"", "$1", "?", "é", "\u{1F600}", "\u{0}", "\u{202E}", "->", ".", "select", "union", "or 1=1",
        "' or ''='", "pg_sleep(9)", " ", "\n", "\t", "null", "'2015-03-23'", "E'\\x27'", "0x1F", "$$a$$", "::text",
        "u.name", "\"name\"",
    ]

    package mutating func next() -> String {
        var words = (Self.right.randomElement(using: &random) ?? "").split(separator: " ").map(String.init)
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            let place = Int.random(in: 0...words.count, using: &random)
            let piece = Self.pieces.randomElement(using: &random) ?? ""
            switch Int.random(in: 0..<3, using: &random) {
            case 0 where place < words.count: words.remove(at: place)
            case 1 where place < words.count: words[place] = piece
            default: words.insert(piece, at: place)
            }
        }
        return words.joined(separator: Int.random(in: 0..<8, using: &random) == 0 ? "" : " ")
    }
}
