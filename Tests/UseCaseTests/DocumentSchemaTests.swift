import Accounts
import Administration
import Domain
import Encodings
import FoundationEssentials
import Testing
import TestSupport

/// Tests that the JSON Schema agrees with the parser of documents, by a common validator: Python's `jsonschema`.
@Suite("mappings/application.schema.json")
struct DocumentSchemaTests {
    /// Returns whether the schema accepts each of the documents.
    private static func verdicts(on documents: [String]) async throws -> [Bool] {
        let file = FileManager.default.temporaryDirectory.path + "/federation-documents-\(UUID()).json"
        defer { try? FileManager.default.removeItem(atPath: file) }
        try Data(("[" + documents.joined(separator: ",\n") + "]").utf8).write(to: URL(filePath: file))
        let program = """
            import json, jsonschema, sys
            schema, documents = (json.load(open(path)) for path in sys.argv[1:])
            jsonschema.Draft202012Validator.check_schema(schema)
            validator = jsonschema.Draft202012Validator(schema)
            print(json.dumps([validator.is_valid(document) for document in documents]))
            """
        let python = try await ManagedProcess.start(
            "python3",
            ["-c", program, PackageLayout.path("mappings/application.schema.json"), file]
        )
        let end = try await python.waitForExit(within: .seconds(120))
        try #require(end == .exited(0), "\(python.standardError)")
        return try json(python.standardOutput).array?.compactMap(\.bool) ?? []
    }

    /// Expects that the parser and the schema both accept the documents, or both refuse them.
    private static func expect(
        _ documents: [String],
        areRight: Bool,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let verdicts = try await verdicts(on: documents)
        try #require(verdicts.count == documents.count)
        for (document, verdict) in zip(documents, verdicts) {
            let problems = ApplicationDocument.problems(document)
            #expect((problems == nil) == areRight, "the reader: \(document)", sourceLocation: sourceLocation)
            #expect(verdict == areRight, "the schema: \(document)", sourceLocation: sourceLocation)
        }
    }

