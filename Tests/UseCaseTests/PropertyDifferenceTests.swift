@testable import Accounts
@testable import Administration
import Description
import Domain
import Encodings
import Facebook
import Providers
@testable import Store
import Testing

@Suite("Properties and mapping, from what they are to what they shall be")
struct PropertyDifferenceTests {
    private static let sample = Sample(
        properties: #"{"nick":{"type":"STRING","clientMappable":true},"points":{"type":"INT"},"day":{"type":"DATE"}}"#,
        mapping: #"[{"from":"name","to":"nick","sync":"ifEmpty"},{"from":"birthday","to":"day"}]"#,
        dynamicNames: ["dyn"]
    )

    private static func lines(_ edit: (inout DesiredApplication) throws -> Void) throws -> [String] {
        let stored = try sample.stored()
        var desired = DesiredApplication(stored, kinds: try .outOfReach())
        try edit(&desired)
        return try ConfigurationDifference.changes(from: stored, to: desired, columns: []).map(\.line)
    }

    private static func problems(
        _ sample: Sample = sample,
        columns: [LiveColumn] = [],
        _ edit: (inout DesiredApplication) throws -> Void
    ) throws -> [DocumentProblems.Problem] {
        let stored = try sample.stored()
        var desired = DesiredApplication(stored, kinds: try .outOfReach())
        try edit(&desired)
        return ConfigurationDifference.problems(from: stored, to: desired, columns: columns).problems
    }

