import GraphSimulator
import Testing

@Suite("/me shows the fields that the token may see")
struct UserNodeTests {
    /// The requested fields, the granted scopes, and the response.
    ///
    /// Ann's id in this app is 123.
    static let selections: [(String?, [String]?, String)] = [
        (nil, nil, #"{"name":"Ann M\u00fcller","id":"123"}"#),
        ("", nil, #"{"name":"Ann M\u00fcller","id":"123"}"#),
        ("id,name", nil, #"{"id":"123","name":"Ann M\u00fcller"}"#),
        ("email", nil, #"{"email":"ann\u0040example.com","id":"123"}"#),
        (
            "email, first_name ,last_name", nil,
            #"{"email":"ann\u0040example.com","first_name":"Ann","last_name":"M\u00fcller","id":"123"}"#
        ),
        ("email,birthday,gender", ["email"], #"{"email":"ann\u0040example.com","id":"123"}"#),
        ("middle_name", nil, #"{"id":"123"}"#),
        ("verified,locale,name,timezone,updated_time", nil, #"{"name":"Ann M\u00fcller","id":"123"}"#),
        ("birthday,age_range", nil, #"{"birthday":"05\/17\/1990","age_range":{"min":21},"id":"123"}"#),
        ("age_range{max}", nil, #"{"age_range":{},"id":"123"}"#),
        ("hometown", nil, #"{"hometown":{"id":"108146355876523","name":"K\u00f6ln, Germany"},"id":"123"}"#),
        ("hometown{name}", nil, #"{"hometown":{"name":"K\u00f6ln, Germany","id":"108146355876523"},"id":"123"}"#),
        ("link", nil, #"{"link":"https:\/\/www.facebook.com\/ann","id":"123"}"#),
        (
            "picture.width(200).height(100){width,height}", nil,
            #"{"picture":{"data":{"width":200,"height":100}},"id":"123"}"#
        ),
        ("picture.type(large){width}", nil, #"{"picture":{"data":{"width":200}},"id":"123"}"#),
        ("picture{is_silhouette,height}", nil, #"{"picture":{"data":{"is_silhouette":false,"height":50}},"id":"123"}"#),
        (
            "picture.width(100).as(small){width},picture.as(large).type(large){width}", nil,
            #"{"small":{"data":{"width":100}},"large":{"data":{"width":200}},"id":"123"}"#
        ),
        (
            "permissions", ["email"],
            #"{"permissions":{"data":[{"permission":"email","status":"granted"},{"permission":"public_profile","status":"granted"},{"permission":"user_birthday","status":"declined"},{"permission":"user_age_range","status":"declined"},{"permission":"user_gender","status":"declined"},{"permission":"user_hometown","status":"declined"},{"permission":"user_link","status":"declined"},{"permission":"user_friends","status":"declined"}]},"id":"123"}"#
        ),
    ]

    @Test("fields", arguments: selections)
    func fields(_ fields: String?, _ scopes: [String]?, _ expected: String) async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann", scopes: scopes).text
            let query = fields.map { "&fields=\(Wire.encoded($0))" } ?? ""
            let reply = try await Wire.get(simulator, "/v25.0/me?access_token=\(token)\(query)")
            #expect(reply.status == 200)
            #expect(reply.text == expected)
            let own = try await Wire.get(simulator, "/123?access_token=\(token)\(query)")
            #expect(own.text == expected)
        }
    }

    /// The requested fields, and the code and message of the error.
    static let refusals: [(String, Int, String)] = [
        ("bio", 100, "(#100) Tried accessing nonexisting field (bio) on node type (User)"),
        ("id,username,name", 12, "(#12) username field is deprecated for versions v2.0 and higher"),
        ("extra", 100, "(#100) Tried accessing nonexisting field (extra) on node type (User)"),
        ("picture{uri}", 100, "(#100) Tried accessing nonexisting field (uri) on node type (ProfilePictureSource)"),
        ("hometown{zip}", 100, "(#100) Tried accessing nonexisting field (zip) on node type (Page)"),
        ("name.as(my_name)", 100, "(#100) Unknown fields: my_name."),
        (
            "id,name, picture, picture", 2500,
            #"Syntax error \"Field picture specified more than once. This is only possible before version 2.1\" at character 23: id,name,picture,picture"#
        ),
        (
            "id,id", 2500,
            #"Syntax error \"Field id specified more than once. This is only possible before version 2.1\" at character 5: id,id"#
        ),
        ("*****", 2500, #"Syntax error \"Expected name.\" at character 0: *****"#),
        ("name,", 2500, #"Syntax error \"Expected name.\" at character 5: name,"#),
        ("name?", 2500, #"Syntax error \"Expected end of string instead of \"?\".\" at character 4: name?"#),
        (
            "picture.width,id", 2500,
            #"Syntax error \"Expected \"(\" instead of \",\".\" at character 13: picture.width,id"#
        ),
        (
            "picture{url", 2500,
            #"Syntax error \"Expected \"}\" instead of end of string.\" at character 11: picture{url"#
        ),
        ("name{first}", 2500, "Subfields are not supported by name"),
        ("é", 2500, #"Syntax error \"Expected name.\" at character 0: \u00e9"#),
    ]

    @Test("fields that Graph refuses, with its own words and offsets", arguments: refusals)
    func refused(_ fields: String, _ code: Int, _ message: String) async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann").text
            let reply = try await Wire.get(simulator, "/me?access_token=\(token)&fields=\(Wire.encoded(fields))")
            #expect(reply.status == 400)
            #expect(
                reply.text.withoutTrace
                    == #"{"error":{"message":"\#(message)","type":"OAuthException","code":\#(code),"fbtrace_id":"A…"}}"#
            )
        }
    }

    @Test("a field that a version takes away is there before it and error 12 from it on")
    func removed() async throws {
        try await Control.run { simulator, control in
            let token = try simulator.mint(.long, person: "ann").text
            func ask(_ version: String) async throws -> String {
                try await Wire.get(simulator, "/\(version)/me?fields=gender&access_token=\(token)").text.withoutTrace
            }
            let there = #"{"gender":"female","id":"123"}"#
            let gone =
                #"{"error":{"message":"(#12) gender field is deprecated for versions v25.0 and higher","type":"OAuthException","code":12,"fbtrace_id":"A…"}}"#
            #expect(try await control.send("PUT", "/removed-fields/gender", #"{"since":"v25.0"}"#).status == 200)
            #expect(try await ask("v24.0") == there)
            #expect(try await ask("v25.0") == gone)
            let all = try GraphSimulator.JSON(parsing: try await control.send("GET", "/removed-fields").body)
            #expect(all == ["username": ["since": "v2.0"], "gender": ["since": "v25.0"]])
            #expect(try await control.send("DELETE", "/removed-fields/gender").status == 200)
            #expect(try await control.send("DELETE", "/removed-fields/gender").status == 404)
            #expect(try await ask("v25.0") == there)
            let wrong = try await control.send("PUT", "/removed-fields/gender", #"{"since":"25"}"#)
            #expect(wrong.status == 400)
            #expect(wrong.text.contains("since: expected a version such as v25.0"))

            simulator.put(try .init("gender", since: "v25.0"))
            #expect(try await ask("v26.0") == gone)
            try simulator.reset()
            let again = try simulator.mint(.long, person: "ann").text
            #expect(try await Wire.get(simulator, "/v26.0/me?fields=gender&access_token=\(again)").text == there)
        }
    }

    @Test("several nodes at once, by ids between commas or in a JSON list")
    func byIDs() async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann").text
            let app =
                #"{"name":"oauth2-rs-f-b-web-app-demo","id":"257422819769992"}"#
            for ids in ["123,%20\(SampleWorld.app),123", Wire.encoded(#"["123","\#(SampleWorld.app)"]"#)] {
                let reply = try await Wire.get(simulator, "/v25.0/?ids=\(ids)&fields=name&access_token=\(token)")
                #expect(
                    reply.text == #"{"123":{"name":"Ann M\u00fcller","id":"123"},"257422819769992":\#(app)}"#
                )
            }
            let foreign = try await Wire.get(simulator, "/?ids=me,456&access_token=\(token)")
            #expect(foreign.text.contains("Object with ID '456' does not exist"))
        }
    }

    @Test("a nested selection deeper than any real one is refused, not followed")
    func depth() async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann").text
            let fields = String(repeating: "a%7B", count: 5000)
            let reply = try await Wire.get(simulator, "/me?access_token=\(token)&fields=\(fields)")
            #expect(reply.status == 400)
            #expect(reply.text.contains("Too many levels"))
        }
    }

    @Test("a phone account has no email; a declined or expired permission hides the field; both are absent, not null")
    func absences() async throws {
        try await SampleWorld.run { simulator in
            let bob = try simulator.mint(.long, person: "bob").text
            let phone = try await Wire.get(simulator, "/me?fields=name,email&access_token=\(bob)")
            #expect(phone.text.hasPrefix(#"{"name":"Bob \u6771\u4eac","id":"#))
            #expect(!phone.text.contains("email"))
            let cem = try simulator.mint(.long, person: "cem").text
            let declined = try await Wire.get(simulator, "/me?fields=name,email,birthday&access_token=\(cem)")
            #expect(declined.text.hasPrefix(#"{"name":"Cem","id":"#))
            let edge = try await Wire.get(simulator, "/me/permissions?access_token=\(cem)")
            #expect(
                edge.text
                    == #"{"data":[{"permission":"public_profile","status":"granted"},{"permission":"email","status":"declined"},{"permission":"user_birthday","status":"expired"}]}"#
            )
        }
    }

    @Test("when data access has expired only the public profile is left")
    func dataAccess() async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.dataAccessExpired, person: "ann").text
            let reply = try await Wire.get(simulator, "/me?fields=name,email,birthday&access_token=\(token)")
            #expect(reply.text == #"{"name":"Ann M\u00fcller","id":"123"}"#)
        }
    }

    @Test("friends: limit, sub-selection, paging and the total")
    func friends() async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann").text
            let reply = try await Wire.get(simulator, "/me?fields=friends.limit(1)%7Bid%7D&access_token=\(token)")
            #expect(reply.text.hasPrefix(#"{"friends":{"data":[{"id":""#))
            #expect(reply.text.contains(#"}],"paging":{"cursors":{"before":""#))
            #expect(reply.text.hasSuffix(#""summary":{"total_count":2}},"id":"123"}"#))
        }
    }

    @Test("the picture edge redirects unless told not to")
    func picture() async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann").text
            let redirect = try await Wire.get(simulator, "/me/picture?access_token=\(token)")
            #expect(redirect.status == 302)
            #expect(redirect.header("location")?.hasPrefix("https://platform-lookaside.fbsbx.com/") == true)
            #expect(redirect.body.isEmpty)
            for value in ["false", "0"] {
                let data = try await Wire.get(
                    simulator,
                    "/me/picture?redirect=\(value)&width=80&height=60&access_token=\(token)"
                )
                #expect(data.status == 200)
                #expect(data.text.hasPrefix(#"{"data":{"height":60,"is_silhouette":false,"url":"https:\/\/platform"#))
                #expect(data.text.hasSuffix(#","width":80}}"#))
            }
        }
    }

    @Test("app-scoped ids differ between apps, and /app names the token's app")
    func apps() async throws {
        try await SampleWorld.run { simulator in
            let foreign = try simulator.mint(.long, person: "ann", app: SampleWorld.otherApp).text
            let me = try await Wire.get(simulator, "/me?fields=id&access_token=\(foreign)")
            #expect(me.text != #"{"id":"123"}"#)
            #expect(me.text == #"{"id":"\#(try #require(simulator.person("ann")).id(for: SampleWorld.otherApp))"}"#)
            let app = try await Wire.get(simulator, "/app?fields=name&access_token=\(foreign)")
            #expect(app.text == #"{"name":"Another app","id":"2345678901"}"#)
            let all = try await Wire.get(simulator, "/app?access_token=\(SampleWorld.encodedAppToken)")
            #expect(
                all.text
                    == #"{"category":"Business","link":"https:\/\/www.facebook.com\/games\/?app_id=257422819769992","name":"oauth2-rs-f-b-web-app-demo","id":"257422819769992"}"#
            )
        }
    }

    @Test("own fields under extra are fields of the node")
    func extra() async throws {
        var dataset = SampleWorld.dataset
        dataset.people[0].fields["extra"] = ["languages": [["id": "1", "name": "Deutsch"]]]
        try await SampleWorld.run(dataset) { simulator in
            let ann = try simulator.mint(.long, person: "ann").text
            let reply = try await Wire.get(simulator, "/me?fields=languages&access_token=\(ann)")
            #expect(reply.text == #"{"languages":[{"id":"1","name":"Deutsch"}],"id":"123"}"#)
            let bob = try simulator.mint(.long, person: "bob").text
            let absent = try await Wire.get(simulator, "/me?fields=languages&access_token=\(bob)")
            #expect(absent.status == 200)
        }
    }

    @Test("a change of the person shows in the next reply")
    func update() async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann").text
            simulator.update(person: "ann") { $0.fields["email"] = "new@example.com" }
            let changed = try await Wire.get(simulator, "/me?fields=email&access_token=\(token)")
            #expect(changed.text == #"{"email":"new\u0040example.com","id":"123"}"#)
            simulator.update(person: "ann") { $0.fields["email"] = nil }
            let removed = try await Wire.get(simulator, "/me?fields=email&access_token=\(token)")
            #expect(removed.text == #"{"id":"123"}"#)
        }
    }
}
