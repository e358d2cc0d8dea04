import Accounts
@testable import Backendless
import Domain
import Encodings
import FoundationEssentials
import HTTPTypes
import Logins
@testable import Pages
import Providers
@testable import PublicAPI
import Secrets
import Testing

@Suite("Where a dialog sends a browser")
struct DialogWireTests {
    @Test("the policy of the popup's page admits its script by the digest of just that text")
    func digest() {
        for script in [InlineAsset.handOver, .lateHandOver, .passkey] {
            let digest = Data(Digest.sha256(script.text.text)).base64EncodedString()
            #expect(script.source == "'sha256-\(digest)'")
        }
        for script in [InlineAsset.handOver, .lateHandOver] { #expect(!script.text.text.contains("*")) }
    }

    @Test(
        "what is added to an address stands behind what is there",
        arguments: [
            ("https://a.example/done", "https://a.example/done?reason=x%26y"),
            ("https://a.example/done?a=b", "https://a.example/done?a=b&reason=x%26y"),
            ("https://a.example/done?", "https://a.example/done?reason=x%26y"),
            ("https://a.example/done?a&", "https://a.example/done?a&reason=x%26y"),
            ("app:/done", "app:/done?reason=x%26y"), ("fb1://authorize?x", "fb1://authorize?x&reason=x%26y"),
        ]
    )
    func adding(url: String, expected: String) {
        #expect(DialogPages.adding([("reason", "x&y")], to: url) == expected)
    }

    @Test("the query of a dialog is read as far as it is known, and a parameter that is there twice is not there")
    func query() {
        func read(_ query: String?) -> DialogAnswer { DialogAnswer(LenientQuery(query)) }
        let answer = read("state=s&code=a%2Bb+c&error_reason=r&denied_scopes=a%2Cb&x=%zz&granted_scopes=z")
        #expect(answer.state == "s")
        #expect(answer.code?.reveal() == "a+b c")
        #expect(answer["error_reason"] == "r")
        #expect(answer["denied_scopes"] == "a,b")
        #expect(read("denied_scopes=")["denied_scopes"] == "")
        #expect(read("denied_scopes=").filled("denied_scopes") == nil)
        #expect(read("")["denied_scopes"] == nil)
        #expect(answer["x"] == nil)
        #expect(answer["error"] == nil)
        for query in [
            nil, "", "state", "state=", "state=a&state=b", "state=a&state=a", "state=a&state=", "state=%zz",
            "state=%00", "State=a", "state=a&st%61te=b",
            "state=" + String(repeating: "a", count: 8193), "&&&",
            String(repeating: "x=1&", count: 100) + "state=a",
        ] {
            #expect(read(query).state == nil, "\(query ?? "-")")
        }
        #expect(read("st%61te=a").state == "a")
    }

    @Test("of the cookies that a browser sends ours is found, alone, by its whole name")
    func cookies() {
        func read(_ headers: [String], isSecure: Bool = true) -> String? {
            var fields = HTTPFields()
            for header in headers { fields.append(HTTPField(name: .cookie, value: header)) }
            return BrowserCookie.dialog(isSecure: isSecure).value(in: fields)
        }
        let name = "__Host-federation-dialog"
        #expect(read(["\(name)=a"]) == "a")
        #expect(read(["x=y; \(name)=a; z"]) == "a")
        #expect(read(["x=y;\(name)=a=b;z"]) == "a=b")
        #expect(read(["x=y", "\(name)=a"]) == "a", "HTTP/2 may split them")
        #expect(read(["federation-dialog=a"], isSecure: false) == "a")
        for headers in [
            [], [""], [name], ["\(name)=a; \(name)=b"], ["\(name)=a", "\(name)=a"], ["federation-dialog=a"],
            ["x\(name)=a"], ["\(name)x=a"], ["__host-federation-dialog=a"], ["x=\(name)=a"],
            [String(repeating: "a=b;", count: 300) + "\(name)=a"],
        ] {
            #expect(read(headers) == nil, "\(headers)")
        }
        #expect(
            BrowserCookie.dialog(isSecure: true).header(Secret("a"), seconds: 5)
                == "\(name)=a; Path=/; Max-Age=5; Secure; HttpOnly; SameSite=Lax"
        )
    }

    @Test("a body is read in every spelling, and none at all is an empty one, as null is")
    func body() throws {
        func read(_ text: String?) throws(Failure) -> DialogBody {
            try DialogBody(text.map { Array($0.utf8) }, origin: "https://a.example")
        }
        for text in [nil, "null", " null\n", "{}"] {
            let empty = try read(text)
            #expect(!empty.redirect)
            #expect(empty.dialog.wishes.permissions == nil)
            #expect(empty.dialog.origin == "https://a.example")
            #expect(empty.callbackURLDomain == nil)
        }
        #expect(try read(#"{"callbackUrlDomain": "a.example"}"#).callbackURLDomain == "a.example")
        #expect(try read(#"{"callbackUrlDomain": ""}"#).callbackURLDomain == nil)
        for list in [
            #""email,user_birthday""#, #""email user_birthday""#, #""email, user_birthday""#,
            #"["email", "user_birthday"]"#,
        ] {
            #expect(try read(#"{"permissions": \#(list)}"#).dialog.wishes.permissions == ["email", "user_birthday"])
        }
        for mapping in [
            #""fieldsMapping": {"a": "b"}"#, #""fieldsMappings": {"a": "b"}"#, #""fieldsMapping": "{\"a\": \"b\"}""#,
        ] {
            #expect(try read("{\(mapping)}").dialog.mapping == .object(["a": .string("b")]))
        }
        for type in DialogAuthType.allCases {
            #expect(try read(#"{"authType": "\#(type.rawValue)"}"#).dialog.wishes.authType == type)
        }
        let many = Array(repeating: #""email""#, count: 51).joined(separator: ", ")
        for text in [
            "[]", "1", #""null""#,
            #"{"permissions": {}}"#, #"{"permissions": [""]}"#, #"{"permissions": [null]}"#,
            #"{"permissions": [\#(many)]}"#,
            #"{"redirect": 1}"#, #"{"appId": 1}"#,
            #"{"configId": 1}"#, #"{"client_id": "1"}"#, #"{"permission": "email"}"#,
            #"{"authType": "Rerequest"}"#, #"{"codeChallengeMethod": "s256", "codeChallenge": "x"}"#,
            #"{"codeChallenge": "=\#(String(repeating: "a", count: 42))"}"#,
        ] {
            let failure = #expect(throws: Failure.self) { try read(text) }
            #expect(failure?.reason == .malformedRequest, "\(text)")
        }
    }
}
