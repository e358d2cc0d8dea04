import Domain
import Encodings
import Mapping
import Testing

@Suite("Mappings of hostile clients")
struct HostileMappingTests {
    /// Returns why a client's mapping `{field: target}` is refused; nil when it is accepted.
    private static func reason(_ field: String, _ target: String, dynamic: Bool) throws -> Failure.Reason? {
        var settings = ApplicationSettings()
        settings.dynamicProperties = dynamic
        let scenario = Scenario(
            settings: settings,
            client: JSONValue.object(JSONObject([.init("name", .string("name")), .init(field, .string(target))])).text
        )
        return try scenario.problems().first?.reason
    }

    @Test(
        "T-50: a client's mapping reaches no property of the system",
        arguments: [
            "userStatus", "objectId", "password", "roles", "ownerId", "created", "updated", "user-token",
            "socialAccount", "lastLogin", "tenantId", "accountType", "oAuthIdentities", "blUserLocale", "___class",
            "id", "code", "message",
            "object_id", "email_verified", "user_status", "social_account", "last_login", "locale", "dynamic",
        ]
    )
    func systemProperties(target: String) throws {
        for spelling in [target, target.uppercased(), target.lowercased()] {
            #expect(try Self.reason("email", spelling, dynamic: false) == .mappingTargetNotAllowed)
            // An unreserved name is an ordinary name when dynamic properties are on.
            if target != "tenantId" {
                #expect(try Self.reason("email", spelling, dynamic: true) == .mappingTargetNotAllowed)
            }
        }
    }

