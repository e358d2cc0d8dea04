import Accounts
import Administration
import Domain
import Encodings
import Facebook
import Store
import Testing
import TestSupport

@Suite("Properties")
struct PropertyTests {
    private static func columns(_ office: Office) async throws -> [String] {
        try await office.database.psql(
            """
            select attname || ' ' || format_type(atttypid, null) || case when attnotnull then ' not null' else '' end
            from pg_attribute where attrelid = 'demo.users'::regclass and attnum > 11 and not attisdropped order by attnum
            """
        ).compactMap { $0.first ?? nil }
    }

    private static func declare(_ office: Office, _ document: String) async throws -> Resource {
        try await office.administration.properties.declare(of: "demo", try json(document), if: .any, by: Office.actor)
    }

    private static func patch(_ office: Office, _ name: String, _ patch: String) async throws -> Resource {
        try await office.administration.properties.change(
            name,
            of: "demo",
            patch: try json(patch),
            if: .any,
            by: Office.actor
        )
    }

    @Test(
        "a declared property is a typed column; name, type and flags change in one patch, and the mapping follows the name"
    )
    func change() async throws {
        try await Office.lend { office in
            let administration = office.administration
            let made = try await Self.declare(office, #"{"name":"points","type":"INT","clientMappable":true}"#)
            #expect(
                made.body.text
                    == #"{"name":"points","type":"INT","required":false,"clientMappable":true,"visibleTo":"self","indexed":false,"builtIn":false}"#
            )
            _ = try await administration.mappings.put(
                for: .facebook,
                of: "demo",
                json(#"{"age_range.min":"points"}"#),
                if: .any,
                by: Office.actor
            )
            #expect(try await Self.columns(office) == ["points bigint"])
            let changed = try await Self.patch(
                office,
                "points",
                #"{"name":"score","type":"DOUBLE","required":true,"clientMappable":null,"builtIn":false}"#
            )
            #expect(
                changed.body.text
                    == #"{"name":"score","type":"DOUBLE","required":true,"clientMappable":false,"visibleTo":"self","indexed":false,"builtIn":false}"#
            )
            #expect(try await Self.columns(office) == ["score double precision not null"])
            let mapping = try await administration.mappings.read(for: .facebook, of: "demo")
            #expect(mapping.body.object?["revision"] == .integer(2))
            #expect(mapping.body.object?["entries"]?.text == #"[{"from":"age_range.min","to":"score"}]"#)
            #expect(mapping.tag == changed.tag)

            let mapped = try await failure {
                try await administration.properties.remove(
                    "score",
                    of: "demo",
                    confirmation: "score",
                    if: .any,
                    by: Office.actor
                )
            }
            #expect(mapped?.reason == .conflict)
            #expect(mapped?.details["entries"]?.array?.first?.object?["position"] == .integer(0))
            _ = try await Self.patch(office, "score", #"{"required":false}"#)
            _ = try await administration.mappings.put(
                for: .facebook,
                of: "demo",
                json("[]"),
                if: .any,
                by: Office.actor
            )
            for confirmation in [nil, "SCORE"] as [String?] {
                let refused = try await failure {
                    try await administration.properties.remove(
                        "score",
                        of: "demo",
                        confirmation: confirmation,
                        if: .any,
                        by: Office.actor
                    )
                }
                #expect(refused?.message.contains("?confirm=score") == true)
            }
            try await administration.properties.remove(
                "score",
                of: "demo",
                confirmation: "score",
                if: .any,
                by: Office.actor
            )
            #expect(try await Self.columns(office).isEmpty)
        }
    }

    @Test("an index is declared, built, told of, and given up again; a JSON property has none")
    func index() async throws {
        try await Office.lend { office in
            let administration = office.administration
            func property(_ name: String) async throws -> JSONObject? {
                try await administration.properties.read(name, of: "demo").body.object
            }
            let made = try await Self.declare(office, #"{"name":"city","type":"STRING","indexed":true}"#)
            #expect(made.body.object?["index"] == .object(["state": .string("building")]))
            let name = try await Self.patch(office, "name", #"{"indexed":true}"#)
            #expect(name.body.object?["clientMappable"] == .bool(true), "a built-in property keeps what it is")
            let list = try await administration.properties.index("demo").body.object?["items"]?.array ?? []
            #expect(
                list.filter { $0.object?["index"] == .object(["state": .string("ready")]) }
                    .compactMap { $0.object?["name"]?.string } == ["city", "name"]
            )

            let declared = try await failure {
                try await Self.declare(office, #"{"name":"x","type":"JSON","indexed":true}"#)
            }
            #expect(declared?.reason == .documentInvalid)
            let widened = try await failure { try await Self.patch(office, "city", #"{"type":"JSON"}"#) }
            for refused in [declared, widened] {
                #expect(refused?.details["problems"]?.text.contains("/indexed") == true)
            }

            _ = try await Self.patch(office, "city", #"{"indexed":false,"index":{"state":"gone"},"slowSearches":{}}"#)
            #expect(try await property("city")?["index"] == nil)
            var tally = SlowSearchTally()
            tally.add(700)
            let names = ["city", "name"].compactMap { PropertyName($0) }
            let demo = try #require(ApplicationID("demo"))
            try await office.store.noteSlowSearches(tally, by: names, of: demo)
            let slow = try #require(try await property("city")?["slowSearches"]?.object)
            #expect(slow["count"] == .integer(1) && slow["slowestMilliseconds"] == .integer(700))
            #expect(try await property("name")?["slowSearches"] == nil, "it has its index by now")
            _ = try await administration.properties.index("demo")
            #expect(
                try await office.audit().filter { $0.contains(".index") }
                    == ["property.index name", "property.index city"]
            )
        }
    }

    private static let impossibleNames = [
        #"x"; drop table users;--"#, "a'b", "data->>'x'", "users.password", #""password""#, "ctid", "CTID", "xmin",
        "password", "PASSWORD", "", "1a", "objectId", "user_status", "\u{212A}ey", String(repeating: "a", count: 64),
    ]

    @Test("T-52, T-57: names that are none, or that belong to the system, are refused and make no column")
    func names() async throws {
        try await Office.lend { office in
            _ = try await Self.declare(office, #"{"name":"good","type":"STRING"}"#)
            for name in Self.impossibleNames {
                let document: JSONObject = ["name": .string(name), "type": .string("STRING")]
                let refused = try await failure {
                    try await office.administration.properties.declare(
                        of: "demo",
                        .object(document),
                        if: .any,
                        by: Office.actor
                    )
                }
                #expect(refused?.reason == .documentInvalid, "\(name)")
                #expect(refused?.pointers == ["/name"], "\(name)")
                #expect(refused?.message.lowercased().contains("drop table") == false)
                let patch: JSONObject = ["name": .string(name)]
                let renamed = try await failure { try await Self.patch(office, "good", JSONValue.object(patch).text) }
                #expect(renamed?.pointers == ["/name"], "\(name)")
            }
            #expect(try await Self.columns(office) == ["good text"])
        }
    }

    @Test("what else cannot be")
    func problems() async throws {
        try await Office.lend { office in
            _ = try await Self.declare(office, #"{"name":"a","type":"STRING"}"#)
            _ = try await Self.declare(office, #"{"name":"select","type":"DATE"}"#)
            for taken in ["a", "email"] {
                let refused = try await failure {
                    try await Self.declare(office, #"{"name":"\#(taken)","type":"STRING"}"#)
                }
                #expect(refused?.reason == .conflict)
            }
            let wrong = try await failure {
                try await Self.declare(office, #"{"name":"b","type":"text","required":1,"x":2}"#)
            }
            #expect(wrong?.pointers == ["/x", "/type", "/required"])
            for (name, patch, pointers) in [
                ("a", #"{"type":"INT"}"#, ["/type"]), ("a", #"{"builtIn":true}"#, ["/builtIn"]), ("a", "[]", [""]),
                ("email", #"{"name":"mail"}"#, ["/name"]), ("email", #"{"type":"TEXT"}"#, ["/type"]),
                ("a", #"{"name":null}"#, ["/name"]), ("a", #"{"reqired":true}"#, ["/reqired"]),
            ] {
                let refused = try await failure { try await Self.patch(office, name, patch) }
                #expect(refused?.reason == .documentInvalid, "\(patch)")
                #expect(refused?.pointers == pointers, "\(patch)")
            }
            let taken = try await failure { try await Self.patch(office, "a", #"{"name":"select"}"#) }
            #expect(taken?.reason == .conflict)
            let unknown = try await failure { try await Self.patch(office, "none", "{}") }
            #expect(unknown?.reason == .notFound)
            let removed = try await failure {
                try await office.administration.properties.remove(
                    "email",
                    of: "demo",
                    confirmation: "email",
                    if: .any,
                    by: Office.actor
                )
            }
            #expect(removed?.reason == .conflict)
            _ = try await Self.patch(office, "email", #"{"clientMappable":false}"#)
            #expect(
                try await office.administration.properties.read("email", of: "demo").body.object?["clientMappable"]
                    == .bool(false)
            )
            _ = try await office.administration.mappings.put(
                for: .facebook,
                of: "demo",
                json(#"{"name":"name"}"#),
                if: .any,
                by: Office.actor
            )
            let unfilled = try await failure {
                try await Self.patch(office, "a", #"{"required":true}"#)
            }
            #expect(unfilled?.reason == .documentInvalid)
        }
    }
}
