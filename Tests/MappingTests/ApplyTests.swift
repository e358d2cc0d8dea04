import Domain
import Encodings
import Facebook
import Mapping
import Testing

@Suite("Applying a mapping to a profile")
struct ApplyTests {
    private static let full = #"""
        {"id":"123456789012345","name":"Ann Lee","first_name":"Ann","last_name":"Lee","email":"Ann@Example.com","birthday":"05/06/1990",
         "age_range":{"min":21},"gender":"female","location":{"id":"7","name":"Berlin, Germany"},
         "picture":{"data":{"height":50,"is_silhouette":false,"url":"https://x.example/p?a=1","width":50}},
         "friends":{"data":[{"id":"1","name":"Bo"},{"id":"2","name":"Cy"}],"summary":{"total_count":9}}}
        """#

    private static func properties() throws -> [Property] {
        try Property.builtIn + [
            .open("birthday", .date), .open("age", .int), .open("home", .string), .open("avatar", .text),
            .open("real", .boolean),
            .open("pals", .string), .open("raw", .json), .open("sex", .string),
        ]
    }

    private static let stored = #"""
        [{"from":"email","to":"email","transform":["trim","lowercase"]},
         {"from":"{first_name} {last_name}","to":"name","sync":"untilEdited"},
         {"from":"birthday","to":"birthday","sync":"firstLogin"},
         {"from":"age_range.min","to":"age"},
         {"from":"location.name","to":"home","default":"unknown"},
         {"from":"picture.data.url","to":"avatar"},
         {"from":"picture.data.is_silhouette","to":"real"},
         {"from":"friends.data.name","to":"pals","transform":{"join":", "}},
         {"from":"age_range","to":"raw","type":"JSON"},
         {"from":"gender","to":"sex","transform":{"lookup":{"male":"M","female":"F"},"else":"X"}}]
        """#

    @Test("every kind of entry reads its part of a real profile")
    func fullProfile() throws {
        let mapped = try Scenario(properties: Self.properties(), stored: Self.stored).apply(Self.full)
        let birthday = try #require(CalendarDate(year: 1990, month: 5, day: 6))
        #expect(
            mapped.values == [
                .text("ann@example.com"), .text("Ann Lee"), .date(birthday), .integer(21), .text("Berlin, Germany"),
                .text("https://x.example/p?a=1"), .boolean(false), .text("Bo, Cy"),
                .json(try Scenario.parse(#"{"min":21}"#)), .text("F"),
            ]
        )
        #expect(mapped.missing.isEmpty)
        #expect(mapped.missingPermissions.isEmpty)
    }

    @Test("a profile of nothing but the id leaves everything as it is but defaults, and names the permissions")
    func emptyProfile() throws {
        let scenario = Scenario(properties: try Self.properties(), stored: Self.stored)
        let mapped = try scenario.apply(#"{"id":"1"}"#, scopes: ["public_profile", "user_gender"])
        #expect(
            mapped.values.map { $0 != nil } == [false, false, false, false, true, false, false, false, false, false]
        )
        #expect(mapped.values.contains(.text("unknown")))
        #expect(mapped.missingPermissions == ["email", "user_birthday", "user_age_range", "user_friends"])
        #expect(
            mapped.missing.map(\.field) == [
                "email", "first_name", "last_name", "birthday", "age_range", "picture", "picture", "friends",
                "age_range", "gender",
            ]
        )
        #expect(
            mapped.missing.map(\.property.text) == [
                "email", "name", "name", "birthday", "age", "avatar", "real", "pals", "raw", "sex",
            ]
        )
        #expect(mapped.missing.last?.permission == nil, "granted, so it is not the permission that lacks")
    }

    @Test("without knowledge of the scopes an absent field is put down to its permission")
    func unknownScopes() throws {
        let mapped = try Scenario(stored: #"{"email":"email","id":"name"}"#).apply("{}", scopes: nil)
        #expect(mapped.missing.map(\.permission) == ["email", nil])
    }

    @Test("a field that is there but says too little is not put down to its permission")
    func partly() throws {
        let scenario = Scenario(
            properties: try Self.properties(),
            stored: #"{"birthday":"birthday","age_range.max":"age"}"#
        )
        let mapped = try scenario.apply(#"{"birthday":"05/06","age_range":{"min":21}}"#, scopes: nil)
        #expect(mapped.values == [nil, nil])
        #expect(mapped.missing.map(\.permission) == [nil, nil])
        #expect(mapped.missing.map(\.field) == ["birthday", "age_range"])
    }

    @Test("a template fills with what it gets, and names every permission when it gets nothing")
    func templates() throws {
        let scenario = Scenario(stored: #"[{"from":"{gender} {hometown.name}","to":"name"}]"#)
        #expect(try scenario.apply(#"{"gender":"x"}"#).missingPermissions.isEmpty)
        #expect(try scenario.apply("{}").missingPermissions == ["user_gender", "user_hometown"])
    }

    @Test(
        "a required value that lacks ends the login: permission_missing without the permission, profile_incomplete with it",
        arguments: [
            ("email", "{}", [] as [String]?, Failure.Reason.permissionMissing, "email" as String?),
            ("email", "{}", nil, .permissionMissing, "email"),
            ("email", "{}", ["public_profile"], .permissionMissing, "email"),
            ("email", "{}", ["email"], .profileIncomplete, nil),
            ("email", #"{"email":null}"#, ["email"], .profileIncomplete, nil),
            ("id", "{}", [], .profileIncomplete, nil), ("some_field", "{}", [], .profileIncomplete, nil),
            ("age_range.max", #"{"age_range":{"min":1}}"#, [], .profileIncomplete, nil),
            ("age_range.max", "{}", [], .permissionMissing, "user_age_range"),
            ("location.name", "{}", ["user_hometown"], .permissionMissing, "user_location"),
            ("{first_name} {hometown.name}", "{}", ["public_profile"], .permissionMissing, "user_hometown"),
            ("{first_name} {hometown.name}", "{}", ["public_profile", "user_hometown"], .profileIncomplete, nil),
            ("email", "{}", ["EMAIL", "e\u{301}mail", "email "], .permissionMissing, "email"),
        ] as [(String, String, [String]?, Failure.Reason, String?)]
    )
    func required(from: String, profile: String, scopes: [String]?, reason: Failure.Reason, permission: String?) throws
    {
        let scenario = Scenario(stored: #"[{"from":"\#(from)","to":"name","required":true}]"#)
        let failure = try #require(try scenario.failure(profile, scopes: scopes))
        #expect(failure.reason == reason)
        #expect(failure.details["permission"]?.string == permission)
        #expect(failure.details["entry"]?.object?["position"] == .integer(0))
        #expect(failure.message.contains("\"name\""))
        if let permission { #expect(failure.message.contains(permission)) }
    }

    @Test("a partial birthday does not satisfy a required DATE; a default does")
    func requiredDate() throws {
        func scenario(_ entry: String) throws -> Scenario {
            Scenario(
                properties: try Self.properties(),
                stored: #"[{"from":"birthday","to":"birthday","required":true\#(entry)}]"#
            )
        }
        #expect(try scenario("").failure(#"{"birthday":"05/06"}"#)?.reason == .profileIncomplete)
        #expect(try scenario("").failure(#"{"birthday":"05/06/1990"}"#) == nil)
        #expect(try scenario(#","default":"1900-01-01""#).failure("{}") == nil)
    }

    @Test("a value that does not fit is named by its entry and never shown")
    func notConvertible() throws {
        let scenario = Scenario(properties: try Self.properties(), stored: #"{"email":"email","name":"age"}"#)
        let failure = try #require(try scenario.failure(#"{"email":"e","name":"CANARY"}"#))
        #expect(failure.reason == .valueNotConvertible)
        #expect(
            failure.message == #"mapping[1] ("name" to "age"): the profile holds a string there that does not fit INT."#
        )
        #expect(failure.details.members.map(\.key) == ["entry"])
        #expect(
            failure.details["entry"]?.text
                == #"{"mapping":"stored","position":1,"from":"name","to":"age","type":"INT"}"#
        )
        #expect(failure.cause == nil)
    }

    @Test(
        "T-110: no failure of a mapping holds a value of the profile or of a default",
        arguments: PropertyType.allCases
    )
    func noValues(type: PropertyType) throws {
        let values = [#""CANARY""#, #"["CANARY"]"#, #"{"CANARY":"CANARY"}"#]
        for value in values {
            for transform in [#""trim""#, #"{"join":","}"#, #"{"lookup":{"CANARY2":1}}"#, #"{"date":"yyyy-MM-dd"}"#] {
                let entry = #"{"from":"v","to":"p","required":true,"transform":\#(transform)"#
                let applied = Scenario(properties: [try .open("p", type)], stored: "[\(entry)}]")
                if let failure = try applied.failure("{\"v\":\(value)}") {
                    #expect(!"\(failure)".contains("CANARY"))
                }
                let defaulted = Scenario(properties: [try .open("p", type)], stored: "[\(entry),\"default\":\(value)}]")
                #expect(try !defaulted.problems().contains { "\($0)".contains("CANARY") })
            }
        }
    }

    @Test("the first entry at fault ends it, whatever follows")
    func firstFault() throws {
        let scenario = Scenario(
            properties: try Self.properties(),
            stored:
                #"[{"from":"gender","to":"sex"},{"from":"name","to":"age"},{"from":"email","to":"email","required":true}]"#
        )
        #expect(try scenario.failure(#"{"name":"x"}"#)?.reason == .valueNotConvertible)
    }

    @Test("the catalogue knows which permission gives which field")
    func permissions() {
        let expected =
            [
                "id": nil, "name": "public_profile", "first_name": "public_profile", "last_name": "public_profile",
                "middle_name": "public_profile", "short_name": "public_profile",
                "name_format": "public_profile", "picture": "public_profile", "email": "email",
                "birthday": "user_birthday", "age_range": "user_age_range", "gender": "user_gender",
                "hometown": "user_hometown", "location": "user_location", "link": "user_link",
                "friends": "user_friends", "permissions": nil, "token_for_business": nil, "ids_for_business": nil,
                "locale": nil, "Email": nil, "": nil,
            ] as [String: String?]
        for (field, permission) in expected {
            #expect(ProfileFields.facebook.permission(of: field) == permission, "\(field)")
        }
    }
}
