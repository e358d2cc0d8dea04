import Domain
import Encodings
import Mapping
import Testing

@Suite("Previews of a login")
struct MappingTraceTests {
    /// Returns the trace of one entry that fills the property `p`.
    private static func entry(
        _ options: String,
        _ type: PropertyType,
        profile: String,
        scopes: [String]? = [],
        user: User? = nil,
        written: String = "{}"
    ) throws -> TracedEntry {
        let scenario = Scenario(properties: [try .open("p", type)], stored: "[{\"to\":\"p\",\(options)}]")
        let trace = try scenario.trace(profile, scopes: scopes, user: user, written: written)
        #expect(trace.entries.count == 1)
        return try #require(trace.entries.first)
    }

    @Test(
        "a first login: what becomes of an entry",
        arguments: [
            (#""from":"name""#, .string, #"{"name":"Ann"}"#, .written, #""Ann""#, nil, nil),
            (#""from":"name","sync":"firstLogin""#, .string, #"{"name":"Ann"}"#, .written, #""Ann""#, nil, nil),
            (#""from":"name","sync":"ifEmpty""#, .string, #"{"name":"Ann"}"#, .written, #""Ann""#, nil, nil),
            (#""from":"name","sync":"untilEdited""#, .string, #"{"name":"Ann"}"#, .written, #""Ann""#, nil, nil),
            (#""from":"birthday""#, .date, #"{"birthday":"05/06/1990"}"#, .written, #""1990-05-06""#, nil, nil),
            (
                #""from":"birthday","type":"DATE""#, .string, #"{"birthday":"05/06/1990"}"#, .written,
                #""1990-05-06""#, nil, nil
            ),
            (#""from":"birthday""#, .date, #"{"birthday":"05/06"}"#, .missing, nil, "birthday", nil),
            (#""from":"birthday""#, .date, "{}", .missing, nil, "birthday", "user_birthday"),
            (#""from":"email","default":"none""#, .string, "{}", .defaulted, #""none""#, "email", "email"),
            (#""from":"email","required":true"#, .string, "{}", .refused, nil, "email", "email"),
            (#""from":"id","required":true"#, .string, "{}", .refused, nil, "id", nil),
            (#""from":"name""#, .int, #"{"name":"Ann"}"#, .refused, nil, nil, nil),
            (
                #""from":"gender","transform":{"lookup":{"male":"M"}}"#, .string, #"{"gender":"x"}"#, .missing, nil,
                "gender", nil
            ),
            // T-54: no text of a value, a default or a template is executed.
            (#""from":"name""#, .string, #"{"name":"${7*7}{{7*7}}%s%n"}"#, .written, #""${7*7}{{7*7}}%s%n""#, nil, nil),
            (
                #""from":"{{7*7}} ${{7*7}} %s%n {id}""#, .string, #"{"id":"1"}"#, .written, #""{7*7} ${7*7} %s%n 1""#,
                nil, nil
            ),
            (
                #""from":"name","default":"${7*7}""#, .string, #"{"id":"1"}"#, .defaulted, #""${7*7}""#, "name",
                "public_profile"
            ),
        ] as [(String, PropertyType, String, TracedEntry.Outcome, String?, String?, String?)]
    )
    func firstLogin(
        options: String,
        type: PropertyType,
        profile: String,
        outcome: TracedEntry.Outcome,
        value: String?,
        field: String?,
        permission: String?
    ) throws {
        let entry = try Self.entry(options, type, profile: profile)
        #expect(entry.outcome == outcome)
        #expect(entry.value?.json.text == value)
        #expect(entry.field == field)
        #expect(entry.permission == permission)
        #expect(entry.current == nil)
        #expect(entry.why.hasSuffix("."))
    }

    /// The sync rules that `LoginStatement` has as SQL, for a profile that gives the text `new`.
    @Test(
        "a repeated login: the rule of sync decides",
        arguments: [
            (SyncMode.always, nil, nil, .written), (.always, "old", nil, .written), (.always, "new", nil, .unchanged),
            (.firstLogin, nil, nil, .skipped), (.firstLogin, "old", nil, .skipped),
            (.firstLogin, "new", nil, .skipped),
            (.ifEmpty, nil, nil, .written), (.ifEmpty, "", nil, .written), (.ifEmpty, " ", nil, .skipped),
            (.ifEmpty, "old", nil, .skipped),
            (.untilEdited, "old", "old", .written), (.untilEdited, "new", "new", .unchanged),
            (.untilEdited, "edited", "old", .skipped), (.untilEdited, "old", nil, .skipped),
            (.untilEdited, nil, nil, .written), (.untilEdited, nil, "old", .skipped),
            (.untilEdited, "e\u{301}", "\u{E9}", .skipped),
        ] as [(SyncMode, String?, String?, TracedEntry.Outcome)]
    )
    func repeatedLogin(sync: SyncMode, current: String?, written: String?, outcome: TracedEntry.Outcome) throws {
        let user = try User.having(current.map { [("p", .text($0))] } ?? [])
        let written = JSONObject(written.map { [.init("p", .string($0))] } ?? [])
        func entry(_ options: String, _ profile: String) throws -> TracedEntry {
            try Self.entry(
                #""from":"name","sync":"\#(sync.rawValue)"\#(options)"#,
                .string,
                profile: profile,
                user: user,
                written: JSONValue.object(written).text
            )
        }
        let found = try entry("", #"{"name":"new"}"#)
        #expect(found.outcome == outcome)
        #expect(found.current == current.map(PropertyValue.text))
        #expect(found.value == .text("new"))
        let defaulted = try entry(#","default":"new""#, "{}")
        #expect(defaulted.outcome == (outcome == .written ? .defaulted : outcome), "a default obeys the same rule")
        #expect(try entry("", "{}").outcome == .missing)
    }

    @Test(
        "what the mapping wrote last is compared as a value of the property",
        arguments: [
            (PropertyType.int, "1", PropertyValue.integer(1), "1", true),
            (.int, "1", .integer(2), "1", false),
            (.double, "1.5", .double(1.5), "1.5", true),
            (.boolean, "true", .boolean(true), "true", true),
            (
                .dateTime, #""2017-05-06T07:08:09Z""#, .dateTime(1_494_054_489_000), #""2017-05-06T09:08:09+02:00""#,
                true
            ),
            (
                .dateTime, #""2017-05-06T07:08:09Z""#, .dateTime(1_494_054_489_001), #""2017-05-06T07:08:09+00:00""#,
                false
            ),
            (
                .json, #"{"a":[1,"x"]}"#, .json(.object(["a": .array([.integer(1), .string("x")])])),
                #"{"a":[1.0,"x"]}"#, true
            ),
            (.json, #"{"a":1}"#, .json(.object(["a": .integer(1)])), #"{"a":2}"#, false),
            (.json, "[0.1]", .json(.array([.integer(1)])), "[1,1]", false),
            (.string, #""1""#, .text("1"), "1", true),
        ] as [(PropertyType, String, PropertyValue, String, Bool)]
    )
    func lastWritten(type: PropertyType, value: String, current: PropertyValue, written: String, isSame: Bool) throws {
        let entry = try Self.entry(
            #""from":"v","sync":"untilEdited""#,
            type,
            profile: "{\"v\":\(value)}",
            user: try .having([("p", current)]),
            written: "{\"p\":\(written)}"
        )
        #expect((entry.outcome != .skipped) == isSame)
    }

    @Test("days are compared as days, and values that PostgreSQL takes for the same are unchanged")
    func unchanged() throws {
        let day = try #require(CalendarDate(year: 1990, month: 5, day: 6))
        let birthday = try Self.entry(
            #""from":"birthday","sync":"untilEdited""#,
            .date,
            profile: #"{"birthday":"05/06/1990"}"#,
            user: try .having([("p", .date(day))]),
            written: #"{"p":"1990-05-06"}"#
        )
        #expect(birthday.outcome == .unchanged)
        let asText = try Self.entry(
            #""from":"birthday","type":"DATE","sync":"untilEdited""#,
            .string,
            profile: #"{"birthday":"05/06/1990"}"#,
            user: try .having([("p", .text("1980-01-01"))]),
            written: #"{"p":"1980-01-01"}"#
        )
        #expect(asText.outcome == .written, "the record has the form of the property, not of the entry's type")
        let range = try Self.entry(
            #""from":"age_range""#,
            .json,
            profile: #"{"age_range":{"min":2.1e1}}"#,
            user: try .having([("p", .json(.object(["min": .integer(21)])))])
        )
        #expect(range.outcome == .unchanged)
    }

    @Test(
        "says whether the permission of a field that lacks is granted",
        arguments: [
            (nil, "may not be granted", "email"), ([], "is not granted", "email"), (["email"], "is granted", nil),
        ] as [([String]?, String, String?)]
    )
    func permissions(scopes: [String]?, words: String, permission: String?) throws {
        let entry = try Self.entry(#""from":"email""#, .string, profile: "{}", scopes: scopes)
        #expect(entry.why.contains(words))
        #expect(entry.why.contains("\"email\""))
        #expect(entry.permission == permission)
    }

    @Test("every entry is traced although one of them refuses, and the first refusal is the login's")
    func refusals() throws {
        let scenario = Scenario(
            properties: try Property.builtIn + [.open("age", .int), .open("nick", .string)],
            stored:
                #"[{"from":"name","to":"age"},{"from":"email","to":"email","required":true},{"from":"name","to":"name"}]"#,
            client: #"{"first_name":"nick"}"#
        )
        let trace = try scenario.trace(#"{"name":"Ann","first_name":"A"}"#)
        #expect(trace.entries.map(\.outcome) == [.refused, .refused, .written, .written])
        #expect(trace.entries.map(\.position) == [0, 1, 2, 0])
        #expect(trace.entries.map(\.origin) == [.stored, .stored, .stored, .client])
        #expect(trace.refusal?.reason == .valueNotConvertible)
        #expect(!"\(trace.entries.map(\.why))".contains("Ann"))
    }

    @Test("a client's entry gives way to the stored one, and counts for nothing where clients' mappings are ignored")
    func clientEntries() throws {
        var scenario = Scenario(
            properties: try Property.builtIn + [.open("nick", .string), .closed("secret", .string)],
            stored: #"{"name":"name"}"#,
            client: #"{"first_name":"name","short_name":"nick"}"#
        )
        let profile = #"{"name":"N","first_name":"F","short_name":"S"}"#
        let trace = try scenario.trace(profile)
        #expect(trace.entries.map(\.outcome) == [.written, .skipped, .written])
        #expect(trace.entries.map { $0.value?.json.text } == [#""N""#, nil, #""S""#])
        #expect(trace.refusal == nil)

        scenario.settings.clientMapping = false
        scenario.client = #"{"first_name":"secret","short_name":"nick"}"#
        let ignored = try scenario.trace(profile)
        #expect(ignored.entries.map(\.outcome) == [.written, .skipped, .skipped])
        #expect(ignored.refusal == nil)

        scenario.settings.clientMapping = true
        let refused = try scenario.trace(profile)
        #expect(refused.entries.map(\.outcome) == [.written, .refused, .written])
        #expect(refused.refusal?.reason == .mappingTargetNotAllowed)
        #expect(refused.refusal?.message == (try scenario.problems().first?.message))
    }

    @Test(
        "a client's document that breaks the rules is refused as by a login, and its good entries are still shown",
        arguments: [
            (#"{"${7*7}":"name","email":"email"}"#, Failure.Reason.mappingInvalid, [1]),
            (#"{"email":"email","name":"objectId"}"#, .mappingTargetNotAllowed, [0]),
            (#"["email"]"#, .mappingInvalid, []), ("7", .mappingInvalid, []),
        ]
    )
    func unreadable(client: String, reason: Failure.Reason, positions: [Int]) throws {
        let scenario = Scenario(client: client)
        let trace = try scenario.trace(#"{"email":"e"}"#)
        #expect(trace.refusal?.reason == reason)
        #expect(trace.entries.map(\.position) == positions)
        var ignoring = scenario
        ignoring.settings.clientMapping = false
        #expect(try ignoring.trace("{}").refusal == nil)
    }

    @Test("undeclared properties: the value is kept as JSON, and compared with what the user has")
    func dynamic() throws {
        var scenario = Scenario(client: #"{"website":"page"}"#)
        scenario.settings.dynamicProperties = true
        let profile = #"{"website":"l"}"#
        #expect(try scenario.trace(profile).entries.map(\.outcome) == [.written])
        let same = try User.having([], dynamic: ["page": .string("l")])
        #expect(try scenario.trace(profile, user: same).entries.map(\.outcome) == [.unchanged])
        #expect(try scenario.trace(profile, user: same).entries.map(\.type) == [.json])
        let other = try User.having([], dynamic: ["page": .string("m")])
        #expect(try scenario.trace(profile, user: other).entries.map(\.outcome) == [.written])
    }

    @Test("a new user without a value that is required is refused; a user who exists keeps the old one")
    func requiredProperty() throws {
        let scenario = Scenario(
            properties: try Property.builtIn + [.open("town", .string, required: true)],
            stored: #"[{"from":"location.name","to":"town"}]"#
        )
        let created = try scenario.trace("{}")
        #expect(created.entries.map(\.outcome) == [.missing])
        #expect(created.refusal?.reason == .constraintViolation)
        #expect(created.refusal?.details["property"] == .string("town"))
        #expect(try scenario.trace("{}", user: .having([("town", .text("Bonn"))])).refusal == nil)
    }

    @Test("as JSON an entry has the members that previews promise")
    func json() throws {
        let entry = try Self.entry(
            #""from":"birthday","type":"DATE","sync":"ifEmpty""#,
            .string,
            profile: #"{"birthday":"05/06/1990"}"#,
            user: try .having([("p", .text("1980-01-01"))])
        )
        #expect(
            entry.json.text == """
                {"mapping":"stored","position":0,"from":"birthday","to":"p","type":"DATE","sync":"ifEmpty",\
                "outcome":"skipped","value":"1990-05-06","current":"1980-01-01",\
                "why":"The property has a value, and the entry fills it only while it is empty."}
                """
        )
    }
}