    /// Returns a whole document around a part.
    private static func whole(_ part: String) -> String { #"{"application":"a",\#(part)}"# }

    private static func secondFactor(_ document: String) -> String {
        whole(#""settings":{"secondFactor":\#(document)}"#)
    }

    private static func pages(_ member: String, _ value: String) -> String {
        whole(#""settings":{"pages":{"\#(member)":"\#(value)"}}"#)
    }

    private static func logo(_ type: String, _ data: String) -> String { "data:image/\(type);base64,\(data)" }

    /// Returns a whole document around entries that write properties of every type: `pSTRING`, `pTEXT`, ….
    private static func mapping(_ mapping: String) -> String {
        let properties = PropertyType.allCases.map { #""p\#($0.rawValue)":{"type":"\#($0.rawValue)"}"# }
        return whole(#""properties":{\#(properties.joined(separator: ","))},"mapping":{"facebook":\#(mapping)}"#)
    }

    private static func entry(_ rest: String) -> String { mapping(#"[{"from":"x","to":"pJSON",\#(rest)}]"#) }

    /// Returns a whole document with options of a provider that is off.
    private static func options(_ options: String) -> String {
        whole(#""providers":{"facebook":{"enabled":false,\#(options)}}"#)
    }

    @Test("accepts every document that ships and every example")
    func shipped() async throws {
        let shipped = try DocumentFiles.ready.map { try DocumentFiles.text($0) }
        try await Self.expect(shipped + DocumentFiles.examples(), areRight: true)
    }

    @Test("accepts whatever the reader accepts: every form of every member, at its bounds")
    func right() async throws {
        let long = String(repeating: "x", count: 63)
        let name = String(repeating: "n", count: 31) + "0"
        let documents = [
            #"{"application":"\#(long)"}"#, #"{"application":"9_-"}"#, #"{"application":"public","schema":"p"}"#,
            #"{"application":"a","$schema":"https://example.com/s.json"}"#, Self.whole(#""schema":"A-b_9""#),
            Self.whole(#""name":"\#(String(repeating: "n", count: 200))""#), Self.whole(#""name":"\u00e9\u4e2d""#),
            Self.whole(#""settings":{},"keys":[],"providers":{},"properties":{},"mapping":{}"#),
            Self.whole(#""settings":{"sessionIdleSeconds":60,"sessionAbsoluteSeconds":60}"#),
            Self.whole(#""settings":{"sessionIdleSeconds":31622400,"sessionAbsoluteSeconds":31622400}"#),
            Self.whole(#""settings":{"undeclaredProperties":"store","offsetlessTimes":"utc"}"#),
            Self.whole(#""settings":{"undeclaredProperties":null,"offsetlessTimes":"refuse"}"#),
            Self.whole(#""settings":{"passwords":{"minLength":8}}"#),
            Self.whole(#""settings":{"passwords":{"minLength":64}}"#),
            Self.pages("color", "#aBcD09"), Self.pages("logo", Self.logo("svg+xml", "PHN2Zz4=")),
            Self.pages("logo", Self.logo("webp", String(repeating: "A", count: 16_360))),
            Self.whole(#""settings":{"pages":{"color":null,"logo":null}}"#), Self.whole(#""settings":{"pages":{}}"#),
            Self.whole(#""settings":{"pages":{"account":true}}"#),
            Self.whole(#""settings":{"sessionLimitBehavior":"refuse"}"#),
            Self.whole(#""settings":{"newUsers":"open"}"#), Self.whole(#""settings":{"newUsers":"closed"}"#),
            Self.whole(#""settings":{"sessionLimitBehavior":"endOldest"}"#),
            Self.whole(#""settings":{"reauthentication":"session","lockout":{"failures":3,"seconds":60}}"#),
            Self.whole(#""settings":{"lockout":{"failures":100,"seconds":86400},"allowAccountEnumeration":true}"#),
            Self.whole(#""settings":{"apiKeyRights":["confirmationURL","findByRole"]}"#),
            Self.whole(#""settings":{"identityProperty":"email"}"#),
            Self.secondFactor(#"{"policy":"off","factors":[]}"#),
            Self.secondFactor(#"{"policy":"required","trustedDeviceDays":30}"#),
            Self.secondFactor(
                #"{"factors":["passkey"],"passkeys":{"rpId":"a","origins":["https://a"],"userVerification":"required"}}"#
            ),
            Self.secondFactor(
                #"{"factors":["sms"],"sms":{"countries":["+1","+12345678901234"],"maxPerDay":1000000}}"#
            ),
            Self.whole(#""settings":{"identityProperty":"login"},"properties":{"login":{"type":"TEXT"}}"#),
            Self.whole(#""settings":{"allowedOrigins":["http://localhost:8080","https://[::1]:80"]}"#),
            Self.whole(#""settings":{"hostNames":["a","a-b.c","\#(long).x","1.2.3.4"]}"#),
            Self.whole(#""keys":[{"label":"\#(String(repeating: "l", count: 100))","key":{"env":"_9aZ"}}]"#),
            Self.whole(#""keys":[{"label":"l","key":{"env":"_FEDERATION_KEY"}}]"#),
            Self.whole(#""providers":{"facebook":{"enabled":false}}"#),
            Self.whole(#""providers":{"facebook":{"enabled":false,"apps":[]}}"#),
            Self.whole(
                #""providers":{"facebook":{"graphVersion":"v999.99","proof":"classic","pkce":"off","apps":[{"appId":"00","appSecret":{"env":"A"},"configId":"007"},{"appId":"01","appSecret":{"env":"A"},"configId":null}]}}"#
            ),
            Self.whole(
                #""properties":{"\#(long)":{"type":"INT","required":false,"clientMappable":true,"indexed":true},"Name":{"type":"JSON"}}"#
            ),
            Self.whole(#""properties":{"email":{"type":"STRING","clientMappable":false},"roles2":{"type":"TEXT"}}"#),
            Self.whole(#""providers":{"twitter":{"enabled":false}}"#),
            Self.whole(
                #""providers":{"twitter":{"apps":[{"consumerKey":"a_Z-9","consumerSecret":{"env":"A"}},{"consumerKey":"\#(long)9","consumerSecret":{"env":"B"}}]}}"#
            ),
            Self.whole(#""mapping":{"twitter":{},"facebook":[]}"#),
            Self.whole(
                #""providers":{"staff":{"kind":"facebook","enabled":false,"nonce":"off"},"\#(name)":{"kind":"twitter","enabled":false}},"mapping":{"staff":{"email":"email"},"\#(name)":[]}"#
            ),
            Self.whole(#""providers":{"facebook":{"kind":"facebook","enabled":false}}"#),
            Self.whole(#""mapping":{"twitter":[{"from":"@{screen_name}","to":"name","sync":"ifEmpty"}]}"#),
            Self.mapping("[]"), Self.mapping("{}"),
            Self.mapping(#"{"a.b_1.c":"pJSON","{a}{{}}{b.c} \u4e2d":"pTEXT","{{{id}}}":"pSTRING"}"#),
            Self.mapping(#"{"a.b.c.d.e.f.g.h":"pINT","\#(String(repeating: "a", count: 128))":"pTEXT"}"#),
            Self.entry(#""type":null,"sync":null,"required":null,"default":null,"transform":null"#),
            Self.entry(#""type":"DATE","sync":"untilEdited","required":true,"transform":[]"#),
            Self.entry(#""default":{"a":[1,{"b":null}]}"#), Self.entry(#""default":"x","type":"STRING""#),
            Self.entry(#""transform":["trim","lowercase","uppercase","first",{"join":""}]"#),
            Self.entry(#""transform":{"lookup":{}}"#),
            Self.entry(#""transform":{"lookup":{"":1.5,"a b":null,"c":true,"d":"x"},"else":null}"#),
            Self.entry(#""transform":{"date":"yyyyMMdd"}"#), Self.entry(#""transform":{"date":"dd. (MM) ~yyyy["}"#),
            Self.entry(#""transform":[{"date":"MM/dd/yyyy"},{"lookup":{"a":"b"},"else":"c"}]"#),
        ]
        try await Self.expect(documents, areRight: true)
    }

    @Test("has the reader's rules for the options of a provider")
    func options() async throws {
        let targets = [
            "https://a.example", "https://a.example:65535/cb?x=(1)", "https://[2001:db8::1]:1/", "http://localhost/",
            "http://[::1]:80", "http://127.0.0.1?x", "fb123://authorize", "com.example.app:/cb@x", "app://",
            "httpx://x",
            "dataset:/x", "https://a.example/" + String(repeating: "x", count: 2030),
        ]
        let noTargets = [
            "", "a", "/cb", "https:/a", "https://", "https://:1/", "https://a:/", "https://a:123456/", "https://[]/",
            "https://u@a/", "app://u@x/", "https://a/#", "https://a\\\\b", "https://a/ b", "https://a/\\u00e9",
            "HTTPS://a/",
            "http://a/", "http://127.0.0.2/", "http://localhost.a/", "javascript://x", "javascript:/x", "data:/x",
            "file:///x", "blob:/x", "vbscript://x", "wss://x", "view-source:/x", "1a://x", "a:x",
            "https://a.example/" + String(repeating: "x", count: 2031),
        ]
        let right = [
            #""nonce":"off""#, #""idTokenSeconds":60"#, #""idTokenSeconds":3600"#, #""permissions":["a_b"]"#,
            #""keepTokens":true,"longLivedTokens":true,"returnTokens":true,"refreshHours":1"#,
            #""longLivedTokens":false,"returnTokens":false,"refreshHours":null"#,
            #""keepTokens":true,"refreshHours":8760"#,
            #""endSessionsWhenRevoked":true,"eraseAfterDays":30"#, #""webhookVerifyToken":null"#,
            #""webhookVerifyToken":"0123456789abcde~""#, #""webhookVerifyToken":{"env":"_9aZ"}"#,
            #""webhookVerifyToken":"\#(String(repeating: "~", count: 128))""#,
        ]
        let wrong = [
            #""nonce":null"#, #""nonce":"none""#, #""idTokenSeconds":59"#, #""idTokenSeconds":3601"#,
            #""permissions":["A"]"#, #""permissions":null"#, #""permissions":[""]"#, #""longLivedTokens":true"#,
            #""returnTokens":true,"keepTokens":false"#, #""refreshHours":5"#, #""keepTokens":true,"refreshHours":8761"#,
            #""keepTokens":1"#, #""eraseAfterDays":31"#, #""eraseAfterDays":-1"#, #""webhookVerifyToken":"short""#,
            #""webhookVerifyToken":"0123456789 abcdef""#, #""webhookVerifyToken":"0123456789abcd\u00e9""#,
            #""webhookVerifyToken":"\#(String(repeating: "x", count: 129))""#, #""webhookVerifyToken":{"env":""}"#,
            #""webhookVerifyToken":{"value":"0123456789abcdef"}"#, #""webhookVerifyToken":{"set":true}"#,
            #""webhookVerifyToken":1234567890123456"#, #""redirectUris":"https://a/""#, #""nonces":"off""#,
        ]
        func lists(_ texts: [String]) -> [String] {
            texts.flatMap { [#""redirectUris":["\#($0)"]"#, #""returnUrls":["\#($0)"]"#] }
        }
        try await Self.expect((right + lists(targets)).map(Self.options), areRight: true)
        try await Self.expect((wrong + lists(noTargets)).map(Self.options), areRight: false)
    }

    /// Returns documents with the greatest allowed number of everything, and `more` beyond that.
    private static func counted(more: Int) -> [String] {
        func list(_ count: Int, _ element: (Int) -> String) -> String {
            (0..<count + more).map(element).joined(separator: ",")
        }
        let apps = list(100) { #"{"appId":"\#($0)","appSecret":{"env":"A"}}"# }
        let consumers = list(100) { #"{"consumerKey":"\#($0)","consumerSecret":{"env":"A"}}"# }
        return [
            whole(#""settings":{"allowedOrigins":[\#(list(100) { #""https://h\#($0)""# })]}"#),
            whole(#""settings":{"hostNames":[\#(list(20) { #""h\#($0)""# })]}"#),
            whole(#""keys":[\#(list(100) { #"{"label":"k\#($0)","key":{"env":"A"}}"# })]"#),
            whole(#""providers":{"facebook":{"apps":[\#(apps)]}}"#),
            whole(#""providers":{"twitter":{"apps":[\#(consumers)]}}"#),
            options(#""redirectUris":[\#(list(20) { #""https://h\#($0)""# })]"#),
            options(#""permissions":[\#(list(50) { _ in #""p""# })]"#),
            whole(
                #""properties":{"email":{"type":"STRING"},"name":{"type":"STRING"},\#(list(500) { #""p\#($0)":{"type":"INT"}"# })}"#
            ),
            whole(
                #""properties":{\#(list(256) { #""p\#($0)":{"type":"JSON"}"# })},"mapping":{"facebook":[\#(list(256) { #"{"from":"x","to":"p\#($0)"}"# })]}"#
            ),
            whole(
                #""properties":{\#(list(256) { #""p\#($0)":{"type":"JSON"}"# })},"mapping":{"facebook":{\#(list(256) { #""x\#($0)":"p\#($0)""# })}}"#
            ),
            mapping(#"{"\#(list(16) { _ in "{a}" })":"pTEXT"}"#),
            entry(#""transform":[\#(list(16) { _ in #""trim""# })]"#),
            entry(#""transform":{"lookup":{\#(list(512) { #""r\#($0)":1"# })}}"#),
            mapping(#"[{"from":"\#(String(repeating: "x", count: 1021 + more)){a}","to":"pTEXT"}]"#),
            entry(#""transform":{"join":"\#(String(repeating: "x", count: 1024 + more))"}"#),
            entry(#""transform":{"date":"yyyyMMdd\#(String(repeating: "-", count: 24 + more))"}"#),
        ]
    }

    @Test("has the reader's bounds: so many of everything and no more")
    func bounds() async throws {
        try await Self.expect(Self.counted(more: 0), areRight: true)
        try await Self.expect(Self.counted(more: 1), areRight: false)
    }

    @Test("refuses what the reader refuses, as far as a schema can say it")
    func broken() async throws {
        let tooLong = String(repeating: "x", count: 64)
        let documents = [
            "{}", "[]", "7", "null", #"{"application":7}"#, #"{"application":""}"#, #"{"application":"-a"}"#,
            #"{"application":"\#(tooLong)"}"#, #"{"application":"\u00e9"}"#, #"{"application":"public"}"#,
            #"{"application":"pg_x"}"#, Self.whole(#""$schema":7"#), Self.whole(#""nonsense":1"#),
            Self.whole(#""name":"""#), Self.whole(#""name":null"#), Self.whole(#""schema":"federation""#),
            Self.whole(#""name":"\#(String(repeating: "n", count: 201))""#),
            Self.whole(#""schema":"a.b""#), Self.whole(#""schema":null"#),
            Self.whole(#""settings":[]"#), Self.whole(#""settings":{"speed":9}"#),
            Self.whole(#""settings":{"clientMapping":"yes"}"#), Self.whole(#""settings":{"multipleLogins":null}"#),
            Self.whole(#""settings":{"maxSessions":0}"#), Self.whole(#""settings":{"maxSessions":1001}"#),
            Self.whole(#""settings":{"newUsers":"none"}"#), Self.whole(#""settings":{"newUsers":null}"#),
            Self.whole(#""settings":{"sessionLimitBehavior":"end"}"#),
            Self.whole(#""settings":{"sessionLimitBehavior":null}"#),
            Self.whole(#""settings":{"banDays":-1}"#), Self.whole(#""settings":{"banDays":3651}"#),
            Self.whole(#""settings":{"pages":[]}"#), Self.whole(#""settings":{"pages":{"color":7}}"#),
            Self.whole(#""settings":{"pages":{"account":null}}"#), Self.pages("account", "yes"),
            Self.pages("x", "y"), Self.pages("color", "#fff"), Self.pages("color", "red"),
            Self.pages("color", "#12345g"), Self.pages("logo", "https://example.com/logo.png"),
            Self.pages("logo", Self.logo("gif", "AAAA")), Self.pages("logo", Self.logo("png", "AA==")),
            Self.pages("logo", Self.logo("png", "")), Self.pages("logo", Self.logo("png", "AAAA====")),
            Self.pages("logo", Self.logo("png", String(repeating: "A", count: 16_364))),
            Self.whole(#""settings":{"passwords":{"minLength":7}}"#),
            Self.whole(#""settings":{"passwords":{"minLength":65}}"#),
            Self.whole(#""settings":{"passwords":{"x":1}}"#),
            Self.whole(#""settings":{"reauthentication":"never"}"#),
            Self.whole(#""settings":{"lockout":{"failures":2}}"#),
            Self.whole(#""settings":{"lockout":{"failures":101}}"#),
            Self.whole(#""settings":{"lockout":{"seconds":59}}"#),
            Self.whole(#""settings":{"lockout":{"seconds":86401}}"#), Self.whole(#""settings":{"lockout":{"x":1}}"#),
            Self.whole(#""settings":{"allowAccountEnumeration":1}"#),
            Self.whole(#""settings":{"apiKeyRights":["all"]}"#),
            Self.whole(#""settings":{"apiKeyRights":["findByRole","findByRole"]}"#),
            Self.whole(#""settings":{"identityProperty":"a b"}"#), Self.whole(#""settings":{"identityProperty":null}"#),
            Self.secondFactor(#"null"#),
            Self.secondFactor(#"{"x":1}"#),
            Self.secondFactor(#"{"policy":"on"}"#),
            Self.secondFactor(#"{"policy":"optional","factors":["recoveryCode"]}"#),
            Self.secondFactor(#"{"factors":["totp","totp"]}"#),
            Self.secondFactor(#"{"trustedDeviceDays":31}"#),
            Self.secondFactor(#"{"exemptProviders":["A"]}"#),
            Self.secondFactor(#"{"exemptProviders":["password"]}"#),
            Self.secondFactor(#"{"factors":["passkey"]}"#),
            Self.secondFactor(#"{"passkeys":{"login":true}}"#),
            Self.secondFactor(#"{"factors":["sms"]}"#),
            Self.secondFactor(#"{"sms":{"countries":["41"]}}"#),
            Self.secondFactor(#"{"sms":{"maxPerDay":0}}"#),
            Self.secondFactor(#"{"passkeys":{"origins":["ios:x"]}}"#),
            Self.secondFactor(
                #"{"passkeys":{"origins":["android:apk-key-hash:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB"]}}"#
            ),
            Self.whole(#""settings":{"tokens":null}"#), Self.whole(#""settings":{"tokens":{"seconds":59}}"#),
            Self.whole(#""settings":{"tokens":{"audience":"a b"}}"#), Self.whole(#""settings":{"tokens":{"x":1}}"#),
            Self.whole(#""settings":{"sessionIdleSeconds":59}"#),
            Self.whole(#""settings":{"sessionIdleSeconds":60.5}"#),
            Self.whole(#""settings":{"sessionAbsoluteSeconds":31622401}"#),
            Self.whole(#""settings":{"allowedOrigins":["example.com"]}"#),
            Self.whole(#""settings":{"allowedOrigins":["https://a/b"]}"#),
            Self.whole(#""settings":{"hostNames":["A"]}"#), Self.whole(#""settings":{"hostNames":["a:80"]}"#),
            Self.whole(#""settings":{"hostNames":["a."]}"#), Self.whole(#""settings":{"hostNames":["\#(tooLong)"]}"#),
            Self.whole(#""keys":{}"#), Self.whole(#""keys":[{"label":"a"}]"#),
            Self.whole(#""keys":[{"key":{"env":"A"}}]"#),
            Self.whole(#""keys":[{"label":"","key":{"env":"A"}}]"#),
            Self.whole(#""keys":[{"label":"a","key":"secret"}]"#),
            Self.whole(#""keys":[{"label":"a","key":{"value":"secret"}}]"#),
            Self.whole(#""keys":[{"label":"a","key":{"env":"A-B"}}]"#),
            Self.whole(#""keys":[{"label":"a","key":{"env":""}}]"#),
            Self.whole(#""keys":[{"label":"a","key":{"env":"A","x":1}}]"#),
            Self.whole(#""providers":{"google":{}}"#), Self.whole(#""providers":{"facebook":{}}"#),
            Self.whole(#""providers":{"staff":{"enabled":false}}"#),
            Self.whole(#""providers":{"staff":{"kind":"google","enabled":false}}"#),
            Self.whole(#""providers":{"staff":{"kind":"twitter","enabled":false,"nonce":"off"}}"#),
            Self.whole(#""providers":{"password":{"kind":"facebook","enabled":false}}"#),
            Self.whole(#""providers":{"Staff":{"kind":"facebook","enabled":false}}"#),
            Self.whole(#""providers":{"staff-":{"kind":"facebook","enabled":false}}"#),
            Self.whole(#""providers":{"twitter":{}}"#), Self.whole(#""providers":{"twitter":{"apps":[]}}"#),
            Self.whole(#""providers":{"twitter":{"enabled":false,"keepTokens":false}}"#),
            Self.whole(#""providers":{"twitter":{"apps":[{"appId":"1","appSecret":{"env":"A"}}]}}"#),
            Self.whole(#""providers":{"twitter":{"apps":[{"consumerKey":"","consumerSecret":{"env":"A"}}]}}"#),
            Self.whole(#""providers":{"twitter":{"apps":[{"consumerKey":"a b","consumerSecret":{"env":"A"}}]}}"#),
            Self.whole(
                #""providers":{"twitter":{"apps":[{"consumerKey":"\#(tooLong)x","consumerSecret":{"env":"A"}}]}}"#
            ),
            Self.whole(#""providers":{"twitter":{"apps":[{"consumerKey":"a"}]}}"#),
            Self.whole(#""providers":{"twitter":{"apps":[{"consumerKey":"a","consumerSecret":"s"}]}}"#),
            Self.whole(#""providers":{"facebook":{"enabled":true,"apps":[]}}"#),
            Self.whole(#""providers":{"facebook":{"enabled":false,"graphVersion":"25.0"}}"#),
            Self.whole(#""providers":{"facebook":{"enabled":false,"proof":"none"}}"#),
            Self.whole(#""keys":[{"label":"l","key":{"env":"FEDERATION_KEY"}}]"#),
            Self.whole(#""providers":{"facebook":{"apps":[{"appId":1,"appSecret":{"env":"A"}}]}}"#),
            Self.whole(#""providers":{"facebook":{"enabled":false,"pkce":"maybe"}}"#),
            Self.whole(#""providers":{"facebook":{"enabled":false,"pkce":null}}"#),
            Self.whole(#""providers":{"facebook":{"apps":[{"appId":"1","appSecret":{"env":"A"},"configId":1}]}}"#),
            Self.whole(#""providers":{"facebook":{"apps":[{"appId":"1","appSecret":{"env":"A"},"configId":"x"}]}}"#),
            Self.whole(#""providers":{"facebook":{"apps":[{"appId":"1","appSecret":{"env":"A"},"configId":""}]}}"#),
            Self.whole(
                #""providers":{"twitter":{"apps":[{"consumerKey":"a","consumerSecret":{"env":"A"},"configId":"1"}]}}"#
            ),
            Self.whole(#""providers":{"facebook":{"apps":[{"appId":"1"}]}}"#),
            Self.whole(#""providers":{"facebook":{"apps":[{"appId":"1","appSecret":"s"}]}}"#),
            Self.whole(#""settings":{"undeclaredProperties":"keep"}"#),
            Self.whole(#""settings":{"offsetlessTimes":null}"#),
            Self.whole(#""properties":[]"#), Self.whole(#""properties":{"a-b":{"type":"INT"}}"#),
            Self.whole(#""properties":{"\#(tooLong)":{"type":"INT"}}"#), Self.whole(#""properties":{"p":{}}"#),
            Self.whole(#""properties":{"p":{"type":"int"}}"#), Self.whole(#""properties":{"p":{"type":"INT","x":1}}"#),
            Self.whole(#""properties":{"p":{"type":"INT","required":null}}"#),
            Self.whole(#""properties":{"email":{"type":"TEXT"}}"#),
            Self.whole(#""properties":{"name":{"type":"INT"}}"#),
            Self.whole(#""mapping":[]"#), Self.whole(#""mapping":{"Google":{}}"#), Self.mapping("null"),
            Self.mapping("7"),
            Self.mapping("[7]"), Self.mapping("[[]]"), Self.mapping(#"{"x":7}"#), Self.mapping(#"{"x":null}"#),
            Self.mapping(#"{"":"pINT"}"#), Self.mapping(#"{"9":"pINT"}"#), Self.mapping(#"{"a..b":"pINT"}"#),
            Self.mapping(#"{"a.b.c.d.e.f.g.h.i":"pINT"}"#), Self.mapping(#"{"x":"objectId"}"#),
            Self.mapping(#"{"x":"XMIN"}"#),
            Self.mapping(#"{"{a":"pTEXT"}"#), Self.mapping(#"{"a}":"pTEXT"}"#), Self.mapping(#"{"{{a}}":"pTEXT"}"#),
            Self.mapping(#"{"{9}":"pTEXT"}"#), Self.mapping(#"{"{a}\u0000":"pTEXT"}"#),
            Self.mapping(#"{"{a}\u2028":"pTEXT"}"#),
            Self.mapping(#"[{"from":"x"}]"#), Self.mapping(#"[{"to":"pINT"}]"#),
            Self.mapping(#"[{"from":7,"to":"pINT"}]"#),
            Self.mapping(#"[{"from":"x","to":null}]"#),
            Self.entry(#""transfrom":"trim""#), Self.entry(#""type":"NUMBER""#), Self.entry(#""sync":"never""#),
            Self.entry(#""required":"yes""#), Self.entry(#""transform":"reverse""#), Self.entry(#""transform":[null]"#),
            Self.entry(#""transform":{}"#), Self.entry(#""transform":{"join":7}"#),
            Self.entry(#""transform":{"join":",","x":1}"#), Self.entry(#""transform":{"else":1}"#),
            Self.entry(#""transform":{"lookup":[]}"#), Self.entry(#""transform":{"lookup":{"a":[]}}"#),
            Self.entry(#""transform":{"lookup":{"a":1},"else":{}}"#), Self.entry(#""transform":{"date":"yyyy-MM"}"#),
            Self.entry(#""transform":{"date":"yyyyMMddyyyy"}"#), Self.entry(#""transform":{"date":"yyyyMMddT"}"#),
        ]
        try await Self.expect(documents, areRight: false)
    }

    @Test("knows every reserved name in every spelling, and none that is not")
    func reserved() async throws {
        let names = [
            "objectId", "ownerId", "created", "updated", "lastLogin", "userStatus", "socialAccount", "accountType",
            "oAuthIdentities", "blUserLocale", "password", "roles", "id", "code", "message", "object_id",
            "email_verified", "user_status", "social_account", "last_login", "locale", "dynamic", "oid", "tableoid",
            "xmin", "cmin", "xmax", "cmax", "ctid",
        ]
        func declaring(_ name: String) -> String { Self.whole(#""properties":{"\#(name)":{"type":"INT"}}"#) }
        let spelt = names.flatMap { [$0, $0.lowercased(), $0.uppercased()] }
        try await Self.expect(spelt.map(declaring), areRight: false)
        try await Self.expect(spelt.flatMap { [declaring($0 + "x"), declaring("x" + $0)] }, areRight: true)
    }

    @Test("accepts each document of random parts that the reader accepts")
    func atRandom() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededRandom(seed)
        let pieces = [
            "null", "true", "false", "7", "60", "1e3", #""x""#, #""""#, "[]", "{}", #""STRING""#, #""email""#,
            #""{a} {b}""#,
            #""a.b""#, #"{"env":"A"}"#, #"["https://a.b"]"#, #"["a.b"]"#, #""trim""#, #"{"join":","}"#, #""timed""#,
            #"{"type":"JSON"}"#, #""v25.0""#, #""always""#, #""keep""#, #""pJSON""#,
            #"[{"appId":"1","appSecret":{"env":"A"}}]"#,
        ]
        func piece() -> String { pieces.randomElement(using: &random) ?? "null" }
        func members(_ keys: [String], _ value: (String) -> String) -> String {
            let chosen = keys.filter { _ in Int.random(in: 0..<3, using: &random) == 0 }
            return chosen.map { "\"\($0)\":\(value($0))" }.joined(separator: ",")
        }
        func object(_ keys: [String], _ value: (String) -> String) -> String { "{" + members(keys, value) + "}" }
        var accepted: [String] = []
        for _ in 0..<30_000 {
            let keys = ["from", "to", "type", "sync", "required", "default", "whenMissing", "transform"]
            let document =
                switch Int.random(in: 0..<4, using: &random) {
                case 0:
                    Self.whole(
                        #""settings":"#
                            + object(
                                [
                                    "clientMapping", "multipleLogins", "sessionIdleSeconds", "allowedOrigins",
                                    "hostNames", "maxSessions", "pages", "passwords", "tokens",
                                    "undeclaredProperties",
                                ]
                            ) { _ in piece() }
                    )
                case 1:
                    Self.whole(
                        #""providers":{"facebook":"#
                            + object(["enabled", "graphVersion", "proof", "apps"]) { _ in piece() } + "}"
                    )
                case 2: Self.mapping("[" + object(keys) { $0 == "to" ? #""pJSON""# : piece() } + "]")
                default:
                    Self.whole(
                        #""name":"n","#
                            + members(["$schema", "schema", "settings", "keys", "properties", "mapping"]) { _ in
                                piece()
                            }
                    ).replacing(",}", with: "}")
                }
            if ApplicationDocument.problems(document) == nil { accepted.append(document) }
        }
        #expect(accepted.count > 300, "seed \(seed)")
        let verdicts = try await Self.verdicts(on: accepted)
        for (document, verdict) in zip(accepted, verdicts) {
            #expect(verdict, "seed \(seed): \(document)")
        }
    }
}
