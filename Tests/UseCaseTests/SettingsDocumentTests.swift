import Accounts
import Applications
import Description
import Domain
import Encodings
import Testing

@Suite("Settings of an application")
struct SettingsDocumentTests {
    @Test("what is written back reads as the same settings, and all of them are written")
    func roundTrip() throws {
        let text = #"""
            {"sessionIdleSeconds":60,"sessionAbsoluteSeconds":31622400,"multipleLogins":false,"maxSessions":1000,"sessionLimitBehavior":"refuse","newUsers":"closed","sameAddress":"ask","accountClaims":"all","registration":{"enabled":false,"confirmEmail":true,"maxPerSourcePerHour":7,"maxPerHour":70},"identityProperty":"phone","passwords":{"minLength":8},"passwordSource":{"kind":"endpoint","url":"https://users.example/check","applicationId":null,"secretVariable":"SHOP_PASSWORD_SOURCE_SECRET"},"lockout":{"failures":3,"seconds":86400},"reauthentication":"session","allowAccountEnumeration":true,"banDays":0,"mergedUserDays":7,"secondFactor":{"policy":"required","roles":["Editor"],"exemptProviders":["staff"],"factors":["passkey","sms"],"trustedDeviceDays":30,"passkeys":{"rpId":"example.com","origins":["https://app.example.com","android:apk-key-hash:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"],"userVerification":"required","login":true,"androidPackages":["com.example.app"],"appleApps":["ABCDE12345.com.example.app"]},"sms":{"countries":["+41"],"maxPerNumberPerDay":1,"maxPerSourcePerHour":2,"maxPerDay":3}},"allowedOrigins":["https://a.example:8443"],"hostNames":["a.example","b"],"apiKeyRights":["findByRole","confirmationURL"],"clientMapping":false,"dynamicProperties":true,"undeclaredProperties":"drop","offsetlessTimes":"utc","tokens":{"enabled":true,"seconds":3600,"audience":"https://orders.example"},"firebase":{"projectId":"my-project-1a2b3","displayName":"nick","photoUrl":"avatar","phoneNumber":"phone","emailLinks":false},"roles":["Editor","a.b-c_d"],"collection":{"find":["users"],"readOthers":["guests","role:Editor"],"updateOthers":["role:a.b-c_d"],"deleteOwn":[]},"pages":{"color":"#1877f2","logo":"data:image/png;base64,iVBORw0KGgo=","account":true}}
            """#
        let settings = try SettingsDocument.parse(try json(text))
        #expect(SettingsDocument.document(of: settings).text == text)
        let defaults = try SettingsDocument.parse(.object([:]))
        #expect(defaults == ApplicationSettings())
        #expect(try SettingsDocument.parse(SettingsDocument.document(of: defaults)) == defaults)
    }

    @Test(
        "undeclared properties are refused unless they may be dynamic, and dropped as before where a former version stored the settings",
        arguments: [
            ("{}", UndeclaredProperties.refuse, UndeclaredProperties.drop),
            (#"{"dynamicProperties":false}"#, .refuse, .drop), (#"{"dynamicProperties":true}"#, .store, .store),
            (#"{"undeclaredProperties":null}"#, .refuse, .refuse),
            (#"{"dynamicProperties":true,"undeclaredProperties":null}"#, .store, .store),
            (#"{"undeclaredProperties":"store"}"#, .store, .store),
            (#"{"dynamicProperties":true,"undeclaredProperties":"refuse"}"#, .refuse, .refuse),
            (#"{"dynamicProperties":true,"undeclaredProperties":"drop"}"#, .drop, .drop),
        ]
    )
    func undeclared(text: String, written: UndeclaredProperties, stored: UndeclaredProperties) throws {
        #expect(try SettingsDocument.parse(try json(text)).undeclared == written)
        let former = try SettingsDocument.parse(stored: try json(text))
        #expect(former.undeclared == stored)
        // Written back, the value stays the same.
        #expect(try SettingsDocument.parse(stored: SettingsDocument.document(of: former)) == former)
        #expect(try SettingsDocument.parse(SettingsDocument.document(of: former)) == former)
    }

    @Test("what only a later version knows of stored settings is passed over and stays; a document may not have it")
    func later() throws {
        let text = #"{"banDays":7,"later":{"a":[1]},"lockout":{"failures":9,"later":"x"},"pages":{"later":null}}"#
        let stored = try json(text)
        #expect(throws: DocumentProblems.self) { try SettingsDocument.parse(stored) }
        var settings = try SettingsDocument.parse(stored: stored)
        #expect(settings.banDays == 7 && settings.lockout.failures == 9)
        settings.banDays = 8
        let written = SettingsDocument.document(of: settings, replacing: stored)
        #expect(written.object?["banDays"] == .integer(8))
        #expect(try written.object?["later"] == json(#"{"a":[1]}"#))
        #expect(written.object?["lockout"]?.object?["later"] == .string("x"))
        #expect(written.object?["pages"]?.object?["later"] == .null)
        #expect(try SettingsDocument.parse(stored: written) == settings)
        let plain = SettingsDocument.document(of: settings)
        #expect(SettingsDocument.document(of: settings, replacing: .object([:])) == plain)
        let wrong = try json(#"{"later":1,"banDays":-1}"#)
        #expect(throws: DocumentProblems.self) { try SettingsDocument.parse(stored: wrong) }
    }

    @Test("an idle time that is not given is never longer than the absolute one that is")
    func idle() throws {
        #expect(try SettingsDocument.parse(try json(#"{"sessionAbsoluteSeconds":3600}"#)).sessionIdleSeconds == 3600)
        #expect(
            try SettingsDocument.parse(try json(#"{"sessionAbsoluteSeconds":31622400}"#)).sessionIdleSeconds
                == 1_209_600
        )
    }

    @Test(
        "a host name is a DNS name as a Host header has it, without port",
        arguments: [
            ("users.example.com", true), ("localhost", true), ("a", true), ("1.2.3.4", true), ("a-b.c--d", true),
            ("xn--bcher-kva.example", true),
            (String(repeating: "a", count: 63), true), (String(repeating: "a", count: 64), false),
            (Array(repeating: String(repeating: "a", count: 62), count: 4).joined(separator: ".") + ".b", true),
            (Array(repeating: String(repeating: "a", count: 62), count: 4).joined(separator: ".") + ".bc", false),
            ("", false), (".", false), ("a.", false), (".a", false), ("a..b", false), ("-a", false), ("a-", false),
            ("a.-b", false), ("Users.example.com", false), ("a_b", false), ("a:80", false), ("a/b", false),
            ("b\u{FC}cher.example", false), ("a b", false), ("[::1]", false), ("a\u{0301}", false),
        ]
    )
    func hostNames(name: String, isRight: Bool) {
        let text = JSONValue.object(["hostNames": .array([.string(name)])])
        #expect((try? SettingsDocument.parse(text))?.hostNames == (isRight ? [name] : nil))
    }

    @Test("null is as many sessions as there are, and a token for nobody in particular")
    func nulls() throws {
        let settings = try SettingsDocument.parse(
            try json(#"{"maxSessions":null,"tokens":{"enabled":true,"audience":null}}"#)
        )
        #expect(settings.maxSessions == nil)
        #expect(settings.tokens.audience == nil)
        #expect(settings.tokens.seconds == 300)
    }

    @Test(
        "a role has a plain name that is not the system's, and none is there twice",
        arguments: [
            (["Editor", "editor"], true), (["1"], true), ([], true), ([""], false), (["-a"], false), (["a b"], false),
            (["a/b"], false), (["\u{E9}"], false), (["Editor", "Editor"], false), (["AuthenticatedUser"], false),
            (["guestuser"], false), ([String(repeating: "a", count: 100)], true),
            ([String(repeating: "a", count: 101)], false),
        ]
    )
    func roles(names: [String], isRight: Bool) {
        let text = JSONValue.object(["roles": .array(names.map(JSONValue.string))])
        #expect((try? SettingsDocument.parse(text))?.roles == (isRight ? names : nil))
    }

    @Test("every problem of registration has its place")
    func registration() throws {
        let text =
            #"{"registration":{"enabled":1,"confirmEmail":"yes","maxPerSourcePerHour":0,"maxPerHour":0,"more":true}}"#
        let problems = #expect(throws: DocumentProblems.self) { try SettingsDocument.parse(try json(text)) }
        let places = problems?.problems.map(\.pointer.description)
        let wrong = ["enabled", "confirmEmail", "maxPerSourcePerHour", "maxPerHour", "more"]
        #expect(places == wrong.map { "/settings/registration/" + $0 })
    }

    @Test(
        "what is weaker than it need be is a warning",
        arguments: [
            ("{}", []), (#"{"passwords":{"minLength":12}}"#, []),
            (#"{"passwords":{"minLength":11}}"#, ["passwords.minLength"]),
            (
                #"{"reauthentication":"session","allowAccountEnumeration":true}"#,
                ["reauthentication", "allowAccountEnumeration"]
            ),
            (#"{"apiKeyRights":["findByRole"]}"#, ["apiKeyRights"]),
            (#"{"apiKeyRights":["findByRole","confirmationURL"]}"#, ["apiKeyRights", "apiKeyRights"]),
            (#"{"pages":{"account":true}}"#, []), (#"{"multipleLogins":false,"maxSessions":2}"#, []),
            (#"{"reauthentication":"recent","lockout":{"failures":100,"seconds":60},"apiKeyRights":[]}"#, []),
        ]
    )
    func warnings(text: String, named: [String]) throws {
        let warnings = try SettingsDocument.parse(try json(text)).warnings
        #expect(warnings.compactMap { $0.split(separator: " ").first.map(String.init) } == named)
    }

    @Test("at most 20 host names and 100 origins")
    func bounds() throws {
        func parsed(_ key: String, _ count: Int, _ text: (Int) -> String) -> ApplicationSettings? {
            let list = JSONValue.array((0..<count).map { .string(text($0)) })
            return try? SettingsDocument.parse(.object(JSONObject([JSONObject.Member(key, list)])))
        }
        #expect(parsed("hostNames", 20) { "h\($0)" }?.hostNames.count == 20)
        #expect(parsed("hostNames", 21) { "h\($0)" } == nil)
        #expect(parsed("allowedOrigins", 100) { "https://h\($0)" }?.allowedOrigins.count == 100)
        #expect(parsed("allowedOrigins", 101) { "https://h\($0)" } == nil)
    }
}
