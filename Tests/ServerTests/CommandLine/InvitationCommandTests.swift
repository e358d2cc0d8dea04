import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite("federation invitation")
struct InvitationCommandTests {
    @Test("a link is printed once, by itself; invitations are listed, shown and taken back")
    func story() async throws {
        try await withDatabase(.schema) { database in
            try await Document(settings: #"{"newUsers": "invited", "roles": ["editors"]}"#).apply(to: database)
            var ann = CommandLineOperator(database: database)
            ann.environment["FEDERATION_PUBLIC_URL"] = "https://users.example.com"
            let words = "set applications/demo/invitations email=bob@example.com roles=editors send=false"
            let made = try await ann.run(words)
            #expect(made.exitStatus == .exited(0), "\(made.standardError)")
            #expect(made.standardOutput.hasPrefix("https://users.example.com/demo/invitation?token="))
            #expect(made.standardOutput.split(separator: "\n").count == 1)
            try await ann.fail(words, with: 65)
            let listed = try await ann.items("list applications/demo/invitations state=open")
            #expect(listed.map { $0["email"]?.string } == ["bob@example.com"])
            let id = try #require(listed.first?["id"]?.string)
            let shown = try await ann.json("get applications/demo/invitations/\(id)")
            #expect(shown["roles"]?.array == [.string("editors")])
            #expect(shown["invitedBy"]?.string?.hasPrefix("cli:") == true)
            let hash = try await database.psql("select octet_length(token_hash) from demo.invitations")
            #expect(hash == [["32"]])
            // Mail is not configured, so no invitation is created.
            try await ann.fail("invitation send demo \(id)", with: 65)
            try await ann.fail("set applications/demo/invitations email=cleo@example.com", with: 65)
            _ = try await ann.json("set applications/demo/invitations identity.provider=facebook identity.subject=1001")
            try await ann.succeed("delete applications/demo/invitations/\(id)")
            try await ann.fail("get applications/demo/invitations/\(id)", with: 66)
            #expect(try await database.psql("select subject from demo.invitations") == [["1001"]])
            let actions = try await database.psql(
                "select action from federation.audit_log where action like 'invitation.%' order by id"
            )
            #expect(actions == [["invitation.create"], ["invitation.create"], ["invitation.revoke"]])
        }
    }
}
