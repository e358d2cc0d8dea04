import Domain
import Facebook
import Mapping
import Testing

@Suite("Checking a mapping before it is saved")
struct MappingCheckTests {
    private static func check(
        _ mapping: String,
        _ properties: [Property] = Property.builtIn,
        columns: [LiveColumn] = []
    ) throws -> [MappingProblem] {
        MappingCheck.problems(
            of: try Scenario.parse(mapping),
            fields: .facebook,
            properties: properties,
            columns: columns
        )
    }

    @Test("a mapping that fits has no problems")
    func fits() throws {
        let properties =
            try Property.builtIn + [.closed("birthday", .date), .open("avatar", .text), .closed("n", .int)]
        let mapping = #"{"email":"email","name":"name","birthday":"birthday","picture.data.url":"avatar","id":"n"}"#
        let columns = [
            LiveColumn(name: "object_id", sqlType: "uuid", notNull: true, hasDefault: false),
            LiveColumn(name: "email", sqlType: "text", notNull: false, hasDefault: false),
            LiveColumn(name: "created", sqlType: "timestamp with time zone", notNull: true, hasDefault: false),
            LiveColumn(name: "birthday", sqlType: "date", notNull: true, hasDefault: false),
            LiveColumn(name: "n", sqlType: "bigint", notNull: false, hasDefault: true),
            LiveColumn(name: "theirs", sqlType: "inet", notNull: true, hasDefault: true),
            LiveColumn(name: "Ihre Größe", sqlType: "numeric", notNull: false, hasDefault: false),
        ]
        #expect(try Self.check(mapping, properties, columns: columns).isEmpty)
        #expect(try Self.check(mapping, properties).isEmpty, "before the table exists")
    }

