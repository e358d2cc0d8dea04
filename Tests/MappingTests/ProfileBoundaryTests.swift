import Domain
import Encodings
import Facebook
import Mapping
import Testing

@Suite("What does not fit is left out of a profile")
struct ProfileBoundaryTests {
    /// Returns why a JSON value at a path of the profile is left out of a property; nil when it is written.
    private static func reason(
        _ json: String,
        from field: String = "v",
        into property: Property,
        _ options: String = ""
    ) throws -> Omission.Reason? {
        let scenario = Scenario(
            properties: Property.builtIn + [property],
            stored: #"[{"from":"\#(field)","to":"\#(property.name)"\#(options)}]"#
        )
        let mapped = try scenario.apply(nested(json, field.split(separator: ".")))
        // An omitted value neither writes nor clears the property, nor counts as missing.
        #expect((mapped.values == [nil]) == !mapped.omissions.isEmpty)
        #expect(mapped.cleared.isEmpty && mapped.missing.isEmpty)
        #expect(mapped.omissions.allSatisfy { $0.property == property.name })
        return mapped.omissions.first?.reason
    }

    private static func nested(_ json: String, _ names: some Collection<Substring>) -> String {
        guard let name = names.first else { return json }
        return #"{"\#(name)":\#(nested(json, names.dropFirst()))}"#
    }

    private static func text(_ count: Int) -> String { "\"" + String(repeating: "é", count: count / 2) + "\"" }

