import Domain
import Encodings
import Facebook
import Mapping
import Testing

@Suite("What a profile no longer has")
struct WhenMissingTests {
    /// Returns whether an entry that fills `p` clears that property.
    private static func clears(_ options: String, _ type: PropertyType, required: Bool = false, _ profile: String)
        throws -> Bool
    {
        let scenario = Scenario(
            properties: [try .open("p", type, required: required)],
            stored: "[{\"to\":\"p\",\(options)}]"
        )
        return try scenario.apply(profile).cleared.map(\.text) == ["p"]
    }

    @Test(
        "an object that is there and does not give the value empties the property; without the object nothing is known",
        arguments: [
            (#""from":"age_range.max""#, PropertyType.int, #"{"age_range":{"min":21}}"#, true),
            (#""from":"age_range.max""#, .int, #"{"age_range":{"min":18,"max":20}}"#, false),
            (#""from":"age_range.max""#, .int, #"{"age_range":{"min":21,"max":null}}"#, true),
            (#""from":"age_range.max""#, .int, #"{"age_range":{}}"#, true),
            (#""from":"age_range.max""#, .int, #"{"age_range":null}"#, false),
            (#""from":"age_range.max""#, .int, #"{"age_range":7}"#, false),
            (#""from":"age_range.max""#, .int, "{}", false),
            (#""from":"picture.data.url""#, .text, #"{"picture":{"data":{"width":1}}}"#, true),
            (#""from":"picture.data.url""#, .text, #"{"picture":{}}"#, false),
            (#""from":"gender""#, .string, "{}", false),
            // The object has the value, but the lookup does not know it.
            (
                #""from":"location.name","transform":{"lookup":{"Rome":"IT"}}"#, .string,
                #"{"location":{"name":"Oslo"}}"#, true
            ),
            (#""from":"gender","transform":{"lookup":{"male":"M"}}"#, .string, #"{"gender":"x"}"#, false),
            // An ID token has only the ids of friends.
            (#""from":"friends.data.name""#, .json, #"{"friends":{"data":[{"id":"1"}]}}"#, false),
            (#""from":"{age_range.min}-{age_range.max}""#, .string, #"{"age_range":{}}"#, false),
            // Sync rules that write once, or only to an empty property.
            (#""from":"age_range.max","sync":"firstLogin""#, .int, #"{"age_range":{"min":21}}"#, false),
            (#""from":"age_range.max","sync":"ifEmpty""#, .int, #"{"age_range":{"min":21}}"#, false),
            (#""from":"age_range.max","sync":"untilEdited""#, .int, #"{"age_range":{"min":21}}"#, true),
            (#""from":"age_range.max","default":0"#, .int, #"{"age_range":{"min":21}}"#, false),
            // `whenMissing` of the document overrides the default rule.
            (#""from":"age_range.max","whenMissing":"keep""#, .int, #"{"age_range":{"min":21}}"#, false),
            (#""from":"age_range.max","whenMissing":"clear""#, .int, "{}", true),
            (#""from":"gender","whenMissing":"clear""#, .string, "{}", true),
            (#""from":"{first_name} {last_name}","whenMissing":"clear""#, .string, "{}", true),
            (#""from":"gender","whenMissing":"clear""#, .string, #"{"gender":""}"#, false),
        ]
    )
    func rules(options: String, type: PropertyType, profile: String, clears: Bool) throws {
        #expect(try Self.clears(options, type, profile) == clears)
    }

    @Test("a required property is never emptied, and a client's mapping and undeclared properties follow the same rule")
    func places() throws {
        let profile = #"{"age_range":{"min":21}}"#
        #expect(try !Self.clears(#""from":"age_range.max""#, .int, required: true, profile))
        var scenario = Scenario(client: #"{"age_range.max":"oldest"}"#)
        scenario.settings.dynamicProperties = true
        #expect(try scenario.apply(profile).cleared.map(\.text) == ["oldest"])
        #expect(try scenario.apply("{}").cleared.isEmpty)
    }

    @Test(
        "what cannot be honoured is refused, with its place",
        arguments: [
            (#""from":"gender","whenMissing":"clear","sync":"ifEmpty""#, false, "/0/whenMissing"),
            (#""from":"gender","whenMissing":"clear","sync":"firstLogin""#, false, "/0/whenMissing"),
            (#""from":"gender","whenMissing":"clear","default":"x""#, false, "/0/whenMissing"),
            (#""from":"gender","whenMissing":"keep","required":true"#, false, "/0/whenMissing"),
            (#""from":"gender","whenMissing":"clear""#, true, "/0/whenMissing"),
            (#""from":"gender","whenMissing":"drop""#, false, "/0/whenMissing"),
            (#""from":"gender","whenMissing":true"#, false, "/0/whenMissing"),
        ]
    )
    func refusals(options: String, isRequired: Bool, place: String) throws {
        let problems = MappingCheck.problems(
            of: try Scenario.parse("[{\"to\":\"p\",\(options)}]"),
            fields: .facebook,
            properties: [try .open("p", .string, required: isRequired)],
            columns: []
        )
        #expect(problems.map(\.reason) == [.mappingInvalid])
        #expect(problems.map { "\($0.pointer)" } == [place])
    }

    @Test("a column that is NOT NULL is none for an entry that may empty it, asked for or not")
    func notNull() throws {
        func problems(_ options: String) throws -> [String] {
            MappingCheck.problems(
                of: try Scenario.parse("[{\"to\":\"p\",\(options)}]"),
                fields: .facebook,
                properties: [try .open("p", .int)],
                columns: [LiveColumn(name: "p", sqlType: "bigint", notNull: true, hasDefault: false)]
            ).map { "\($0.pointer)" }
        }
        #expect(try problems(#""from":"age_range.max","whenMissing":"clear""#) == ["/0/whenMissing"])
        #expect(try problems(#""from":"age_range.max""#) == ["/0/to"])
        #expect(try problems(#""from":"age_range.max","whenMissing":"keep""#) == [])
    }

    @Test(
        "a preview says what is emptied and what is not",
        arguments: [
            (SyncMode.always, 20, nil, .cleared, "Every login writes"), (.always, nil, nil, .missing, "is empty"),
            (.untilEdited, 20, 20, .cleared, "as the mapping left it"), (.untilEdited, 7, 20, .skipped, "was edited"),
            (.untilEdited, nil, 20, .missing, "is empty"),
        ] as [(SyncMode, Int64?, Int64?, TracedEntry.Outcome, String)]
    )
    func preview(sync: SyncMode, current: Int64?, written: Int64?, outcome: TracedEntry.Outcome, why: String) throws {
        let scenario = Scenario(
            properties: [try .open("p", .int)],
            stored: #"[{"from":"age_range.max","to":"p","sync":"\#(sync.rawValue)"}]"#
        )
        let trace = try scenario.trace(
            #"{"age_range":{"min":21}}"#,
            user: try .having(current.map { [("p", .integer($0))] } ?? []),
            written: written.map { #"{"p":\#($0)}"# } ?? "{}"
        )
        let entry = try #require(trace.entries.first)
        #expect(entry.outcome == outcome)
        #expect(entry.value == nil)
        #expect(entry.current == current.map(PropertyValue.integer))
        #expect(entry.field == "age_range")
        #expect(entry.why.contains("The value of \"age_range\" in the profile gives the entry no value."))
        #expect(entry.why.contains(why), "\(entry.why)")
    }

    @Test("the address of who logs in by password is theirs, and no lack empties it")
    func email() throws {
        let tracer = MappingTracer(
            stored: try Mapping(try Scenario.parse(#"[{"from":"email","to":"email","whenMissing":"clear"}]"#)),
            client: nil,
            fields: .facebook,
            properties: Property.builtIn,
            settings: ApplicationSettings(),
            dynamicNames: []
        )
        let user = try User.having([("email", .text("ann@example.com"))])
        for (kept, outcome) in [([.email], .skipped), ([], .cleared)] as [(Set<PropertyName>, TracedEntry.Outcome)] {
            let trace = tracer.trace(AdmittedProfile([:], by: .facebook), grantedScopes: [], user: user, kept: kept)
            #expect(trace.entries.map(\.outcome) == [outcome])
        }
    }
}
