@testable import Accounts
@testable import Administration
@testable import Applications
import Description
import Domain
import Encodings
import Facebook
import Providers
import SignedTokens
@testable import Store
import Testing

@Suite("Options of logins with Facebook")
struct FacebookOptionsTests {
    private static let full = #"""
        {"graphVersion":"v24.0","proof":"classic","pkce":"off","nonce":"serverIssued","idTokenSeconds":60,"redirectUris":["https://a.example/cb"],"returnUrls":["fb123://authorize","https://a.example/"],"permissions":["email"],"keepTokens":true,"longLivedTokens":true,"returnTokens":true,"endSessionsWhenRevoked":true,"refreshHours":8760,"eraseAfterDays":30}
        """#

    /// Returns the problems of options; empty when there are none.
    private static func problems(_ document: JSONValue) -> [DocumentProblems.Problem] {
        do {
            _ = try FacebookOptions(document)
            return []
        } catch {
            return error.problems
        }
    }

    @Test("what is written back reads as the same options, and all of them are written")
    func roundTrip() throws {
        let options = try FacebookOptions(try json(Self.full))
        #expect(FacebookOptions.description.document(of: options).text == Self.full)
        #expect(options.redirectURIs == ["https://a.example/cb"] && options.refreshHours == 8760)
        let defaults = FacebookOptions.description.document(of: FacebookOptions())
        #expect(try FacebookOptions(defaults) == FacebookOptions())
        #expect(try FacebookOptions(.object([:])) == FacebookOptions())
        #expect(defaults.object?.members.map(\.key) == FacebookOptions.description.shape.names)
        let full = try #require(try json(Self.full).object)
        #expect(full.members.allSatisfy { $0.value != defaults.object?[$0.key] }, "the sample has no default in it")
    }

    @Test("every value out of its bounds is a problem at its place, and all are told at once")
    func bounds() throws {
        func texts(_ count: Int, _ text: String) -> String {
            "[" + Array(repeating: "\"\(text)\"", count: count).joined(separator: ",") + "]"
        }
        let right = [
            #"{"idTokenSeconds":3600,"refreshHours":1,"eraseAfterDays":0}"#, #"{"refreshHours":null}"#,
            #"{"permissions":[]}"#, #"{"permissions":\#(texts(50, "user_birthday"))}"#,
            #"{"permissions":["\#(String(repeating: "x", count: 64))"]}"#,
            #"{"redirectUris":\#(texts(20, "https://a.example/"))}"#,
        ]
        for text in right { #expect(Self.problems(try json(text)).isEmpty, "\(text)") }
        let wrong: [(name: String, values: [String])] = [
            ("pkce", ["null", "true", #""Auto""#, #""plain""#, #""""#]),
            ("nonce", ["null", "true", #""ClientMade""#, #""""#]),
            ("idTokenSeconds", ["59", "3601", "60.5", "6e1", #""60""#, "null", "-9223372036854775808"]),
            ("redirectUris", ["null", #""https://a.example/""#, "{}", texts(21, "https://a.example/")]),
            ("returnUrls", [texts(21, "https://a.example/")]), ("permissions", [texts(51, "email"), "null"]),
            ("keepTokens", ["null", "1"]), ("longLivedTokens", ["0"]), ("returnTokens", [#""true""#]),
            ("endSessionsWhenRevoked", ["[]"]), ("refreshHours", ["0", "8761", "1.5"]),
            ("eraseAfterDays", ["-1", "31", "null"]),
        ]
        for (name, values) in wrong {
            for value in values {
                let found = Self.problems(try json(#"{"\#(name)":\#(value)}"#)).map(\.pointer.text)
                #expect(found == ["/\(name)"], "\(name) \(value)")
            }
        }
        let lists = try json(
            #"{"permissions":["email","User",7,"","a b"],"returnUrls":["https://a.example/","a",7],"nonce":1,"more":2}"#
        )
        #expect(
            Self.problems(lists).map(\.pointer.text)
                == [
                    "/nonce", "/returnUrls/1", "/returnUrls/2", "/permissions/1", "/permissions/2", "/permissions/3",
                    "/permissions/4",
                ]
        )
        #expect(Self.problems(.array([])).map(\.pointer.text) == [""])
    }

    @Test(
        "a redirect goes to a page over TLS, to this device, or to an app",
        arguments: [
            ("https://a.example", true), ("https://a.example:8443/cb?x=%20y&z=(1)", true),
            ("https://[2001:db8::1]/", true),
            ("https://user_pages.a.example/", true), ("http://localhost:5173/", true), ("http://127.0.0.1/cb", true),
            ("http://[::1]:80/", true), ("fb1234567890://authorize", true), ("com.example.app:/cb", true),
            ("com.example.app:/cb@home", true), ("myapp://", true), ("x+y-z.1:///a", true),
            ("https://a.example/" + String(repeating: "x", count: 2030), true),
            ("https://a.example/" + String(repeating: "x", count: 2031), false), ("", false), ("a.example", false),
            ("/cb", false), ("//a.example/", false), ("https:", false), ("https:/a.example", false),
            ("https://", false),
            ("https:///cb", false), ("https://?x", false), ("https://:443/", false), ("https://a.example:/", false),
            ("https://a.example:123456/", false), ("https://a.example:x/", false), ("https://[::1/", false),
            ("https://[]/", false), ("https://[::1]x/", false), ("https://a%2eexample/", false),
            ("HTTPS://a.example/", false),
            ("https://ann@a.example/", false), ("https://ann:b@a.example/", false), ("fb123://ann@authorize", false),
            ("https://a.example/#x", false), ("https://a.example\\cb", false), ("https://a.example/ b", false),
            ("https://a.example/\n", false), ("https://a.example/\u{0}", false), ("https://a.example/\u{E9}", false),
            ("https://a.example/\"", false), ("https://a.example/<", false), ("http://a.example/", false),
            ("http://127.0.0.1.a.example/", false), ("http://127.0.0.2/", false),
            ("http://localhost.a.example/", false),
            ("http://localhost@a.example/", false), ("http://0/", false), ("http:localhost", false),
            ("javascript:alert(1)", false), ("javascript:/alert(1)", false),
            ("javascript://a.example/%0aalert(1)", false),
            ("JavaScript://x", false), ("data:/text", false), ("data:text/html,x", false),
            ("file:///etc/passwd", false),
            ("vbscript://x", false), ("blob:https://a.example/x", false), ("blob:/x", false), ("view-source:/x", false),
            ("ws://a.example/", false), ("ftp://a.example/", false), ("intent://x/", false), ("about:/blank", false),
            ("1app://x", false), ("+app://x", false), ("app:x", false),
            (String(repeating: "a", count: 64) + "://x", true),
            (String(repeating: "a", count: 65) + "://x", false),
        ]
    )
    func targets(text: String, isRight: Bool) {
        for name in ["redirectUris", "returnUrls"] {
            let document = JSONValue.object(JSONObject([JSONObject.Member(name, .array([.string(text)]))]))
            let found = Self.problems(document).map(\.pointer.text)
            #expect(found == (isRight ? [] : ["/\(name)/0"]))
        }
    }

    @Test("what is done with a kept token needs one that is kept, however the options come in")
    func keptTokens() throws {
        func pointers(_ edit: (inout FacebookOptions) -> Void) throws -> [String] {
            let stored = try Sample(apps: ["1"]).stored()
            var desired = DesiredApplication(stored, kinds: try .outOfReach())
            if var options = desired.facebook?.facebookOptions {
                edit(&options)
                desired.facebook?.facebookOptions = options
            }
            return ConfigurationDifference.problems(from: stored, to: desired, columns: []).problems
                .map(\.pointer.text)
        }
        let all: (inout FacebookOptions) -> Void = {
            $0.longLivedTokens = true
            $0.returnTokens = true
            $0.refreshHours = 24
        }
        #expect(
            try pointers(all)
                == ["longLivedTokens", "returnTokens", "refreshHours"].map { "/providers/facebook/\($0)" }
        )
        #expect(
            try pointers {
                all(&$0)
                $0.keepTokens = true
            }.isEmpty
        )
        #expect(try pointers { $0.endSessionsWhenRevoked = true }.isEmpty)
    }
}

@Suite("Changes of the options of logins with Facebook")
struct FacebookOptionsChangeTests {
    private static func steps(
        _ stored: StoredApplication,
        _ edit: (inout DesiredApplication) -> Void
    ) throws -> [PlannedChange] {
        var desired = DesiredApplication(stored, kinds: try .outOfReach())
        edit(&desired)
        return try ConfigurationDifference.changes(from: stored, to: desired, columns: [])
    }

    @Test("the log has the options that a change touches, and of the text that Facebook repeats only that it is set")
    func audit() throws {
        let stored = try Sample(apps: ["1"], options: #"{"webhookVerifyToken":"canary-0123456789"}"#).stored()
        let settings = #""enabled":true"#
        #expect(try Self.steps(stored) { _ in }.isEmpty)
        #expect(
            try Self.steps(stored) {
                $0.facebook?.facebookOptions.nonce = .off
                $0.facebook?.facebookOptions.returnURLs = ["fb1://x"]
            }.map(\.line) == [
                #"provider.facebook.set facebook: {\#(settings),"nonce":"clientMade","returnUrls":[]} -> {\#(settings),"nonce":"off","returnUrls":["fb1://x"]}"#
            ]
        )
        let token = try Self.steps(stored) { $0.facebook?.verifyToken = .string("canary-9876543210") }
        let hidden = #"{\#(settings),"webhookVerifyToken":"•••"}"#
        #expect(token.map(\.line) == ["provider.facebook.set facebook: \(hidden) -> \(hidden)"])
        let none = try Self.steps(stored) { $0.facebook?.verifyToken = .null }
        #expect(
            none.map(\.line) == [
                #"provider.facebook.set facebook: \#(hidden) -> {\#(settings),"webhookVerifyToken":null}"#
            ]
        )
        let removed = try Self.steps(stored) { $0.facebook = nil }
        #expect(
            removed.map(\.line) == [
                #"provider.facebook.remove facebook: {\#(settings),"webhookVerifyToken":"•••","apps":[{"appId":"1"}]} -> nil"#
            ]
        )
        guard case .setProvider(_, _, _, let options)? = token.first?.change else {
            Issue.record("not set")
            return
        }
        #expect(options.object?["webhookVerifyToken"]?.string == "canary-9876543210")
        let names = try FacebookKind.outOfReach().allOptionNames
        #expect(options.object?.members.map(\.key) == names, "they are stored completely")
    }

    @Test("options that only a later version knows are passed over, and stay when others are set")
    func later() throws {
        let stored = try Sample(apps: ["1"], options: #"{"speed":9,"pkce":"off"}"#).stored()
        let loaded = LoadedApplication(stored, masterKeys: try Sample.masterKeys(), kinds: try .outOfReach())
        #expect(loaded.defect == nil)
        let changed = try Self.steps(stored) { $0.facebook?.enabled = false }
        guard case .setProvider(_, .facebook, false, let options)? = changed.first?.change else {
            Issue.record("not set")
            return
        }
        #expect(options.object?["speed"] == .integer(9) && options.object?["pkce"] == .string("off"))
    }

    @Test("options that cannot be read make logins impossible, and stay until they are set")
    func unreadable() throws {
        let stored = try Sample(apps: ["1"], options: #"{"proof":9,"webhookVerifyToken":"canary-0123456789"}"#).stored()
        let loaded = LoadedApplication(stored, masterKeys: try Sample.masterKeys(), kinds: try .outOfReach())
        #expect(loaded.defect?.hasPrefix("its options of the provider facebook cannot be read: /proof: ") == true)
        #expect(
            LoadedApplication(
                try Sample(apps: ["1"]).stored(),
                masterKeys: try Sample.masterKeys(),
                kinds: try .outOfReach()
            ).defect == nil
        )

        #expect(try Self.steps(stored) { $0.name = "Other" }.map(\.action) == ["application.rename"])
        let kept = try Self.steps(stored) { $0.facebook?.enabled = false }
        guard case .setProvider(_, .facebook, false, let options)? = kept.first?.change else {
            Issue.record("not set")
            return
        }
        #expect(options == stored.facebook?.options)
        let mended = try Self.steps(stored) { $0.facebook?.facebookOptions = FacebookOptions() }
        guard case .setProvider(_, .facebook, true, let options)? = mended.first?.change else {
            Issue.record("not set")
            return
        }
        let defaults = FacebookOptions.description.document(of: FacebookOptions())
        #expect(options == DesiredApplication.Provider.all(defaults) { _ in .string("canary-0123456789") })
        #expect(!mended.map(\.line).joined().contains("canary"))
    }

    @Test("a loaded application has the options that are stored")
    func loaded() throws {
        let stored = try Sample(apps: ["1"], options: #"{"nonce":"serverIssued","keepTokens":true}"#).stored()
        let options = LoadedApplication(stored, masterKeys: try Sample.masterKeys(), kinds: try .outOfReach())
            .facebook?.options
        #expect(options?.nonce == .serverIssued && options?.keepTokens == true && options?.eraseAfterDays == 0)
    }
}