    @Test(
        "names of all writings and long addresses of pictures pass",
        arguments: [
            ("name", #""José Ángel Núñez d'Artagnan-O’Neill""#),
            ("name", #""e\u0301 \u0646\u0627\u0645 \u200F\u05D0""#),
            ("name", #""👩‍👩‍👧 Zoë\u200D🏳️‍🌈""#), ("name", #""\u2068\u0639\u0644\u064A\u2069 \u202B\u05D0\u202C""#),
            ("name", #""A=B: access_token?""#), ("name", text(1024)), ("name", "7"),
            ("about", #""Line one\nLine two\r\n\t- https://a.example/ and more\u2028""#), ("about", text(65_536)),
            ("email", #"" Ann.Lee+x@mail.example.com ""#),
            ("link", #""HTTPS://www.facebook.com/app_scoped_user_id/YXNpZADpB/""#),
            (
                "picture.data.url",
                #""https:\/\/scontent-fra5-2.xx.fbcdn.net\/v\/t39.30808-1\/123_456_789_n.jpg?stp=c0.5000x0.5000f_dst-jpg_p50x50&_nc_cat=105"#
                    + #"&ccb=1-7&_nc_sid=7206a8&_nc_ohc=\#(String(repeating: "aB3", count: 150))&_nc_zt=24&_nc_ht=scontent&edm=AP4hL3IEAAAA"#
                    + #"&_nc_gid=A%2FB&oh=00_AYD&oe=676C2A1F""#
            ),
            (
                "picture.data.url",
                #""https://platform-lookaside.fbsbx.com/platform/profilepic/?asid=10&height=50&width=50&ext=1&hash=AeT#x""#
            ),
            ("picture.data.url", #""http://[2001:db8::1]:8080/""#),
            ("picture.data", #"{"height":50,"url":"https://a.example"}"#),
            ("friends", #"{"data":[{"id":"1","name":"Bo"}],"summary":{"total_count":9}}"#),
            ("website", #""www.example.com""#),
            ("quotes", #""Data: it is all there""#),
        ]
    )
    func fits(field: String, json: String) throws {
        for type in [PropertyType.json, .text] where type == .json || !json.hasPrefix("{") {
            #expect(try Self.reason(json, from: field, into: .open("p", type)) == nil)
        }
    }

    @Test(
        "what does not fit its field is left out of texts and of documents, and of whatever reads a part of it",
        arguments: [
            ("name", text(1026), .tooLong), ("first_name", text(200_000), .tooLong),
            ("location.name", text(1026), .tooLong),
            ("about", text(65_538), .tooLong),
            ("link", #""https://a.example/\#(String(repeating: "a", count: 4096))""#, .tooLong),
            ("name", #""a\u0007b""#, .controlCharacters), ("name", #""a\nb""#, .controlCharacters),
            ("name", #""a\u202Eb""#, .controlCharacters), ("birthday", #""05/06/1990\u007F""#, .controlCharacters),
            ("about", #""a\u001B[2Jb""#, .controlCharacters), ("about", #""a\u0086b""#, .controlCharacters),
            ("email", #""a@b@c""#, .notAnEmail), ("email", #""ann""#, .notAnEmail), ("email", #""""#, .notAnEmail),
            ("email", "7", .notAnEmail), ("email", #"{"a":"ann@example.com"}"#, .notAnEmail),
            ("email", #"["ann@example.com"]"#, .notAnEmail), ("email", #""a@b.c\n""#, .controlCharacters),
            ("link", #""javascript:alert(1)""#, .notAURL), ("link", #""//a.example/""#, .notAURL),
            ("link", "true", .notAURL),
            ("link", #""ftp://a.example/""#, .notAURL), ("link", #""https://""#, .notAURL),
            ("link", #""https://:80/""#, .notAURL),
            ("link", #""https://ann@a.example/""#, .notAURL), ("link", #""https://ann:secret@a.example/""#, .notAURL),
            ("link", #""https://a.example\\@b.example/""#, .notAURL), ("link", #""https://a.example/ b""#, .notAURL),
            ("link", #""https://a%2eexample/""#, .notAURL), ("website", #""JavaScript:alert(1)""#, .notAURL),
            ("website", #"" http://ann:secret@a.example/""#, .notAURL), ("name", #""data:text/html,x""#, .notAURL),
            ("picture.data.url", #""https://graph.facebook.com/7/picture?access_token=EAAB""#, .credential),
            ("picture.data.url", #""https://a.example/?x=1&ACCESS%5FTOKEN%3dEAAB""#, .credential),
            (
                "picture.data.url", #""https://a.example/?u=https%253A%252F%252Fb%252F%253Faccess_token%253DEAAB""#,
                .credential
            ),
            ("picture.data.url", #""https://a.example/#access_token=EAAB&x""#, .credential),
            ("about", #""see https://a.example/?%zz&client_secret=x""#, .credential),
            ("website", #""https://a.example/?oauth_token=x""#, .credential),
            ("accounts", #"{"data":[{"access_token":"EAAB"}]}"#, .credential),
            ("page", #"{"Access_Token":"EAAB"}"#, .credential),
            ("page", #"{"access_token":{"value":"EAAB"}}"#, .credential),
            ("friends", #"{"data":[{"id":"1","name":"Bo"},{"id":"2","name":"a\u0001b"}]}"#, .controlCharacters),
            ("page", #"{"a\nb":1}"#, .controlCharacters), ("page", #"[[["\u0001"]]]"#, .controlCharacters),
            ("a.b.c.d.e.f.g.h", #"{"i":{"j":"\u0001"}}"#, .controlCharacters),
        ] as [(String, String, Omission.Reason)]
    )
    func leftOut(field: String, json: String, reason: Omission.Reason) throws {
        #expect(try Self.reason(json, from: field, into: .open("p", .json)) == reason)
        if !json.hasPrefix("{"), !json.hasPrefix("[") {
            #expect(try Self.reason(json, from: field, into: .open("p", .text)) == reason)
            #expect(try Self.reason(json, from: field, into: .open("p", .text), #","transform":"trim""#) == reason)
        }
        var scenario = Scenario(client: #"{"\#(field)":"undeclared"}"#)
        scenario.settings.dynamicProperties = true
        #expect(try scenario.apply(Self.nested(json, field.split(separator: "."))).omissions.map(\.reason) == [reason])
        // The mapping omits the whole field when a part of it does not fit.
        scenario.client = #"{"\#(field.prefix { $0 != "." })":"undeclared"}"#
        #expect(try scenario.apply(Self.nested(json, field.split(separator: "."))).values == [nil])
    }

    @Test(
        "a property holds what an entry makes of fields to its own bounds",
        arguments: [
            (#""from":"v","to":"email""#, #""ann""#, .notAnEmail), (#""from":"v","to":"email""#, "7", .notAnEmail),
            (#""from":"v","to":"email""#, #""ann@example.com""#, nil),
            (#""from":"email","to":"email""#, #"" a@b.c""#, .notAnEmail),
            (#""from":"email","to":"email","transform":"trim""#, #"" a@b.c""#, nil),
            (#""from":"{email}@example.com","to":"email""#, #""a@b.c""#, .notAnEmail),
            (#""from":"v","to":"name""#, #""a\nb""#, .controlCharacters),
            (#""from":"v","to":"name""#, text(1026), .tooLong),
            (#""from":"v","to":"text""#, text(60_000), nil),
            (#""from":"{v}{v}","to":"text""#, text(60_000), .tooLong),
            (
                #""from":"v","to":"text","transform":"uppercase""#, "\"" + String(repeating: "ﬃ", count: 21_845) + "\"",
                nil
            ),
            (
                #""from":"v","to":"text","transform":"uppercase""#, "\"" + String(repeating: "ΐ", count: 32_768) + "\"",
                .tooLong
            ),
            (#""from":"v","to":"text","transform":{"join":"\n"}"#, "[\(text(40_000)),\(text(40_000))]", .tooLong),
            (#""from":"javascript:{v}","to":"text""#, #""x""#, .notAURL),
            (#""from":"v","to":"json""#, "[" + Array(repeating: "1e308", count: 800).joined(separator: ",") + "]", nil),
            (
                #""from":"v","to":"json""#, "[" + Array(repeating: "1e308", count: 900).joined(separator: ",") + "]",
                .tooLong
            ),
        ] as [(String, String, Omission.Reason?)]
    )
    func targets(entry: String, json: String, reason: Omission.Reason?) throws {
        let properties = Property.builtIn + [try .open("text", .text), try .open("json", .json)]
        let scenario = Scenario(properties: properties, stored: "[{\(entry)}]")
        let mapped = try scenario.apply("{\"v\":\(json),\"email\":\(json)}")
        #expect(mapped.omissions.map(\.reason) == (reason.map { [$0] } ?? []))
        #expect((mapped.values == [nil]) == (reason != nil))
    }

    @Test("what is left out empties nothing, leaves a default its place, and is no half of a name")
    func absence() throws {
        let profile =
            #"{"first_name":"a\u0007b","last_name":"Lee","picture":{"data":{"url":"javascript:x","height":5}}}"#
        func mapped(_ entry: String, _ type: PropertyType = .text) throws -> MappedProfile {
            try Scenario(properties: [try .open("p", type)], stored: "[{\"to\":\"p\",\(entry)}]").apply(profile)
        }
        for entry in [
            #""from":"picture.data.url""#, #""from":"first_name","whenMissing":"clear""#,
            #""from":"{first_name} {last_name}","whenMissing":"clear""#,
            #""from":"first_name","transform":{"lookup":{"x":"y"},"else":"z"}"#,
        ] {
            let mapped = try mapped(entry)
            #expect(mapped.values == [nil] && mapped.cleared.isEmpty && mapped.omissions.count == 1, "\(entry)")
        }
        let fallback = try mapped(#""from":"first_name","default":"none""#)
        #expect(fallback.values == [.text("none")])
        #expect(fallback.omissions.map(\.text) == ["p controlCharacters"])
        let begins = try mapped(#""from":"first","whenMissing":"clear""#)
        #expect(begins.omissions.isEmpty && !begins.cleared.isEmpty, "its name begins another's")
        // The other fields beside it stay valid.
        #expect(try mapped(#""from":"picture.data.height""#, .int).values == [.integer(5)])
        #expect(try mapped(#""from":"last_name""#).values == [.text("Lee")])
    }

    @Test("a member with an impossible name is left out alone: the object lacks something, its other members do not")
    func unnamed() throws {
        let profile = #"{"picture":{"data":{"u\u0000rl":"x","url":"https://a.example/7","height":5}}}"#
        func mapped(_ from: String, _ type: PropertyType) throws -> MappedProfile {
            let stored = "[{\"to\":\"p\",\"from\":\"\(from)\"}]"
            return try Scenario(properties: [try .open("p", type)], stored: stored).apply(profile)
        }
        #expect(try mapped("picture.data.url", .text).values == [.text("https://a.example/7")])
        #expect(try mapped("picture.data.height", .int).values == [.integer(5)])
        for object in ["picture", "picture.data"] {
            let mapped = try mapped(object, .json)
            #expect(mapped.values == [nil] && mapped.omissions.map(\.text) == ["p controlCharacters"], "\(object)")
        }
    }

    @Test("a required property that gets nothing for it says why, and never what it was")
    func required() throws {
        let scenario = Scenario(stored: #"[{"from":"email","to":"email","required":true}]"#)
        let failure = try #require(try scenario.failure(#"{"email":"canary@b@c"}"#))
        #expect(failure.reason == .profileIncomplete)
        #expect(failure.details["leftOut"] == .string("notAnEmail") && failure.details["field"] == .string("email"))
        #expect(failure.message.contains("not an e-mail address"))
        #expect(!"\(failure)".contains("canary"))
        let entry = try #require(try scenario.trace(#"{"email":"canary@b@c"}"#).entries.first)
        #expect(entry.outcome == .refused && entry.why == failure.message)
        #expect(entry.leftOut == .notAnEmail && entry.field == "email" && entry.permission == nil)
    }

    @Test("a preview says of each entry what is left out and why, and repeats nothing of it")
    func preview() throws {
        let scenario = Scenario(
            properties: Property.builtIn + [try .open("avatar", .text), try .open("home", .text)],
            stored: #"""
                [{"from":"email","to":"email"},{"from":"{first_name} {last_name}","to":"name"},
                 {"from":"picture.data.url","to":"avatar"},{"from":"location.name","to":"home","default":"nowhere"}]
                """#
        )
        let profile = #"""
            {"email":"canary@b@c","first_name":"Ann","last_name":"canary\u0001","location":{"name":"canary\u0007"},
             "picture":{"data":{"url":"https://a.example/?access_token=canary"}}}
            """#
        let user = try User.having([("email", .text("ann@example.com"))])
        for (user, rest) in [(nil, "The property is empty."), (user, "The property is unchanged.")]
            as [(User?, String)]
        {
            let entries = try scenario.trace(profile, user: user).entries
            #expect(entries.map(\.outcome) == [.leftOut, .leftOut, .leftOut, .defaulted])
            #expect(entries.map(\.leftOut) == [.notAnEmail, .controlCharacters, .credential, .controlCharacters])
            #expect(entries.map(\.field) == ["email", "last_name", "picture.data.url", "location.name"])
            #expect(
                entries[0].why
                    == "The value of \"email\" in the profile is left out, because it is not an e-mail address. \(rest)"
            )
            #expect(entries[0].json.object?["leftOut"] == .string("notAnEmail"))
            #expect(!entries.contains { $0.json.text.contains("canary") })
        }
    }

    @Test("what is kept of a profile is what fits, with the reasons of the rest")
    func kept() throws {
        let scenario = Scenario(
            properties: Property.builtIn + [try .open("avatar", .text)],
            stored: #"{"name":"name","picture.data.url":"avatar"}"#
        )
        let json =
            #"{"id":"7","name":"Ann","odd Name":"x","picture":{"data":{"url":"https://a.example/?access_token=EAAB"}}}"#
        let admitted = AdmittedProfile(try #require(try Scenario.parse(json).object), by: .facebook)
        #expect(
            admitted.json.text
                == #"{"fields":{"id":"7","name":"Ann","picture":{"data":{}}},"leftOut":{"picture.data.url":"credential"}}"#
        )
        let kept = try #require(AdmittedProfile(admitted.json))
        let mapped = try scenario.compiled().apply(to: kept, grantedScopes: nil)
        #expect(mapped.omissions.map(\.text) == ["avatar credential"] && mapped.cleared.isEmpty)
        #expect(AdmittedProfile(try Scenario.parse("{}")) == nil)
        #expect(AdmittedProfile(try Scenario.parse(#"{"fields":{},"leftOut":{"a":"odd"}}"#)) == nil)
    }
}
