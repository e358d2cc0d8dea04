import Domain
import Encodings
import Mapping
import Testing

@Suite("Reading mapping documents")
struct MappingDocumentTests {
    private static func problems(_ text: String, origin: MappingOrigin = .stored) throws -> [MappingProblem] {
        do {
            _ = try Mapping(try Scenario.parse(text), origin: origin)
            return []
        } catch let problems as MappingProblems {
            return problems.all
        }
    }

    @Test("both forms say the same, and the list form is what is stored")
    func forms() throws {
        let dictionary = try Mapping(try Scenario.parse(#"{"email":"email","picture.data.url":"avatar"}"#))
        let list = try Mapping(
            try Scenario.parse(
                #"[{"from":"email","to":"email"},{"to":"avatar","from":"picture.data.url","sync":"always"}]"#
            )
        )
        #expect(dictionary == list)
        #expect(dictionary.json.text == #"[{"from":"email","to":"email"},{"from":"picture.data.url","to":"avatar"}]"#)
        #expect(try Mapping(.object([:])).entries.isEmpty)
        #expect(try Mapping(.array([])).json.text == "[]")
    }

    @Test("an entry without options has the defaults")
    func defaults() throws {
        let entry = try #require(try Mapping(try Scenario.parse(#"[{"from":"email","to":"email"}]"#)).entries.first)
        #expect(entry.from == FieldPath("email").map(MappingSource.path))
        #expect(entry.to == .email)
        #expect(entry.type == nil)
        #expect(entry.sync == .always)
        #expect(!entry.required)
        #expect(entry.default == nil)
        #expect(entry.transforms.isEmpty)
    }

    @Test(
        "what is written back reads as the same mapping",
        arguments: [
            #"[{"from":"{first_name} {last_name}","to":"name","type":"TEXT","sync":"untilEdited","required":true,"default":"?","transform":"trim"}]"#,
            #"[{"from":"gender","to":"g","transform":["trim",{"lookup":{"male":"M","female":"F","x":null},"else":0}]}]"#,
            #"[{"from":"friends.data.name","to":"f","sync":"firstLogin","transform":[{"join":", "},"uppercase","lowercase"]}]"#,
            #"[{"from":"birthday","to":"b","type":"DATE","sync":"ifEmpty","transform":{"date":"dd.MM.yyyy"}},{"from":"id","to":"f","transform":"first"}]"#,
            #"[{"from":"email","to":"email","default":{"a":[1.50,null]}}]"#,
            #"[{"from":"email","to":"email","whenMissing":"clear","transform":"trim"},{"from":"name","to":"n","whenMissing":"keep"}]"#,
        ]
    )
    func roundTrip(text: String) throws {
        let mapping = try Mapping(try Scenario.parse(text))
        #expect(mapping.json.text == text)
        #expect(try Mapping(mapping.json) == mapping)
    }

    @Test("null is the same as absence")
    func null() throws {
        let mapping = try Mapping(
            try Scenario.parse(
                #"[{"from":"email","to":"email","type":null,"sync":null,"required":null,"default":null,"whenMissing":null,"transform":null}]"#
            )
        )
        #expect(mapping.json.text == #"[{"from":"email","to":"email"}]"#)
    }

    @Test(
        "each broken rule is a problem of its entry",
        arguments: [
            ("7", Failure.Reason.mappingInvalid), ("\"email\"", .mappingInvalid), ("null", .mappingInvalid),
            (#"["email"]"#, .mappingInvalid), ("[[]]", .mappingInvalid), ("[null]", .mappingInvalid),
            ("[{}]", .mappingInvalid),
            (#"{"email":1}"#, .mappingInvalid), (#"{"email":null}"#, .mappingInvalid),
            (#"{"email":{"to":"email"}}"#, .mappingInvalid), (#"{"email":["email"]}"#, .mappingInvalid),
            (#"{"":"email"}"#, .mappingInvalid), (#"{"9":"email"}"#, .mappingInvalid),
            (#"{"email":""}"#, .mappingTargetNotAllowed), (#"{"email":"objectId"}"#, .mappingTargetNotAllowed),
            (#"{"email":"OBJECTID"}"#, .mappingTargetNotAllowed), (#"{"email":"a b"}"#, .mappingTargetNotAllowed),
            (#"[{"from":"email"}]"#, .mappingInvalid), (#"[{"to":"email"}]"#, .mappingInvalid),
            (#"[{"from":1,"to":"email"}]"#, .mappingInvalid), (#"[{"from":"email","to":1}]"#, .mappingInvalid),
            (#"[{"from":"email","to":"email","x":1}]"#, .mappingInvalid),
            (#"[{"from":"email","to":"email","transfrom":"trim"}]"#, .mappingInvalid),
            (#"[{"from":"email","to":"email","From":"x"}]"#, .mappingInvalid),
            (#"[{"from":"email","to":"email","type":"string"}]"#, .mappingInvalid),
            (#"[{"from":"email","to":"email","type":"VARCHAR"}]"#, .mappingInvalid),
            (#"[{"from":"email","to":"email","type":1}]"#, .mappingInvalid),
            (#"[{"from":"email","to":"email","sync":"never"}]"#, .mappingInvalid),
            (#"[{"from":"email","to":"email","sync":true}]"#, .mappingInvalid),
            (#"[{"from":"email","to":"email","required":"yes"}]"#, .mappingInvalid),
            (#"{"email":"x","name":"x"}"#, .mappingInvalid),
            (#"[{"from":"email","to":"x"},{"from":"name","to":"x"}]"#, .mappingInvalid),
        ]
    )
    func rules(text: String, reason: Failure.Reason) throws {
        let problems = try Self.problems(text)
        #expect(problems.map(\.reason) == (text == "[{}]" ? [reason, reason] : [reason]))
    }

    @Test("every problem of a document is told at once, in its order")
    func allAtOnce() throws {
        let problems = try Self.problems(
            #"""
            [{"from":"email","to":"email"}, {"from":"9","to":"id","sync":"x","type":"y","required":1,"transform":["trim","q"],"z":0},
             7, {"from":"name","to":"email"}]
            """#
        )
        #expect(problems.map(\.position) == [1, 1, 1, 1, 1, 1, 1, 2, 3])
        #expect(problems.filter { $0.reason == .mappingTargetNotAllowed }.count == 1)
        #expect(problems.allSatisfy { $0.message.hasPrefix("mapping[") && $0.message.hasSuffix(".") })
    }

    @Test("a failure has the first problem as its message, and all of them for programs")
    func failure() throws {
        let json = try Scenario.parse(#"{"email":"email","first_name":"objectId","last_name":1}"#)
        let problems = try #require(throws: MappingProblems.self) { try Mapping(json, origin: .client) }
        let failure = problems.failure
        #expect(failure.reason == .mappingTargetNotAllowed)
        #expect(
            failure.message == #"fieldsMapping[1] ("first_name" to "objectId"): the property belongs to the system."#
        )
        #expect(
            failure.details["entry"]?.text == #"{"mapping":"client","position":1,"from":"first_name","to":"objectId"}"#
        )
        #expect(failure.details["problems"]?.array?.count == 2)
        #expect(
            failure.details["problems"]?.array?.last?.text == #"""
                {"reason":"mapping_invalid","message":"fieldsMapping[2] (from \"last_name\"): the property is named by a string, not by a number.","entry":{"mapping":"client","position":2,"from":"last_name"}}
                """#
        )
    }

    @Test("a client sends the dictionary form, with paths only, and at most 64 entries")
    func client() throws {
        #expect(try Self.problems(#"{"email":"email"}"#, origin: .client).isEmpty)
        #expect(try Self.problems("{}", origin: .client).isEmpty)
        #expect(
            try Self.problems(#"[{"from":"email","to":"email"}]"#, origin: .client).map(\.reason) == [.mappingInvalid]
        )
        #expect(try Self.problems("[]", origin: .client).map(\.reason) == [.mappingInvalid])
        #expect(try Self.problems("7", origin: .client).map(\.reason) == [.mappingInvalid])
        #expect(try Self.problems(#"{"{first_name}":"email"}"#, origin: .client).map(\.reason) == [.mappingInvalid])
        func entries(_ count: Int) -> String {
            "{" + (0..<count).map { #""f\#($0)":"p\#($0)""# }.joined(separator: ",") + "}"
        }
        #expect(try Self.problems(entries(64), origin: .client).isEmpty)
        #expect(
            try Self.problems(entries(65), origin: .client).map(\.message) == [
                "fieldsMapping: a mapping has at most 64 entries."
            ]
        )
        #expect(try Self.problems(entries(256)).isEmpty)
        #expect(try Self.problems(entries(257)).map(\.message) == ["mapping: a mapping has at most 256 entries."])
    }

    @Test("a default has at most 4096 bytes as JSON")
    func defaultLimit() throws {
        func problems(_ bytes: Int) throws -> Int {
            let text = String(repeating: "x", count: bytes - 2)
            return try Self.problems(#"[{"from":"email","to":"email","default":"\#(text)"}]"#).count
        }
        #expect(try problems(4096) == 0)
        #expect(try problems(4097) == 1)
    }

    @Test("no document of random pieces makes it trap, and what it accepts it writes and reads again")
    func survivesRandomDocuments() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var state = seed
        func below(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(bound))
        }
        let pieces = try [
            "null", "true", "0", "-1e9", #""""#, #""email""#, #""{a} {b}""#, #""{{""#, #""DATE""#, #""always""#,
            #""clear""#, #""trim""#, "[]", "{}", #"{"join":","}"#, #"{"date":"yyyyMMdd"}"#, #"{"lookup":{"a":1}}"#,
            #"["first","trim"]"#,
            #""name""#, #""objectId""#, #""\u0301""#,
        ].map(Scenario.parse)
        let keys = ["from", "to", "type", "sync", "required", "default", "whenMissing", "transform", "other"]
        for _ in 0..<5_000 {
            let entries = (0..<below(4)).map { _ in
                var object = JSONObject()
                for key in keys where below(3) > 0 && (key != "other" || below(20) == 0) {
                    object.append(key, pieces[below(pieces.count)])
                }
                return JSONValue.object(object)
            }
            guard let mapping = try? Mapping(.array(entries)) else { continue }
            #expect(try Mapping(mapping.json) == mapping, "seed \(seed)")
        }
    }
}
