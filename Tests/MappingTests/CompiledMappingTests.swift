import Domain
import Encodings
import Mapping
import Testing

@Suite("Compiling mappings")
struct CompiledMappingTests {
    private static func settings(_ change: (inout ApplicationSettings) -> Void) -> ApplicationSettings {
        var settings = ApplicationSettings()
        change(&settings)
        return settings
    }

    @Test(
        "Graph is asked for id and for each top-level field once, in the order of first use",
        arguments: [
            ("[]", "{}", "id"), (#"{"email":"email"}"#, "{}", "id,email"), (#"{"id":"a"}"#, "{}", "id"),
            (#"{"email":"email","id":"a","name":"name"}"#, "{}", "id,email,name"),
            (
                #"{"picture.data.url":"a","picture.data.width":"b","email":"email"}"#,
                #"{"picture":"c","name":"name"}"#, "id,picture,email,name"
            ),
            (
                #"[{"from":"{first_name} {last_name} {first_name}","to":"a"}]"#, #"{"last_name":"b","id":"c"}"#,
                "id,first_name,last_name"
            ),
            (#"{"email":"email"}"#, #"{"gender":"email","link":"a"}"#, "id,email,link"),
        ]
    )
    func fields(stored: String, client: String, fields: String) throws {
        let properties = try Property.builtIn + ["a", "b", "c"].map { try Property.open($0, .json) }
        #expect(try Scenario(properties: properties, stored: stored, client: client).compiled().fields == fields)
    }

    @Test("no mapping at all is a plan that writes nothing")
    func empty() throws {
        let plan = try Scenario().compiled()
        #expect(plan.targets.isEmpty)
        #expect(plan.fields == "id")
        #expect(try Scenario().apply(#"{"email":"a@b.c"}"#).values.isEmpty)
    }

    @Test("where both write a property the stored entry counts, and the client's rest follows it")
    func storedWins() throws {
        let scenario = Scenario(
            properties: try Property.builtIn + [.open("nick", .string)],
            stored:
                #"[{"from":"name","to":"name","sync":"untilEdited"},{"from":"email","to":"email","required":true}]"#,
            client: #"{"short_name":"nick","first_name":"name","link":"email"}"#
        )
        let plan = try scenario.compiled()
        #expect(plan.targets.map(\.name.text) == ["name", "email", "nick"])
        #expect(plan.targets.map(\.sync) == [.untilEdited, .always, .always])
        #expect(plan.targets.map(\.required) == [false, true, false])
        let values = try scenario.apply(#"{"name":"N","first_name":"F","short_name":"S","email":"e@x.org","link":"l"}"#)
            .values
        #expect(values == [.text("N"), .text("e@x.org"), .text("S")])
    }

    @Test("a client may write what is open to clients, the operator everything declared")
    func rights() throws {
        let properties = try Property.builtIn + [.open("nick", .string), .closed("score", .int)]
        #expect(try Scenario(properties: properties, stored: #"{"id":"score","name":"nick"}"#).problems().isEmpty)
        #expect(try Scenario(properties: properties, client: #"{"name":"nick","email":"email"}"#).problems().isEmpty)
        let closed = try Scenario(properties: properties, client: #"{"name":"name","id":"score"}"#).problems()
        #expect(closed.map(\.reason) == [.mappingTargetNotAllowed])
        #expect(closed.map(\.position) == [1])
        #expect(closed.first?.origin == .client)
        let unknown = try Scenario(properties: properties, stored: #"{"id":"points"}"#, client: #"{"id":"Nick"}"#)
            .problems()
        #expect(unknown.map(\.reason) == [.mappingTargetNotAllowed, .mappingTargetNotAllowed])
        #expect(unknown.map(\.origin) == [.stored, .client])
        #expect(unknown.first?.message.contains(#""points""#) == true)
    }

    @Test("a client entry that the stored mapping overrules is still checked")
    func overruledIsChecked() throws {
        let scenario = Scenario(
            properties: [try .closed("score", .int)],
            stored: #"{"id":"score"}"#,
            client: #"{"id":"score"}"#
        )
        #expect(try scenario.problems().map(\.reason) == [.mappingTargetNotAllowed])
    }

    @Test("with client mapping switched off the client's mapping changes nothing")
    func switchedOff() throws {
        let scenario = Scenario(
            settings: Self.settings { $0.clientMapping = false },
            stored: #"{"email":"email"}"#,
            client: #"{"name":"name","first_name":"nobodyDeclaredThis"}"#
        )
        let plan = try scenario.compiled()
        #expect(plan.targets.map(\.name) == [.email])
        #expect(plan.fields == "id,email")
    }

    @Test("with dynamic properties undeclared names become members of one column, closed ones stay closed")
    func dynamic() throws {
        let settings = Self.settings { $0.dynamicProperties = true }
        let known: Set<PropertyName> = [try #require(PropertyName("fbLink"))]
        let scenario = Scenario(
            settings: settings,
            client: #"{"link":"fbLink","age_range":"fbAge","email":"email"}"#,
            dynamicNames: known
        )
        let plan = try scenario.compiled()
        #expect(plan.newDynamicNames.map(\.text) == ["fbAge"])
        #expect(plan.targets.map(\.type) == [.json, .json, .string])
        #expect(plan.targets.first?.place == PropertyName("fbLink").map(MappingTarget.Place.dynamic))
        let values = try scenario.apply(#"{"link":"https://x.org/","age_range":{"min":21}}"#).values
        #expect(values == [.json(.string("https://x.org/")), .json(try Scenario.parse(#"{"min":21}"#)), nil])
        let refused = Scenario(
            properties: [try .closed("score", .int)],
            settings: settings,
            stored: #"{"id":"undeclared"}"#,
            client: #"{"id":"score"}"#
        )
        #expect(try refused.problems().map(\.reason) == [.mappingTargetNotAllowed, .mappingTargetNotAllowed])
    }

    @Test("T-55: an application has at most 100 dynamic properties")
    func dynamicLimit() throws {
        let known = Set(try (0..<98).map { try #require(PropertyName("k\($0)")) })
        let settings = Self.settings { $0.dynamicProperties = true }
        let fits = Scenario(settings: settings, client: #"{"a":"new1","b":"k5","c":"new2"}"#, dynamicNames: known)
        #expect(try fits.compiled().newDynamicNames.map(\.text) == ["new1", "new2"])
        let full = Scenario(
            settings: settings,
            client: #"{"a":"new1","b":"k5","c":"new2","d":"new3"}"#,
            dynamicNames: known
        )
        #expect(try full.problems().map(\.reason) == [.mappingTargetNotAllowed])
        #expect(try full.problems().map(\.position) == [3])
    }

    @Test(
        "a default that does not fit its property is a problem of the mapping, not of a login",
        arguments: [
            (PropertyType.int, #""x""#), (.int, "1.5"), (.double, #""x""#), (.boolean, "1"), (.date, #""05/06""#),
            (.date, #""tomorrow""#), (.dateTime, #""2017-05-06""#), (.string, "[]"), (.text, "{}"),
        ]
    )
    func defaults(type: PropertyType, json: String) throws {
        let scenario = Scenario(
            properties: [try .open("p", type)],
            stored: #"[{"from":"v","to":"p","default":\#(json)}]"#
        )
        let problem = try #require(try scenario.problems().first)
        #expect(problem.reason == .valueNotConvertible)
        #expect(problem.entry?.type == type)
        #expect(!problem.message.contains(json))
    }

    @Test("a field that Graph does not know is put down to its entry")
    func unknownField() throws {
        let plan = try Scenario(stored: #"{"name":"name"}"#, client: #"{"emial":"email"}"#).compiled()
        let failure = plan.failure(forUnknownField: "emial")
        #expect(failure.reason == .mappingInvalid)
        #expect(failure.details["entry"]?.object?["mapping"] == .string("client"))
        #expect(failure.message.hasPrefix(#"fieldsMapping[0] ("emial" to "email")"#))
        let unasked = plan.failure(forUnknownField: "<script>")
        #expect(unasked.reason == .mappingInvalid)
        #expect(!unasked.message.contains("script"))
        #expect(unasked.details["entry"] == nil)
    }
}
