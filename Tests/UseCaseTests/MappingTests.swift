import Accounts
import Administration
import Domain
import Encodings
import Facebook
import Testing

@Suite("Mappings of the administration")
struct MappingTests {
    private static func put(_ office: Office, _ document: String) async throws -> Resource {
        try await office.administration.mappings.put(
            for: .facebook,
            of: "demo",
            try json(document),
            if: .any,
            by: Office.actor
        )
    }

    @Test("every form becomes the list; the same mapping makes no revision")
    func forms() async throws {
        try await Office.lend { office in
            let none = try await failure { try await office.administration.mappings.read(for: .facebook, of: "demo") }
            #expect(none?.reason == .notFound)
            let first = try await Self.put(office, #"{"email":"email"}"#)
            #expect(first.body.object?["revision"] == .integer(1))
            #expect(first.body.object?["author"] == .string("ann"))
            for same in [
                #"[{"from":"email","to":"email"}]"#, #"{"entries":{"email":"email"}}"#,
                #"{"entries":[{"to":"email","from":"email","sync":"always"}]}"#, first.body.text,
            ] {
                let put = try await Self.put(office, same)
                #expect(put.body == first.body)
                #expect(put.tag == first.tag)
            }
            let second = try await Self.put(office, #"{"entries":"name"}"#)
            #expect(second.body.object?["entries"]?.text == #"[{"from":"entries","to":"name"}]"#)
        }
    }

    @Test("everything that is wrong is listed with its place and its entry")
    func problems() async throws {
        try await Office.lend { office in
            for (document, pointers) in [
                (
                    #"[{"from":"email","to":"email"},{"from":"${7*7}","to":"objectId"},{"from":"name","to":"nobody"}]"#,
                    ["/1/from", "/1/to", "/2/to"]
                ),
                (#"{"entries":[{"from":"email"}]}"#, ["/entries/0/to"]),
                (#"{"entries":{"email":"nobody"}}"#, ["/entries/email"]),
                (#"{"entries":[],"more":1}"#, ["/more"]), ("7", [""]),
            ] {
                let refused = try await failure { try await Self.put(office, document) }
                #expect(refused?.reason == .documentInvalid, "\(document)")
                #expect(refused?.pointers == pointers, "\(document)")
            }
            let refused = try await failure {
                try await Self.put(office, #"[{"from":"name","to":"nobody"}]"#)
            }
            #expect(refused?.details["problems"]?.array?.first?.object?["entry"]?.object?["position"] == .integer(0))
        }
    }

    @Test("revisions are listed, held against each other, and come back only while they fit")
    func revisions() async throws {
        try await Office.lend { office in
            let administration = office.administration
            _ = try await administration.properties.declare(
                of: "demo",
                json(#"{"name":"nick","type":"STRING"}"#),
                if: .any,
                by: Office.actor
            )
            _ = try await Self.put(office, #"{"email":"email","name":"name"}"#)
            _ = try await Self.put(
                office,
                #"[{"from":"email","to":"email","sync":"ifEmpty"},{"from":"first_name","to":"nick"}]"#
            )
            let difference = try await administration.mappings.difference(from: 1, to: 2, for: .facebook, of: "demo")
            #expect(
                difference.text == """
                    {"from":1,"to":2,"added":[{"from":"first_name","to":"nick"}],"removed":[{"from":"name","to":"name"}],\
                    "changed":[{"to":"email","from":{"from":"email","to":"email"},\
                    "into":{"from":"email","to":"email","sync":"ifEmpty"}}]}
                    """
            )
            let back = try await administration.mappings.rollBack(
                for: .facebook,
                of: "demo",
                to: 1,
                if: .any,
                by: Office.actor
            )
            #expect(back.body.object?["revision"] == .integer(3))
            #expect(back.body.object?["entries"]?.array?.count == 2)
            let pages = try await administration.mappings.revisions(for: .facebook, of: "demo", PageRequest(limit: 2))
            #expect(pages.items.map { $0.object?["revision"] } == [.integer(3), .integer(2)])
            #expect(pages.items.map { $0.object?["active"] } == [.bool(true), .bool(false)])
            let rest = try await administration.mappings.revisions(
                for: .facebook,
                of: "demo",
                PageRequest(limit: 2, cursor: pages.next)
            )
            #expect(rest.items.map { $0.object?["revision"] } == [.integer(1)])
            #expect(rest.next == nil)
            let second = try await administration.mappings.revision(2, for: .facebook, of: "demo")
            #expect(second.body.object?["active"] == .bool(false))
            #expect(second.tag == back.tag)

            try await administration.properties.remove(
                "nick",
                of: "demo",
                confirmation: "nick",
                if: .any,
                by: Office.actor
            )
            let unfit = try await failure {
                try await administration.mappings.rollBack(
                    for: .facebook,
                    of: "demo",
                    to: 2,
                    if: .any,
                    by: Office.actor
                )
            }
            #expect(unfit?.reason == .documentInvalid)
            #expect(unfit?.pointers == ["/1/to"])
            for revision in [0, 9, .max, .min] as [Int64] {
                let shown = try await failure {
                    try await administration.mappings.revision(revision, for: .facebook, of: "demo")
                }
                #expect(shown?.reason == .notFound)
                let compared = try await failure {
                    try await administration.mappings.difference(from: 1, to: revision, for: .facebook, of: "demo")
                }
                #expect(compared?.reason == .notFound)
                let rolled = try await failure {
                    try await administration.mappings.rollBack(
                        for: .facebook,
                        of: "demo",
                        to: revision,
                        if: .any,
                        by: Office.actor
                    )
                }
                #expect(rolled?.reason == .notFound)
            }
        }
    }
}
