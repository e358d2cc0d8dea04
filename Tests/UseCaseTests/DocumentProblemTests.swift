import Accounts
import Administration
import Description
import Domain
import Encodings
import Testing

@Suite("What is wrong with a document, and where")
struct DocumentProblemTests {
    private static func pointers(_ text: String, origin: ApplicationDocument.Origin = .file) -> [String] {
        ApplicationDocument.problems(text, origin: origin)?.problems.map(\.pointer.text) ?? []
    }

    @Test(
        "each problem has the pointer of what is at fault",
        arguments: [
            ("nonsense", [""]), ("7", [""]), ("[]", [""]), (#"{"application":"a","application":"b"}"#, [""]),
            ("{}", ["/application"]), (#"{"application":"a b"}"#, ["/application"]),
            (#"{"application":"-a"}"#, ["/application"]),
            (#"{"application":"a","$schema":1}"#, ["/$schema"]), (#"{"application":"a","x":1}"#, ["/x"]),
            (#"{"application":"a","a/b~c":1}"#, ["/a~1b~0c"]), (#"{"application":"a","":1}"#, ["/"]),
            (#"{"application":"a","name":""}"#, ["/name"]), (#"{"application":"a","name":null}"#, ["/name"]),
            (#"{"application":"a","schema":"pg_x"}"#, ["/schema"]), (#"{"application":"public"}"#, ["/schema"]),
            (#"{"application":"a","schema":"a.b"}"#, ["/schema"]), (#"{"application":"a","schema":1}"#, ["/schema"]),
            (#"{"application":"a","settings":[]}"#, ["/settings"]),
            (#"{"application":"a","settings":{"x":1}}"#, ["/settings/x"]),
            (#"{"application":"a","settings":{"clientMapping":1}}"#, ["/settings/clientMapping"]),
            (#"{"application":"a","settings":{"dynamicProperties":null}}"#, ["/settings/dynamicProperties"]),
            (#"{"application":"a","settings":{"undeclaredProperties":true}}"#, ["/settings/undeclaredProperties"]),
            (#"{"application":"a","settings":{"undeclaredProperties":"Store"}}"#, ["/settings/undeclaredProperties"]),
            (#"{"application":"a","settings":{"offsetlessTimes":"local"}}"#, ["/settings/offsetlessTimes"]),
            (#"{"application":"a","settings":{"offsetlessTimes":null}}"#, ["/settings/offsetlessTimes"]),
            (#"{"application":"a","settings":{"multipleLogins":"no"}}"#, ["/settings/multipleLogins"]),
            (#"{"application":"a","settings":{"sessionIdleSeconds":59}}"#, ["/settings/sessionIdleSeconds"]),
            (#"{"application":"a","settings":{"maxSessions":0}}"#, ["/settings/maxSessions"]),
            (#"{"application":"a","settings":{"maxSessions":1001}}"#, ["/settings/maxSessions"]),
            (#"{"application":"a","settings":{"maxSessions":"2"}}"#, ["/settings/maxSessions"]),
            (#"{"application":"a","settings":{"tokens":true}}"#, ["/settings/tokens"]),
            (#"{"application":"a","settings":{"sessionLimitBehavior":"end"}}"#, ["/settings/sessionLimitBehavior"]),
            (#"{"application":"a","settings":{"newUsers":"Closed"}}"#, ["/settings/newUsers"]),
            (#"{"application":"a","settings":{"identityProperty":7}}"#, ["/settings/identityProperty"]),
            (#"{"application":"a","settings":{"identityProperty":"login"}}"#, ["/settings/identityProperty"]),
            (
                #"{"application":"a","settings":{"identityProperty":"age"},"properties":{"age":{"type":"INT"}}}"#,
                ["/settings/identityProperty"]
            ),
            (#"{"application":"a","settings":{"passwords":8}}"#, ["/settings/passwords"]),
            (#"{"application":"a","settings":{"pages":"red"}}"#, ["/settings/pages"]),
            (
                #"{"application":"a","settings":{"pages":{"color":"red","logo":"https://a.example/b.png","account":1,"x":1}}}"#,
                [
                    "/settings/pages/color", "/settings/pages/logo", "/settings/pages/account", "/settings/pages/x",
                ]
            ),
            (#"{"application":"a","settings":{"reauthentication":"never"}}"#, ["/settings/reauthentication"]),
            (#"{"application":"a","settings":{"lockout":10}}"#, ["/settings/lockout"]),
            (
                #"{"application":"a","settings":{"lockout":{"failures":2,"seconds":59,"x":1}}}"#,
                ["/settings/lockout/failures", "/settings/lockout/seconds", "/settings/lockout/x"]
            ),
            (
                #"{"application":"a","settings":{"lockout":{"failures":101,"seconds":86401}}}"#,
                ["/settings/lockout/failures", "/settings/lockout/seconds"]
            ),
            (
                #"{"application":"a","settings":{"allowAccountEnumeration":"no"}}"#,
                ["/settings/allowAccountEnumeration"]
            ),
            (#"{"application":"a","settings":{"apiKeyRights":["findByRole","all"]}}"#, ["/settings/apiKeyRights/1"]),
            (
                #"{"application":"a","settings":{"apiKeyRights":["findByRole","findByRole"]}}"#,
                ["/settings/apiKeyRights"]
            ),
            (
                #"{"application":"a","settings":{"passwords":{"minLength":7,"x":1}}}"#,
                ["/settings/passwords/minLength", "/settings/passwords/x"]
            ),
            (
                #"{"application":"a","settings":{"passwords":{"minLength":65}}}"#,
                ["/settings/passwords/minLength"]
            ),
            (
                #"{"application":"a","settings":{"tokens":{"enabled":1,"seconds":59,"audience":"a b","x":1}}}"#,
                [
                    "/settings/tokens/enabled", "/settings/tokens/seconds", "/settings/tokens/audience",
                    "/settings/tokens/x",
                ]
            ),
            (
                #"{"application":"a","settings":{"tokens":{"seconds":3601,"audience":""}}}"#,
                ["/settings/tokens/seconds", "/settings/tokens/audience"]
            ),
            (
                #"{"application":"a","settings":{"sessionAbsoluteSeconds":31622401}}"#,
                ["/settings/sessionAbsoluteSeconds"]
            ),
            (
                #"{"application":"a","settings":{"sessionIdleSeconds":61,"sessionAbsoluteSeconds":60}}"#,
                ["/settings/sessionIdleSeconds"]
            ),
            (
                #"{"application":"a","settings":{"allowedOrigins":["https://a","b",7]}}"#,
                ["/settings/allowedOrigins/1", "/settings/allowedOrigins/2"]
            ),
            (#"{"application":"a","settings":{"hostNames":["a.b","A.b"]}}"#, ["/settings/hostNames/1"]),
            (#"{"application":"a","keys":{}}"#, ["/keys"]), (#"{"application":"a","keys":[1]}"#, ["/keys/0"]),
            (#"{"application":"a","keys":[{}]}"#, ["/keys/0/label", "/keys/0/key"]),
            (#"{"application":"a","keys":[{"label":"l","key":"k"}]}"#, ["/keys/0/key"]),
            (#"{"application":"a","keys":[{"label":"l","key":{"env":"A B"}}]}"#, ["/keys/0/key"]),
            (#"{"application":"a","keys":[{"label":"l","key":{"env":"FEDERATION_KEY"}}]}"#, ["/keys/0/key"]),
            (#"{"application":"a","keys":[{"label":"l","key":{"value":"secret"}}]}"#, ["/keys/0/key"]),
            (#"{"application":"a","keys":[{"label":"","key":{"env":"A"}}]}"#, ["/keys/0/label"]),
            (
                #"{"application":"a","keys":[{"label":"l","key":{"env":"A"}},{"label":"l","key":{"env":"B"},"x":1}]}"#,
                ["/keys/1/x", "/keys/1/label"]
            ),
            (
                #"{"application":"a","keys":[7,{"label":"l"},{"key":{"env":"A"}},{"label":"","key":"k"},{"label":"l","key":{"env":"B"}}]}"#,
                ["/keys/0", "/keys/1/key", "/keys/2/label", "/keys/3/key", "/keys/3/label", "/keys/4/label"]
            ),
            (#"{"application":"a","providers":{"google":{}}}"#, ["/providers/google"]),
            (#"{"application":"a","providers":{"facebook":[]}}"#, ["/providers/facebook"]),
            (#"{"application":"a","providers":{"facebook":{}}}"#, ["/providers/facebook/apps"]),
            (
                #"{"application":"a","providers":{"facebook":{"enabled":0,"graphVersion":"25","proof":"x","apps":7}}}"#,
                [
                    "/providers/facebook/enabled", "/providers/facebook/graphVersion", "/providers/facebook/proof",
                    "/providers/facebook/apps",
                ]
            ),
            (
                #"{"application":"a","providers":{"facebook":{"enabled":false,"apps":[{"appId":12,"appSecret":"s"}]}}}"#,
                ["/providers/facebook/apps/0/appId", "/providers/facebook/apps/0/appSecret"]
            ),
            (
                #"{"application":"a","providers":{"facebook":{"apps":[{"appId":"1","appSecret":{"env":"A"}},{"appId":"1","appSecret":{"env":"B"}}]}}}"#,
                ["/providers/facebook/apps/1/appId"]
            ),
            (
                #"{"application":"a","providers":{"facebook":{"apps":[7,{"appId":"x","appSecret":{"env":"A"}},{"appId":"1","appSecret":""},{"appId":"1","appSecret":{"env":"A"}}]}}}"#,
                [
                    "/providers/facebook/apps/0", "/providers/facebook/apps/1/appId",
                    "/providers/facebook/apps/2/appSecret", "/providers/facebook/apps/3/appId",
                ]
            ),
            (#"{"application":"a","properties":[]}"#, ["/properties"]),
            (#"{"application":"a","properties":{"a-b":{"type":"INT"}}}"#, ["/properties/a-b"]),
            (#"{"application":"a","properties":{"p":7}}"#, ["/properties/p"]),
            (#"{"application":"a","properties":{"p":{}}}"#, ["/properties/p/type"]),
            (
                #"{"application":"a","properties":{"p":{"type":"int","required":0}}}"#,
                ["/properties/p/type", "/properties/p/required"]
            ),
            (#"{"application":"a","properties":{"p":{"type":"INT","x":0}}}"#, ["/properties/p/x"]),
            (#"{"application":"a","properties":{"XMIN":{"type":"INT"}}}"#, ["/properties/XMIN"]),
            (#"{"application":"a","properties":{"email":{"type":"TEXT"}}}"#, ["/properties/email/type"]),
            (#"{"application":"a","mapping":[]}"#, ["/mapping"]),
            (#"{"application":"a","mapping":{"x":{}}}"#, ["/mapping/x"]),
            (#"{"application":"a","mapping":{"facebook":7}}"#, ["/mapping/facebook"]),
            (
                #"{"application":"a","properties":{"must":{"type":"INT","required":true}},"mapping":{"facebook":{}}}"#,
                ["/mapping/facebook"]
            ),
        ]
    )
    func pointers(text: String, pointers: [String]) {
        #expect(Self.pointers(text) == pointers)
    }

    @Test(
        "a problem of a mapping points at the member of the entry",
        arguments: [
            ("[7]", ["/0"]), ("[{}]", ["/0/from", "/0/to"]),
            (#"[{"from":"9","to":"n"}]"#, ["/0/from"]), (#"[{"from":"{9}","to":"n"}]"#, ["/0/from"]),
            (#"[{"from":"a","to":"a b"}]"#, ["/0/to"]), (#"[{"from":"a","to":"xmin"}]"#, ["/0/to"]),
            (#"[{"from":"a","to":"nobody"}]"#, ["/0/to"]), (#"[{"from":"a","to":"n","x/y":1}]"#, ["/0/x~1y"]),
            (#"[{"from":"a","to":"n","type":"x","sync":"y","required":1}]"#, ["/0/type", "/0/sync", "/0/required"]),
            (#"[{"from":"a","to":"n","type":"STRING"}]"#, ["/0/type"]),
            (#"[{"from":"a","to":"n","default":"x"}]"#, ["/0/default"]),
            (#"[{"from":"a","to":"n","transform":"x"}]"#, ["/0/transform"]),
            (#"[{"from":"a","to":"n","transform":["trim","x"]}]"#, ["/0/transform/1"]),
            (#"[{"from":"picture","to":"n","transform":{"lookup":{}}}]"#, ["/0/transform"]),
            (#"[{"from":"email.x","to":"n"}]"#, ["/0/from"]), (#"[{"from":"email","to":"n"}]"#, ["/0/to"]),
            (#"[{"from":"birthday","to":"email","type":"INT"}]"#, ["/0/type"]),
            (#"[{"from":"a","to":"n"},{"from":"b","to":"n"}]"#, ["/1/to"]),
            (#"{"9":"n"}"#, ["/9"]), (#"{"picture.data.url":"n"}"#, ["/picture.data.url"]),
            (#"{"a~/":"n"}"#, ["/a~0~1"]), (#"{"a":7,"b":"xmin","c":"nobody"}"#, ["/a", "/b", "/c"]),
        ]
    )
    func entries(mapping: String, pointers: [String]) {
        let text = #"{"application":"a","properties":{"n":{"type":"INT"}},"mapping":{"facebook":\#(mapping)}}"#
        #expect(Self.pointers(text) == pointers.map { "/mapping/facebook" + $0 })
    }

    @Test("one reading finds every problem of every part, and what follows from another problem is none")
    func allAtOnce() {
        let pointers = Self.pointers(
            #"""
            {"application": "a b", "nonsense": 1, "settings": {"speed": 9}, "keys": [{"label": "", "key": {"env": "K"}}],
             "providers": {"facebook": {"graphVersion": "25"}}, "properties": {"n": {"type": "NUMBER"}},
             "mapping": {"facebook": {"picture": "n", "name": "nobody"}}}
            """#
        )
        #expect(
            pointers == [
                "/nonsense", "/application", "/settings/speed", "/providers/facebook/graphVersion",
                "/properties/n/type",
                "/keys/0/label", "/providers/facebook/apps", "/mapping/facebook/name",
            ]
        )
    }

    @Test(
        "a setting's former name is told the present one",
        arguments: [
            ("/mostSessions", "maxSessions"), ("/excessLogins", "sessionLimitBehavior"), ("/lock", "lockout"),
            ("/tellUnknownLogins", "allowAccountEnumeration"), ("/clientKeys", "apiKeyRights"),
            ("/registration/mostPerHour", "maxPerSourcePerHour"), ("/registration/mostPerHourInAll", "maxPerHour"),
            ("/passwords/fewestCharacters", "minLength"), ("/secondFactor/vouchingProviders", "exemptProviders"),
            ("/secondFactor/sms/mostPerNumber", "maxPerNumberPerDay"),
            ("/secondFactor/sms/mostPerSource", "maxPerSourcePerHour"), ("/secondFactor/sms/mostPerDay", "maxPerDay"),
        ]
    )
    func renamed(former: String, present: String) {
        let members = former.split(separator: "/")
        let settings = members.reversed().reduce("1") { #"{"\#($1)":\#($0)}"# }
        let problems = ApplicationDocument.problems(#"{"application":"a","settings":\#(settings)}"#)?.problems ?? []
        #expect(problems.map { "\($0.pointer)" } == ["/settings" + former])
        #expect(problems.first?.message == "is now called \(present)")
    }

    @Test("a variable of the service's own is no variable of a document, and the problem says so")
    func ownVariable() {
        let text = #"{"application":"a","keys":[{"label":"l","key":{"env":"FEDERATION_KEY"}}]}"#
        let message = ApplicationDocument.problems(text)?.problems.first?.message
        #expect(message?.contains("does not begin with FEDERATION_") == true)
    }

    @Test("a document over REST gives a secret, names nothing, or sends back what was read")
    func requests() throws {
        for secret in [#""text""#, #"{"value":"text"}"#, #"{"env":"NAME"}"#, "null", #"{"set":true,"changed":7}"#] {
            let text = #"{"application":"a","keys":[{"label":"l","key":\#(secret)}]}"#
            #expect(Self.pointers(text, origin: .request).isEmpty, "\(secret)")
        }
        #expect(Self.pointers(#"{"application":"a","keys":[{"label":"l"}]}"#, origin: .request).isEmpty)
        for secret in ["7", "{}", #"{"value":7}"#, "[]"] {
            let text = #"{"application":"a","keys":[{"label":"l","key":\#(secret)}]}"#
            #expect(Self.pointers(text, origin: .request) == ["/keys/0/key"], "\(secret)")
        }
    }

    @Test("for programs a failure has all problems, for people the first one and how many there are")
    func failure() throws {
        let problems = try #require(
            ApplicationDocument.problems(
                #"{"application":"a","x":1,"mapping":{"facebook":[{"from":"email","to":"xmin"}]}}"#
            )
        )
        let failure = problems.failure
        #expect(failure.reason == .documentInvalid)
        #expect(failure.message.hasPrefix("/x: is not known here"))
        #expect(failure.message.hasSuffix(" (the first of 2 problems)"))
        let list = try #require(failure.details["problems"]?.array)
        #expect(list.first?.object?["pointer"]?.string == "/x")
        #expect(list.first?.object?["entry"] == nil)
        #expect(
            list.last?.text
                == #"{"pointer":"/mapping/facebook/0/to","message":"mapping[0] (\"email\" to \"xmin\"): the property belongs to the system.","entry":{"mapping":"stored","position":0,"from":"email","to":"xmin"}}"#
        )
    }

    @Test("printed it is a line for each problem, whatever characters the names in it have")
    func printed() throws {
        let problems = try #require(
            ApplicationDocument.problems(#"{"application":"a","\u001b[2J\n\u00e9":1,"x":2}"#)
        )
        let lines = problems.description.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.first?.hasPrefix("/\\u001b[2J\\n\u{E9}: is not known here") == true)
        #expect(ApplicationDocument.problems("7")?.description == "must be an object")
    }

    @Test("to who submitted a part, places are those in the part; what lies elsewhere is a problem of all of it")
    func moved() throws {
        let problems = try #require(
            ApplicationDocument.problems(
                #"{"application":"a","mappings":0,"mapping":{"facebook":[{"from":"email","to":"xmin"}]}}"#
            )
        )
        let part = JSONPointer() / "mapping" / "facebook"
        #expect(problems.moved(from: part).problems.map(\.pointer.text) == ["", "/0/to"])
        #expect(
            problems.moved(from: part, to: JSONPointer() / "entries").problems.map(\.pointer.text)
                == ["", "/entries/0/to"]
        )
        #expect(problems.moved(from: JSONPointer() / "mapping").problems.map(\.pointer.text) == ["", "/facebook/0/to"])
    }

    @Test("so many keys, apps and properties and no more")
    func bounds() {
        func document(_ part: String) -> String { #"{"application":"a",\#(part)}"# }
        func list(_ count: Int, _ element: (Int) -> String) -> String {
            (0..<count).map(element).joined(separator: ",")
        }
        func keys(_ count: Int) -> String {
            document(#""keys":[\#(list(count) { #"{"label":"k\#($0)","key":{"env":"A"}}"# })]"#)
        }
        func apps(_ count: Int) -> String {
            let apps = list(count) { #"{"appId":"\#($0)","appSecret":{"env":"A"}}"# }
            return document(#""providers":{"facebook":{"apps":[\#(apps)]}}"#)
        }
        func properties(_ count: Int) -> String {
            document(#""properties":{\#(list(count) { #""p\#($0)":{"type":"INT"}"# }),"email":{"type":"STRING"}}"#)
        }
        #expect(Self.pointers(keys(100)).isEmpty)
        #expect(Self.pointers(keys(101)) == ["/keys"])
        #expect(Self.pointers(apps(100)).isEmpty)
        #expect(Self.pointers(apps(101)) == ["/providers/facebook/apps"])
        #expect(Self.pointers(properties(500)).isEmpty)
        #expect(Self.pointers(properties(501)) == ["/properties"])
    }
}