    private static func name(_ text: String) throws -> PropertyName { try #require(PropertyName(text)) }

    private static func property(
        _ text: String,
        _ type: PropertyType,
        required: Bool = false,
        clientMappable: Bool = false
    ) throws -> Property {
        Property(name: try name(text), type: type, required: required, clientMappable: clientMappable)
    }

    @Test("declaring, widening, changing, removing and ordering")
    func properties() throws {
        #expect(
            try Self.lines { $0.properties.append(try Self.property("new", .json, clientMappable: true)) } == [
                #"property.declare new: nil -> {"type":"JSON","required":false,"clientMappable":true,"visibleTo":"self"}"#
            ]
        )
        #expect(
            try Self.lines { $0.properties[3] = Property(name: try Self.name("points"), type: .double, indexed: true) }
                == [#"property.widen points: "INT" -> "DOUBLE""#, "property.index points: false -> true"]
        )
        #expect(
            try Self.lines { $0.properties[3] = try Self.property("points", .double) } == [
                #"property.widen points: "INT" -> "DOUBLE""#
            ]
        )
        #expect(
            try Self.lines { $0.properties[2] = try Self.property("nick", .text) } == [
                #"property.widen nick: "STRING" -> "TEXT""#,
                #"property.change nick: {"required":false,"clientMappable":true,"visibleTo":"self"} -> {"required":false,"clientMappable":false,"visibleTo":"self"}"#,
            ]
        )
        #expect(
            try Self.lines {
                $0.properties[0] = try Self.property("email", .string, required: true, clientMappable: true)
                $0.mapping = try json(#"{"email":"email","name":"nick","birthday":"day"}"#)
            }.map { $0.prefix(21) } == ["property.change email", "mapping.facebook.set "]
        )
        #expect(
            try Self.lines { $0.properties.remove(at: 3) } == [
                #"property.remove points: {"type":"INT","required":false,"clientMappable":false,"visibleTo":"self"} -> nil"#
            ]
        )
        #expect(
            try Self.lines { $0.properties.swapAt(2, 4) } == [
                #"property.order : ["nick","points","day"] -> ["day","points","nick"]"#
            ]
        )
        #expect(
            try Self.lines { $0.properties.insert(try Self.property("new", .int), at: 2) }.map { $0.prefix(16) } == [
                "property.declare", "property.order :",
            ],
            "what is declared comes behind the others"
        )
    }

    @Test("a renamed property keeps its place and its values, and its entry of the mapping follows")
    func renamed() throws {
        #expect(
            try Self.lines { $0.renameProperty(try Self.name("nick"), to: try Self.name("alias")) } == [
                #"property.rename nick: "nick" -> "alias""#,
                #"mapping.facebook.set facebook: [{"from":"name","to":"nick","sync":"ifEmpty"},{"from":"birthday","to":"day"}] -> [{"from":"name","to":"alias","sync":"ifEmpty"},{"from":"birthday","to":"day"}]"#,
            ]
        )
        #expect(
            try Self.lines { desired in
                desired.renameProperty(try Self.name("points"), to: try Self.name("score"))
                desired.properties[3] = try Self.property("score", .string, clientMappable: true)
            } == [
                #"property.rename points: "points" -> "score""#, #"property.widen score: "INT" -> "STRING""#,
                #"property.change score: {"required":false,"clientMappable":false,"visibleTo":"self"} -> {"required":false,"clientMappable":true,"visibleTo":"self"}"#,
            ]
        )
        var dictionary = Self.sample
        dictionary.mapping = #"{"name":"nick"}"#
        var desired = try DesiredApplication(dictionary.stored(), kinds: .outOfReach())
        desired.renameProperty(try Self.name("nick"), to: try Self.name("alias"))
        #expect(desired.mapping.text == #"{"name":"alias"}"#)
        #expect(try Self.lines { $0.renameProperty(try Self.name("nick"), to: try Self.name("nick")) }.isEmpty)
        #expect(try Self.lines { $0.renameProperty(try Self.name("nobody"), to: try Self.name("x")) }.isEmpty)
    }

    @Test("what the mapping writes is there before it, and goes behind it")
    func order() throws {
        let actions = try Self.lines { desired in
            desired.properties.removeLast()
            desired.properties.append(try Self.property("city", .string))
            desired.mapping = try json(#"{"name":"nick","location.name":"city"}"#)
        }.map { $0.prefix { $0 != ":" } }
        #expect(actions == ["property.declare city", "mapping.facebook.set facebook", "property.remove day"])
    }

    @Test("a mapping is another one only when it says something else")
    func mapping() throws {
        func lines(_ stored: String?, _ mapping: String) throws -> Int {
            var sample = Self.sample
            sample.mapping = stored
            let application = try sample.stored()
            var desired = DesiredApplication(application, kinds: try .outOfReach())
            desired.mapping = try json(mapping)
            return try ConfigurationDifference.changes(from: application, to: desired, columns: []).count
        }
        let same = #"[{"to":"nick","from":"name","sync":"always","required":false,"transform":null}]"#
        #expect(try lines(#"{"name":"nick"}"#, same) == 0)
        #expect(try lines(nil, "[]") == 0)
        #expect(try lines(nil, "{}") == 0)
        #expect(try lines("[]", same) == 1)
        #expect(try lines(#"{"name":"nick"}"#, "[]") == 1)
        #expect(
            try lines(#"[{"from":"name","to":"nick"},{"from":"id","to":"points"}]"#, #"{"id":"points","name":"nick"}"#)
                == 1
        )
        let lookup = #"[{"from":"gender","to":"nick","transform":{"lookup":{"a":1,"bb":2}}}]"#
        #expect(try lines(lookup, #"[{"from":"gender","to":"nick","transform":{"lookup":{"bb":2,"a":1}}}]"#) == 0)
        #expect(try lines(lookup, #"[{"from":"gender","to":"nick","transform":{"lookup":{"a":2,"bb":1}}}]"#) == 1)
        #expect(try lines(lookup, #"[{"from":"gender","to":"nick","transform":{"lookup":{"a":1}}}]"#) == 1)
    }

    @Test(
        "a number is the one that jsonb made of it",
        arguments: [
            ("1e2", "100", true), ("1E+2", "100", true), ("1.5e1", "15", true), ("-0", "0", true), ("0e5", "0", true),
            ("1e-2", "0.01", true), ("12.50e1", "125.0", true), ("0.50", "0.50", true), ("-1.5", "-1.5", true),
            ("123456789012345678901234567890", "123456789012345678901234567890", true),
            ("1.50", "1.5", false), ("1", "1.0", false), ("1", "-1", false), ("100", "10", false),
            ("1e2", "1e3", false),
            ("0.0", "0", false), ("10", "1", false),
        ]
    )
    func numbers(written: String, kept: String, isSame: Bool) throws {
        #expect(try json("[\(written)]").isStored(as: try json("[\(kept)]")) == isSame)
        #expect(try json("[\(kept)]").isStored(as: try json("[\(written)]")) == isSame)
    }

    @Test("names that are reserved, taken or of another property are refused")
    func names() throws {
        func pointers(_ edit: (inout DesiredApplication) throws -> Void) throws -> [String] {
            try Self.problems(Self.sample, edit).map(\.pointer.text)
        }
        for name in ["objectId", "XMIN", "password", "Email_Verified"] {
            #expect(
                try pointers { $0.properties.append(try Self.property(name, .int)) } == ["/properties/\(name)"]
            )
            #expect(
                try pointers { $0.renameProperty(try Self.name("points"), to: try Self.name(name)) }
                    == ["/properties/\(name)"]
            )
        }
        #expect(try pointers { $0.properties.append(try Self.property("day", .date)) } == ["/properties/day"])
        #expect(
            try pointers { $0.renameProperty(try Self.name("points"), to: try Self.name("nick")) }
                == ["/properties/nick", "/properties/nick/type"]
        )
        #expect(
            try pointers { desired in
                desired.properties.removeAll { $0.name.text == "points" }
                desired.renameProperty(try Self.name("nick"), to: try Self.name("points"))
            } == ["/properties/points"]
        )
        #expect(
            try pointers { $0.renameProperty(try Self.name("points"), to: try Self.name("dyn")) } == ["/properties/dyn"]
        )
        #expect(try pointers { $0.properties.append(try Self.property("dyn", .int)) }.isEmpty, "declaring it is right")
        #expect(try pointers { $0.properties.removeFirst() } == ["/properties/email"])
        #expect(
            try pointers { $0.renameProperty(.name, to: try Self.name("title")) } == ["/properties/name"]
        )
    }

    @Test("a type is widened and nothing else")
    func types() throws {
        for type in PropertyType.allCases {
            let problems = try Self.problems { $0.properties[3] = try Self.property("points", type) }
            let isWider = [.int, .double, .string, .text, .json].contains(type)
            #expect(problems.map(\.pointer.text) == (isWider ? [] : ["/properties/points/type"]))
            let builtIn = try Self.problems { $0.properties[0] = try Self.property("email", type) }
            #expect(builtIn.map(\.pointer.text) == (type == .string ? [] : ["/properties/email/type"]))
        }
        let message = try Self.problems { $0.properties[3] = try Self.property("points", .date) }.first?.message
        #expect(message?.hasPrefix("must stay INT or become STRING, TEXT, DOUBLE, JSON") == true)
    }

    @Test("the mapping fits the properties that there will be, and the live table as the steps leave it")
    func live() throws {
        func column(_ name: String, _ type: String, notNull: Bool = false) -> LiveColumn {
            LiveColumn(name: name, sqlType: type, notNull: notNull, hasDefault: false)
        }
        func pointers(
            _ columns: [LiveColumn],
            _ edit: (inout DesiredApplication) throws -> Void
        ) throws -> [String] {
            try Self.problems(columns: columns, edit).map(\.pointer.text)
        }
        let mapping = "/mapping/facebook"
        let kinds = [
            "text", "text", "bigint", "double precision", "boolean", "date", "timestamp with time zone", "jsonb",
        ]
        for (type, kind) in zip(PropertyType.allCases, kinds) {
            for other in [kind, "character varying(500)", "integer", "json", "timestamp without time zone", "text[]"] {
                let found = try pointers([column("p", other)]) { $0.properties.append(try Self.property("p", type)) }
                #expect(found == (other == kind ? [] : ["/properties/p/type"]), "\(type) in \(other)")
            }
        }
        #expect(try pointers([column("theirs", "text", notNull: true)]) { _ in } == [mapping])
        #expect(
            try pointers([column("points", "text")]) { _ in } == ["/properties/points/type"],
            "not what is declared"
        )
        #expect(
            try pointers([column("points", "bigint")]) { $0.properties[3] = try Self.property("points", .json) }.isEmpty
        )
        #expect(
            try pointers([column("new", "text")]) { $0.properties.append(try Self.property("new", .int)) }
                == ["/properties/new/type"]
        )
        #expect(try pointers([column("points", "bigint", notNull: true)]) { $0.properties.remove(at: 3) }.isEmpty)
        #expect(
            try pointers([column("points", "bigint", notNull: true)]) {
                $0.renameProperty(try Self.name("points"), to: try Self.name("score"))
            }.isEmpty
        )
        let required = try Self.property("points", .int, required: true)
        #expect(try pointers([]) { $0.properties[3] = required } == [mapping])
        #expect(try pointers([]) { $0.properties.removeLast() } == ["/mapping/facebook/1/to"])
    }
}
