import FoundationEssentials
import Testing

@testable import Limiting

@Suite("docs/limits.md")
struct DocumentTests {
    @Test("lists the variable and the default of every policy, in their order")
    func table() throws {
        let page = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/limits.md")
        let rows = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
            .filter { $0.hasPrefix("| `FEDERATION_LIMIT_") }
            .map { $0.split(separator: "`").map(String.init) }
        let expected = LimitPolicy.all.map { policy in
            [
                "FEDERATION_LIMIT_" + policy.name.uppercased().replacing(".", with: "_"),
                policy.standard?.description ?? "off",
            ]
        }
        #expect(rows.map { [$0[1], $0[3]] } == expected)
    }
}
