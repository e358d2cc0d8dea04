import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "What does not fit of a profile is stored nowhere",
    .serialized,
    .deployed(
        Document(
            settings: #"{"dynamicProperties": true}"#,
            properties: #"{"avatar": {"type": "TEXT"}, "raw": {"type": "JSON"}, "city": {"type": "STRING"}}"#,
            mapping: """
                [{"from": "name", "to": "name"}, {"from": "email", "to": "email", "whenMissing": "clear"},
                 {"from": "picture.data.url", "to": "avatar"}, {"from": "picture", "to": "raw", "sync": "untilEdited"},
                 {"from": "location.name", "to": "city", "default": "nowhere"}]
                """
        )
    )
)
struct ProfileBoundaryTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private static let long = String(repeating: "canary", count: 33_334)

    private static let fault = """
        {"effect": "merge", "path": "me", "json": {"name": "\(long)", "email": "canary@b@c", "location": {"name": "canary\\u001b[2J"},
         "picture": {"data": {"url": "https://graph.facebook.com/7/picture?access_token=canary", "height": 50}}}}
        """

    private static let reasons: KeyValuePairs = [
        "name": "tooLong", "email": "notAnEmail", "avatar": "credential", "raw": "credential",
        "city": "controlCharacters",
    ]

    @Test("a NUL or half a character anywhere in a profile is left out, and the login goes on")
    func unusableTexts() async throws {
        let visitor = try await deployment.newcomer(#"{"email": "nul@example.com"}"#)
        let fault = #"""
            {"effect": "merge", "path": "me", "json": {"name": "Ann\u0000", "location": {"name": "\ud800"},
             "picture": {"data": {"u\u0000rl": "x", "url": "https://graph.facebook.com/7/picture", "height": 50}}}}
            """#
        // The simulator's own parser must accept the fault, so the surrogate becomes a NUL.
        try await deployment.simulator.withFault(fault.replacing("\\ud800", with: "x\\u0000y")) {
            let signedIn = try await deployment.loggedIn(visitor)
            #expect(signedIn.created)
            #expect(signedIn.user["name"]?.isNull != false)
            #expect(signedIn.user["email"]?.string == "nul@example.com")
            #expect(signedIn.user["avatar"]?.string == "https://graph.facebook.com/7/picture")
            #expect(signedIn.user["city"]?.string == "nowhere")
        }
    }

    @Test("an id that Graph writes as a number is the person of the same text")
    func numericIDs() async throws {
        let visitor = try await deployment.newcomer(#"{"email": "number@example.com"}"#)
        let first = try await deployment.loggedIn(visitor)
        for (path, json) in [
            ("me", #"{"id": \#(visitor.id)}"#), ("debug_token", #"{"data": {"user_id": \#(visitor.id)}}"#),
        ] {
            let fault = #"{"effect": "merge", "path": "\#(path)", "json": \#(json)}"#
            try await deployment.simulator.withFault(fault) {
                let again = try await deployment.loggedIn(visitor)
                #expect(again.objectID == first.objectID && !again.created, "\(path)")
            }
        }
    }

    @Test(
        "a name of 200 KB, a@b@c and a picture with an access_token in its address: the login goes, and says what it left out"
    )
    func login() async throws {
        let ann = try await deployment.newcomer(#"{"name": "Ann", "email": "ann.canary@example.com"}"#)
        let first = try await deployment.loggedIn(ann)
        let avatar = try #require(first.user["avatar"]?.string)
        let bob = try await deployment.newcomer()
        let mapping = #"{"link": "undeclared"}"#
        try await deployment.simulator.withFault(Self.fault) {
            let second = try await deployment.loggedIn(ann, mapping: mapping)
            #expect(second.user["name"]?.string == "Ann")
            #expect(second.user["email"]?.string == "ann.canary@example.com")
            #expect(second.user["avatar"]?.string == avatar)
            #expect(second.user["raw"] == first.user["raw"])
            let third = try await deployment.loggedIn(bob, mapping: #"{"picture.data.url": "undeclared"}"#)
            #expect(third.created)
            for name in ["name", "email", "avatar", "raw", "undeclared"] {
                #expect(third.user[name]?.isNull != false, "\(name)")
            }
            #expect(third.user["city"]?.string == "nowhere", "the default stands in")

            let stored = try await deployment.value(
                """
                select string_agg(u::text, '') || (select string_agg(i::text, '') from demo.identities i)
                from demo.users u
                """
            )
            #expect(stored?.contains("ann.canary") == true)
            #expect(stored?.replacing("ann.canary", with: "").contains("canary") == false, "\(stored ?? "")")

            try await eventually("the log holds both logins") { try leftOut().count == 2 }
            let common = Self.reasons.map { "\($0) \($1)" }.joined(separator: ", ")
            #expect(try leftOut() == [common, common + ", undeclared credential"])
            #expect(!deployment.service.process.standardOutput.contains("canary"))

            let preview = try await deployment.admin(.editor).ask(
                "POST",
                "applications/demo/mappings/facebook/preview",
                #"{"accessToken": "\#(ann.token)"}"#
            )
            #expect(preview["refusal"] == nil)
            let entries = preview["entries"]?.array?.compactMap(\.object) ?? []
            #expect(
                entries.map { "\($0["to"]?.string ?? "") \($0["leftOut"]?.string ?? "")" }
                    == Self.reasons.map { "\($0) \($1)" }
            )
            #expect(entries.dropLast().allSatisfy { $0["outcome"]?.string == "leftOut" && $0["value"] == nil })
            #expect(!preview.text.replacing("ann.canary", with: "").contains("canary"))
        }
    }

    /// Returns the fields left out according to the log, of logins with a name that is too long.
    private func leftOut() throws -> [String] {
        deployment.service.process.standardOutput.utf8.split(separator: 0x0A)
            .compactMap { JSON.object(String(decoding: $0, as: UTF8.self))?["leftOut"]?.string }
            .filter { $0.contains("name tooLong") }
    }
}
