import Accounts
import Administration
import Domain
import Encodings
import Testing
import TestSupport

@Suite("API keys")
struct KeyTests {
    @Test("a key is shown once, and only its hash is stored")
    func make() async throws {
        try await Office.lend { office in
            let administration = office.administration
            let made = try await administration.keys.create(of: "demo", json(#"{"label":"ios"}"#), by: Office.actor)
            let key = try #require(made.body.object?["key"]?.string)
            #expect(key.utf8.count == 43)
            let given = "0123456789abcdef"
            let taken = try await administration.keys.create(
                of: "demo",
                json(#"{"label":"web","key":"\#(given)"}"#),
                by: Office.actor
            )
            #expect(taken.body.object?["key"]?.string == given)
            let list = try await administration.keys.list(of: "demo")
            #expect(list.body.object?["items"]?.array?.count == 2)
            #expect(list.tag == taken.tag)
            #expect(!list.body.text.contains(key) && !list.body.text.contains(given))
            let dump = try await office.database.psql(
                "select to_jsonb(a)::text from federation.audit_log a union all select to_jsonb(k)::text from federation.api_keys k"
            )
            #expect(!"\(dump)".contains(key) && !"\(dump)".contains(given))
        }
    }

    @Test("a key is a server's when it was made so, whatever is patched later, and the document says it")
    func server() async throws {
        try await Office.lend { office in
            let administration = office.administration
            let made = try await administration.keys.create(
                of: "demo",
                json(#"{"label":"backend","server":true}"#),
                by: Office.actor
            )
            #expect(made.body.object?["server"]?.bool == true)
            let refused = try await failure {
                try await administration.keys.relabel(
                    "backend",
                    of: "demo",
                    patch: json(#"{"server":false}"#),
                    if: .any,
                    by: Office.actor
                )
            }
            #expect(refused?.reason == .documentInvalid)
            let relabelled = try await administration.keys.relabel(
                "backend",
                of: "demo",
                patch: json(#"{"label":"server","server":true}"#),
                if: .any,
                by: Office.actor
            )
            #expect(relabelled.body.object?["server"]?.bool == true)
            let document = try await administration.documents.read(of: "demo").body.object
            let keys = document?["keys"]?.array?.compactMap(\.object) ?? []
            #expect(keys.map { $0["server"] } == [.bool(true)])
        }
    }

    @Test("what no key can be is refused, and its text is not repeated")
    func problems() async throws {
        try await Office.lend { office in
            _ = try await office.administration.keys.create(
                of: "demo",
                json(#"{"label":"ios","key":"0123456789abcdef"}"#),
                by: Office.actor
            )
            for (document, reason, pointers) in [
                (#"{"label":"x","key":"CANARY-short"}"#, Failure.Reason.documentInvalid, ["/key"]),
                (#"{"label":"x","key":"CANARY CANARY CANARY"}"#, .documentInvalid, ["/key"]),
                (#"{"label":"","key":7,"more":1}"#, .documentInvalid, ["/more", "/label", "/key"]),
                ("{}", .documentInvalid, ["/label"]), ("7", .documentInvalid, [""]),
                (#"{"label":"ios"}"#, .conflict, []), (#"{"label":"x","key":"0123456789abcdef"}"#, .conflict, []),
            ] {
                let refused = try await failure {
                    try await office.administration.keys.create(of: "demo", try json(document), by: Office.actor)
                }
                #expect(refused?.reason == reason, "\(document)")
                #expect(Set(refused?.pointers ?? []) == Set(pointers), "\(document)")
                #expect(refused?.message.contains("CANARY") == false)
            }
        }
    }

    @Test("a key is relabelled and revoked")
    func change() async throws {
        try await Office.lend { office in
            let administration = office.administration
            let first = try await administration.keys.create(of: "demo", json(#"{"label":"a"}"#), by: Office.actor)
            _ = try await administration.keys.create(of: "demo", json(#"{"label":"b"}"#), by: Office.actor)
            func relabel(_ label: String, _ patch: String) async throws -> Failure? {
                try await failure {
                    try await administration.keys.relabel(
                        label,
                        of: "demo",
                        patch: try json(patch),
                        if: .any,
                        by: Office.actor
                    )
                }
            }
            #expect(try await relabel("a", #"{"label":"b"}"#)?.reason == .conflict)
            #expect(try await relabel("c", #"{"label":"d"}"#)?.reason == .notFound)
            #expect(try await relabel("a", #"{"label":null}"#)?.pointers == ["/label"])
            #expect(try await relabel("a", #"{"created":1}"#)?.pointers == ["/created"])
            #expect(
                try await relabel(
                    "a",
                    #"{"label":"c","created":\#(try #require(first.body.object?["created"]?.text))}"#
                )
                    == nil
            )
            try await administration.keys.revoke("c", of: "demo", if: .any, by: Office.actor)
            let left = try await administration.keys.list(of: "demo").body.object?["items"]?.array
            #expect(left?.compactMap { $0.object?["label"]?.string } == ["b"])
            #expect(try await office.audit().suffix(2) == ["key.relabel a", "key.revoke c"])
        }
    }
}
