import Encodings
import Foundation
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite("federation user erase")
struct UserEraseTests {
    @Test("a list of ids is looked at, confirmed, erased and reported, and told of once more when it is repeated")
    func list() async throws {
        try await withDatabase(.schema) { database in
            try await Document().apply(to: database)
            let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let (ids, report) = (folder.path + "/ids.txt", folder.path + "/erased.ndjson")
            try Data("1001\n1002\n".utf8).write(to: URL(fileURLWithPath: ids))
            try await database.psql(
                """
                insert into demo.users (object_id) values ('0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60');
                insert into demo.identities (provider, provider_app, subject, object_id, created) values
                    ('facebook', '1234567890', '1001', '0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60', now() - interval '1 day')
                """
            )
            let ann = CommandLineOperator(database: database)
            let words = "user erase demo --provider facebook --ids \(ids) --reason list"
            let look = try await ann.json(words + " --dry-run")
            #expect(look["ids"]?.integer == 2 && look["user"]?.integer == 1 && look["nobody"]?.integer == 1)

            // Without the confirmation nobody is erased.
            try await ann.fail(words, with: 64)
            try await ann.fail(words + " --confirm other", with: 64)
            try await ann.fail(words + " --confirm demo --report \(ids)", with: 73)
            #expect(try await database.psql("select count(*) from demo.users") == [["1"]])

            let done = try await ann.json(words + " --confirm demo --report \(report)")
            #expect(done["user"]?.integer == 1 && done["nobody"]?.integer == 1 && done["blocked"]?.integer == 0)
            #expect(try await database.psql("select count(*) from demo.users") == [["0"]])
            let lines = try String(contentsOfFile: report, encoding: .utf8).split(separator: "\n")
                .compactMap { JSON.object(String($0)) }
            #expect(lines.map { $0["line"]?.integer } == [1, 2])
            #expect(lines.map { $0["outcome"]?.string } == ["user", "nobody"])
            let codes = try await database.psql("select code from federation.deletion_requests order by 1")
            #expect(Set(lines.compactMap { $0["confirmationCode"]?.string }) == Set(codes.compactMap { $0[0] }))

            let again = try await ann.json(words + " --confirm demo")
            #expect(again["done"]?.integer == 2 && again["user"]?.integer == 0)
        }
    }

    @Test(
        "a user and a list do not go together, and a list needs its provider and a reason",
        arguments: [
            "user erase demo", "user erase demo X --ids list --provider facebook --reason r",
            "user erase demo --ids list --reason r", "user erase demo --ids list --provider facebook",
            "user erase demo X --dry-run", "user erase demo X --json",
        ]
    )
    func usage(words: String) async throws {
        try await withDatabase(.schema) { database in
            _ = try await CommandLineOperator(database: database).fail(words, with: 64)
        }
    }
}