    @Test(
        "T-50: no stored mapping reaches them either",
        arguments: ["userStatus", "OBJECTID", "password", "xmin", "dynamic"]
    )
    func storedNeither(target: String) throws {
        let declared = try Property.open(target, .string)
        let problems = try Scenario(properties: [declared], stored: #"{"email":"\#(target)"}"#).problems()
        #expect(problems.map(\.reason) == [.mappingTargetNotAllowed])
    }

    @Test(
        "T-52: names that mean something to SQL are refused and not repeated",
        arguments: [
            "x\"; drop table users;--", "a'b", "data->>'x'", "\"password\"", "users.password", "a\\", "a;b", "a`b",
            "(select 1)", "$1", "<script>", "a\u{1B}[31m", "a\r\nb", "a\u{2028}b",
        ]
    )
    func sqlNames(name: String) throws {
        for dynamic in [false, true] {
            #expect(try Self.reason("email", name, dynamic: dynamic) == .mappingTargetNotAllowed)
        }
        #expect(try Self.reason(name, "email", dynamic: false) == (name == "users.password" ? nil : .mappingInvalid))
        let json = JSONValue.object(
            JSONObject([.init("email", .string(name)), .init(name == "users.password" ? "A" : name, .string("nick"))])
        )
        let problems = try #require(throws: MappingProblems.self) { try Mapping(json, origin: .client) }
        let reply = problems.failure.message + JSONValue.object(problems.failure.details).text
        for fragment in ["drop", "a'b", "'x'", "->", "select", "<", ";--", ";b", "`", "\u{1B}", "\u{2028}", "\r"] {
            #expect(!reply.contains(fragment), "\(fragment)")
        }
    }

    @Test(
        "T-52: a nested value is no property name",
        arguments: [#"{"name":{"a":1}}"#, #"{"name":["password"]}"#, #"{"name":null}"#, #"{"name":true}"#]
    )
    func nested(mapping: String) throws {
        #expect(try Scenario(client: mapping).problems().map(\.reason) == [.mappingInvalid])
    }

    @Test(
        "T-54: no expression has a place in a client's mapping",
        arguments: ["${7*7}", "{{7*7}}", "%s%n", "{name}", "name|upper", "name()", "#{name}", "$.name", "name[0]"]
    )
    func expressions(text: String) throws {
        #expect(try Self.reason(text, "email", dynamic: false) == .mappingInvalid)
        #expect(try Self.reason("email", text, dynamic: true) == .mappingTargetNotAllowed)
    }

    @Test("T-55: names of 63 bytes pass, longer ones do not, so no two become one column")
    func longNames() throws {
        let name = String(repeating: "n", count: 63)
        #expect(try Self.reason("email", name, dynamic: true) == nil)
        #expect(try Self.reason("email", name + "1", dynamic: true) == .mappingTargetNotAllowed)
        #expect(try Self.reason("email", name + "2", dynamic: true) == .mappingTargetNotAllowed)
    }

    @Test("T-55: hundreds of new names in one mapping are refused as a whole")
    func manyNames() throws {
        var settings = ApplicationSettings()
        settings.dynamicProperties = true
        let members = (0..<300).map { #""f\#($0)":"p\#($0)""# }.joined(separator: ",")
        #expect(try Scenario(settings: settings, client: "{\(members)}").problems().map(\.reason) == [.mappingInvalid])
    }

    @Test(
        "T-56: only the same bytes are the same name",
        arguments: ["\u{212A}ey", "Key\u{301}", "\u{FF2B}ey", "K\u{435}y", "key", "KEY", "Key ", " Key", "K\u{200B}ey"]
    )
    func canonicalEquivalents(target: String) throws {
        let scenario = Scenario(
            properties: [try .open("Key", .string)],
            client: JSONValue.object(["email": .string(target)]).text
        )
        #expect(try scenario.problems().map(\.reason) == [.mappingTargetNotAllowed])
    }

    @Test(
        "T-56: no canonical equivalent of a field's characters reaches Graph",
        arguments: ["\u{212A}ey", "e\u{301}mail", "\u{37E}", "email\u{1FEF}", "\u{FF45}mail"]
    )
    func canonicalFields(field: String) throws {
        #expect(try Self.reason(field, "email", dynamic: false) == .mappingInvalid)
    }

    @Test(
        "T-57: PostgreSQL's system columns and odd names are refused",
        arguments: ["ctid", "xmin", "xmax", "cmin", "cmax", "tableoid", "oid", "", "__proto__", "CTID", "XMin"]
    )
    func systemColumns(target: String) throws {
        for dynamic in [false, true] {
            #expect(try Self.reason("email", target, dynamic: dynamic) == .mappingTargetNotAllowed)
        }
    }

    @Test(
        "T-57: reserved words of SQL and JavaScript are refused unless declared",
        arguments: ["user", "select", "order", "constructor", "table", "prototype"]
    )
    func reservedWords(target: String) throws {
        #expect(try Self.reason("email", target, dynamic: false) == .mappingTargetNotAllowed)
        #expect(
            try Scenario(properties: [.open(target, .string)], client: #"{"email":"\#(target)"}"#).problems().isEmpty
        )
    }

    @Test("T-58: a profile gives what was asked for, by type, and nothing else")
    func profiles() throws {
        let scenario = Scenario(client: #"{"email":"email","picture.data.url":"name"}"#)
        let profile =
            #"{"email":"e@x.org","objectId":"X","userStatus":"Y","picture.data.url":"flat","picture":{"data":{}}}"#
        #expect(try scenario.apply(profile).values == [.text("e@x.org"), nil])
        for json in [#"{"a":1}"#, #"["a"]"#] {
            #expect(try scenario.apply("{\"email\":\(json)}").values == [nil, nil])
            let name = Scenario(client: #"{"first_name":"name"}"#)
            #expect(try name.failure("{\"first_name\":\(json)}")?.reason == .valueNotConvertible)
        }
    }

    @Test("T-94: a target or a field of 60 KB is refused without being compared or repeated")
    func hugeNames() throws {
        let marks = "e" + String(repeating: "\u{301}\u{323}", count: 15_000)
        let json = JSONValue.object(JSONObject([.init("email", .string(marks)), .init(marks, .string("email"))]))
        let problems = try #require(throws: MappingProblems.self) { try Mapping(json, origin: .client) }
        #expect(problems.all.map(\.reason) == [.mappingTargetNotAllowed, .mappingInvalid])
        #expect(JSONValue.object(problems.failure.details).text.utf8.count < 2_000)
        #expect(problems.all.map { $0.entry?.from } == ["email", nil])
        #expect(problems.all.map { $0.entry?.to } == [nil, "email"])
    }
}