    @Test(
        "a field that the provider is not known to have is a warning, with the nearest one that it has",
        arguments: [
            (
                #"{"locaton.nam": "city"}"#,
                #"mapping[0] ("locaton.nam" to "city"): locaton is not a known field of Facebook (did you mean location.name?): every login is refused if Facebook does not have it."#
            ),
            (
                #"{"location.nam": "city"}"#,
                #"mapping[0] ("location.nam" to "city"): nothing is known to be called nam in location of Facebook (did you mean location.name?)."#
            ),
            (#"{"given_name": "city"}"#, "(did you mean first_name?)"), (#"{"user_birthday": "city"}"#, "birthday?"),
            (#"[{"from": "Hi {first_nam}", "to": "city"}]"#, "(did you mean first_name?)"),
            (#"{"friends.data.nme": "city"}"#, "(did you mean friends.data.name?)"),
            (#"{"picture.dta.url": "city"}"#, "(did you mean picture.data.url?)"),
            (#"{"xyzzy": "city"}"#, "xyzzy is not"),
        ]
    )
    func doubtful(mapping: String, text: String) throws {
        let properties = try Property.builtIn + [.closed("city", .json)]
        #expect(try Self.check(mapping, properties).isEmpty, "it can be saved")
        let warnings = MappingCheck.warnings(of: try Scenario.parse(mapping), fields: .facebook)
        #expect(warnings.count == 1)
        #expect(warnings.first?.message.contains(text) == true, "\(warnings)")
    }

    @Test("fields of the catalogue, and of a provider of which nothing is known, are no warning")
    func known() throws {
        for mapping in [
            #"{"email": "email", "picture.data.url": "a", "friends.data.name": "b", "location.id": "c"}"#,
            #"[{"from": "{first_name} {last_name}", "to": "name"}]"#, "[]",
        ] {
            #expect(MappingCheck.warnings(of: try Scenario.parse(mapping), fields: .facebook) == [])
            #expect(MappingCheck.warnings(of: try Scenario.parse(mapping), fields: .none) == [])
        }
    }

    @Test("what the provider says it does not have is a problem of each entry that reads it")
    func unknownFields() throws {
        let mapping = try Scenario.parse(
            #"[{"from": "{locaton} {email}", "to": "name"}, {"from": "locaton.x", "to": "a"}]"#
        )
        #expect(MappingCheck.fields(of: mapping) == "locaton,email")
        let problems = MappingCheck.problems(of: mapping, unknown: ["locaton"], fields: .facebook)
        #expect(problems.map(\.position) == [0, 1])
        #expect(problems.allSatisfy { $0.message.contains("Facebook has no field locaton (did you mean location") })
        #expect(MappingCheck.problems(of: mapping, unknown: [], fields: .facebook) == [])
    }

    @Test("everything that is wrong is told at once")
    func everything() throws {
        let properties = try [
            Property.open("email", .string), .open("age", .int), .open("must", .string, required: true),
            .open("when", .date),
        ]
        let problems = try Self.check(
            #"""
            [{"from":"9","to":"email"}, {"from":"picture","to":"age"}, {"from":"email","to":"nobody"}, {"from":"name","to":"objectId"},
             {"from":"birthday","to":"when","default":"05/06"}]
            """#,
            properties,
            columns: [
                LiveColumn(name: "age", sqlType: "integer", notNull: true, hasDefault: false),
                LiveColumn(name: "tenant", sqlType: "text", notNull: true, hasDefault: false),
                LiveColumn(name: "x\"; drop", sqlType: "text", notNull: true, hasDefault: false),
                LiveColumn(name: "must", sqlType: "text", notNull: true, hasDefault: false),
            ]
        )
        #expect(
            problems.map(\.reason) == [
                .mappingInvalid, .mappingInvalid, .mappingTargetNotAllowed, .mappingTargetNotAllowed,
                .valueNotConvertible,
                .mappingInvalid, .mappingInvalid, .mappingInvalid,
            ]
        )
        #expect(problems.map(\.position) == [0, 1, 2, 3, 4, nil, nil, nil])
        #expect(problems[5].message == #"mapping: property "must" is required, and no entry fills it."#)
        #expect(
            problems[6].message
                == #"mapping: column "tenant" of the users table is NOT NULL without a default, and no entry fills it."#
        )
        #expect(!problems[7].message.contains("drop"))
    }

    @Test("an entry with another problem still fills its property")
    func stillFills() throws {
        let problems = try Self.check(#"[{"from":"9","to":"must"}]"#, [.open("must", .string, required: true)])
        #expect(problems.map(\.position) == [0])
    }

    @Test(
        "what a field of Facebook's is must fit the property",
        arguments: [
            ("email", #""#, "STRING TEXT JSON"), ("id", "", "STRING TEXT INT JSON"),
            ("birthday", "", "STRING TEXT DATE JSON"), ("age_range", "", "JSON"),
            ("age_range.min", "", "STRING TEXT INT DOUBLE JSON"),
            ("picture", "", "JSON"), ("picture.data.url", "", "STRING TEXT JSON"),
            ("picture.data.is_silhouette", "", "STRING TEXT BOOLEAN JSON"), ("friends.data.name", "", "JSON"),
            ("friends.summary.total_count", "", "STRING TEXT INT DOUBLE JSON"),
            ("friends.data.name", #","transform":"first""#, "STRING TEXT JSON"),
            ("friends.data.id", #","transform":"first""#, "STRING TEXT INT JSON"),
            ("friends.data.name", #","transform":{"join":" "}"#, "STRING TEXT JSON"),
            ("{first_name} {last_name}", "", "STRING TEXT JSON"),
            ("email", #","transform":"trim""#, "STRING TEXT JSON"),
            ("birthday", #","transform":{"date":"MM/dd/yyyy"}"#, "STRING TEXT DATE JSON"),
            ("gender", #","transform":{"lookup":{"male":1,"female":"2"}}"#, "STRING TEXT INT DOUBLE JSON"),
            ("gender", #","transform":{"lookup":{"male":true},"else":null}"#, "STRING TEXT BOOLEAN JSON"),
            ("gender", #","transform":{"lookup":{"male":1},"else":"x"}"#, "STRING TEXT JSON"),
            ("gender", #","transform":{"lookup":{"a":"2000-01-01"}}"#, "STRING TEXT DATE JSON"),
            ("some_field", "", "STRING TEXT INT DOUBLE BOOLEAN DATE DATETIME JSON"),
            ("picture.data.cache_key", "", "STRING TEXT INT DOUBLE BOOLEAN DATE DATETIME JSON"),
            ("email.domain", "", ""), ("age_range.min.x", "", ""), ("friends.data.name.x", "", ""),
            ("picture", #","transform":{"lookup":{"a":1}}"#, ""), ("friends.data", #","transform":{"join":" "}"#, ""),
            ("{friends} {name}", "", ""), ("{email.x}", "", ""),
            ("age_range", #","transform":{"date":"yyyyMMdd"}"#, ""),
        ]
    )
    func shapes(from: String, entry: String, types: String) throws {
        let fitting = try PropertyType.allCases.filter { type in
            try Self.check(#"[{"from":"\#(from)","to":"p"\#(entry)}]"#, [.closed("p", type)]).isEmpty
        }
        #expect(fitting.map(\.rawValue).joined(separator: " ") == types)
    }

    @Test("an entry's own type is checked against the field, and against the property")
    func ownType() throws {
        func problems(_ from: String, _ type: String, in column: PropertyType) throws -> Int {
            try Self.check(#"[{"from":"\#(from)","to":"p","type":"\#(type)"}]"#, [.closed("p", column)]).count
        }
        #expect(try problems("birthday", "DATE", in: .string) == 0)
        #expect(try problems("email", "DATE", in: .string) == 1)
        #expect(try problems("age_range.min", "INT", in: .double) == 0)
        #expect(try problems("age_range.min", "DOUBLE", in: .int) == 1)
    }

    @Test("names of columns are compared as bytes")
    func columnNames() throws {
        let column = LiveColumn(name: "Must", sqlType: "text", notNull: false, hasDefault: false)
        #expect(try Self.check("[]", [.closed("must", .int)], columns: [column]).isEmpty)
    }
}
