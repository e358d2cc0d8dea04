import Accounts
import Administration
import Domain
import Encodings
import Facebook
import Testing
import TestSupport

@Suite("Applications")
struct ApplicationTests {
    @Test("a new application has defaults, its own schema and a tag that every change moves")
    func create() async throws {
        try await Office.lend { office in
            let administration = office.administration
            let made = try await administration.applications.read("demo")
            #expect(made.body.object?["name"] == .string("demo"))
            #expect(made.body.object?["schema"] == .string("demo"))
            #expect(made.body.object?["settings"]?.object?["sessionIdleSeconds"] == .integer(14 * 86_400))
            #expect(made.tag == made.body.object?["revision"]?.text)
            let changed = try await administration.applications.change(
                "demo",
                patch: json(
                    #"{"name":"Demo","settings":{"clientMapping":false,"allowedOrigins":["https://a.example"]}}"#
                ),
                if: .tags([try #require(made.tag)]),
                by: Office.actor
            )
            #expect(changed.tag != made.tag)
            #expect(changed.body.object?["name"] == .string("Demo"))
            let back = try await administration.applications.change(
                "demo",
                patch: json(#"{"name":null,"settings":{"clientMapping":null}}"#),
                if: .any,
                by: Office.actor
            )
            #expect(back.body.object?["name"] == .string("demo"))
            #expect(back.body.object?["settings"]?.object?["clientMapping"] == .bool(true))
            #expect(back.body.object?["settings"]?.object?["allowedOrigins"] == .array([.string("https://a.example")]))
            let same = try await administration.applications.change(
                "demo",
                patch: back.body,
                if: .tags([try #require(back.tag)]),
                by: Office.actor
            )
            #expect(same.tag == back.tag, "what was read changes nothing when it is sent back")
            #expect(
                try await office.audit() == [
                    "application.create", "application.rename", "application.settings", "application.rename",
                    "application.settings",
                ]
            )
        }
    }

    @Test("a document that cannot be is refused with every problem and its place, and makes nothing")
    func problems() async throws {
        try await Office.lend { office in
            for (document, pointers) in [
                ("[]", [""]), ("{}", ["/application"]),
                (
                    #"{"application":"a b","schema":"pg_x","settings":{"x":1},"keys":[]}"#,
                    ["/keys", "/application", "/settings/x", "/schema"]
                ),
                (#"{"application":"federation"}"#, ["/schema"]),
                (#"{"application":"x","name":""}"#, ["/name"]), (#"{"application":"x","name":7}"#, ["/name"]),
            ] {
                let refused = try await failure {
                    try await office.administration.applications.create(try json(document), by: Office.actor)
                }
                #expect(refused?.reason == .documentInvalid, "\(document)")
                #expect(Set(refused?.pointers ?? []) == Set(pointers), "\(document): \(refused?.pointers ?? [])")
            }
            for (patch, pointers) in [
                ("7", [""]), (#"{"schema":"other","application":"demo"}"#, ["/schema"]), (#"{"nam":"x"}"#, ["/nam"]),
                (
                    #"{"settings":{"nonsense":null,"clientMapping":1}}"#,
                    ["/settings/nonsense", "/settings/clientMapping"]
                ),
                (#"{"settings":7}"#, ["/settings"]), (#"{"name":7}"#, ["/name"]), (#"{"revision":1}"#, ["/revision"]),
            ] {
                let refused = try await failure {
                    try await office.administration.applications.change(
                        "demo",
                        patch: try json(patch),
                        if: .any,
                        by: Office.actor
                    )
                }
                #expect(refused?.reason == .documentInvalid, "\(patch)")
                #expect(Set(refused?.pointers ?? []) == Set(pointers), "\(patch): \(refused?.pointers ?? [])")
            }
            let all = try await office.administration.applications.list(PageRequest())
            #expect(all.items.count == 1)
        }
    }

    @Test("an id or a schema that is taken is a conflict")
    func taken() async throws {
        try await Office.lend { office in
            for document in [#"{"application":"demo"}"#, #"{"application":"other","schema":"demo"}"#] {
                let refused = try await failure {
                    try await office.administration.applications.create(try json(document), by: Office.actor)
                }
                #expect(refused?.reason == .conflict)
            }
        }
    }

    @Test("T-117: an unknown id and one that cannot be answer alike, whatever is asked")
    func unknown() async throws {
        try await Office.lend { office in
            let administration = office.administration
            var answers: [String] = []
            for id in ["nobody", "no body", "", "../demo", "demo\u{301}", String(repeating: "a", count: 70_000)] {
                let patch = JSONValue.object([:])
                let failures = [
                    try await failure { try await administration.applications.read(id) },
                    try await failure { try await administration.keys.list(of: id) },
                    try await failure { try await administration.providers.read(.facebook, of: id) },
                    try await failure { try await administration.properties.list(of: id) },
                    try await failure { try await administration.mappings.read(for: .facebook, of: id) },
                    try await failure {
                        try await administration.applications.change(id, patch: patch, if: .any, by: Office.actor)
                    },
                    try await failure {
                        try await administration.applications.delete(id, confirmation: id, if: .any, by: Office.actor)
                    },
                ]
                answers += failures.map { "\($0?.reason.rawValue ?? "none") \($0?.message ?? "")" }
            }
            #expect(Set(answers).count == 1, "\(Set(answers))")
            #expect(answers.first?.hasPrefix("not_found ") == true)
        }
    }

    @Test("a change needs the tag that is there")
    func preconditions() async throws {
        try await Office.lend { office in
            let patch = JSONValue.object(["name": .string("x")])
            for (precondition, reason) in [
                (Precondition.missing, Failure.Reason.preconditionRequired), (.tags(["0", "x"]), .preconditionFailed),
            ] {
                let refused = try await failure {
                    try await office.administration.applications.change(
                        "demo",
                        patch: patch,
                        if: precondition,
                        by: Office.actor
                    )
                }
                #expect(refused?.reason == reason)
            }
            #expect(try await office.audit() == ["application.create"])
        }
    }

    @Test("deleting needs the id once more, and takes the schema with it")
    func delete() async throws {
        try await Office.lend { office in
            for confirmation in [nil, "", "DEMO", "demo "] as [String?] {
                let refused = try await failure {
                    try await office.administration.applications.delete(
                        "demo",
                        confirmation: confirmation,
                        if: .any,
                        by: Office.actor
                    )
                }
                #expect(refused?.reason == .malformedRequest)
                #expect(refused?.message.contains("?confirm=demo") == true)
            }
            try await office.administration.applications.delete(
                "demo",
                confirmation: "demo",
                if: .any,
                by: Office.actor
            )
            let gone = try await failure { try await office.administration.applications.read("demo") }
            #expect(gone?.reason == .notFound)
            #expect(try await office.database.psql("select 1 from pg_namespace where nspname = 'demo'").isEmpty)
        }
    }

    @Test("lists come in pages")
    func pages() async throws {
        try await Office.lend { office in
            for id in ["a", "b", "c"] {
                _ = try await office.administration.applications.create(
                    .object(["application": .string(id)]),
                    by: Office.actor
                )
            }
            var found: [String] = []
            var cursor: String?
            repeat {
                let page = try await office.administration.applications.list(PageRequest(limit: 2, cursor: cursor))
                found += page.items.compactMap { $0.object?["application"]?.string }
                cursor = page.next
            } while cursor != nil
            #expect(found == ["a", "b", "c", "demo"])
            let refused = try await failure {
                try await office.administration.applications.list(PageRequest(cursor: "no cursor"))
            }
            #expect(refused?.reason == .malformedRequest)
        }
    }
}
