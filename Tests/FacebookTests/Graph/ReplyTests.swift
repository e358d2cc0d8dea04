import Domain
import Encodings
@testable import Facebook
import Foundation
import Providers
import Testing

@Suite("Reading Graph's replies")
struct ReplyTests {
    // MARK: debug_token

    @Test("a good user token is read, the id of the app as text or number", arguments: [#""123""#, "123"])
    func inspection(id: String) throws {
        let body = """
            {"data":{"app_id":\(id),"type":"USER","application":"…","data_access_expires_at":1676526788,"expires_at":1668754800,\
            "is_valid":true,"metadata":{"auth_type":"rerequest"},"scopes":["public_profile","email"],"user_id":"123"}}
            """
        guard case .token(let token) = try TokenInspectionCall.answer(.made(200, body), isGraphToken: true) else {
            Issue.record("no token")
            return
        }
        #expect(token.isValid)
        #expect(token.type == "USER")
        #expect(token.appID == "123")
        #expect(token.userID == "123")
        #expect(token.expiresAt == 1_668_754_800)
        #expect(token.dataAccessExpiresAt == 1_676_526_788)
        #expect(token.scopes == ["public_profile", "email"])
        #expect(token.refusal == nil)
    }

    @Test(
        "an invalid token comes with the reason, at HTTP 200",
        arguments: [
            (
                #"{"code":190,"message":"Error validating access token: Session has expired on x","subcode":463}"#,
                .credentialExpired
            ),
            (
                #"{"code":190,"message":"Error validating access token: The session has been invalidated","subcode":460}"#,
                .credentialRevoked
            ),
            (#"{"code":190,"message":"Error validating access token: x","subcode":458}"#, .credentialRevoked),
            (#"{"code":190,"message":"Error validating access token: x","subcode":459}"#, .userActionRequired),
            (#"{"code":190,"message":"Error validating access token: x","subcode":466}"#, .credentialRevoked),
            (#"{"code":190,"message":"Invalid OAuth access token - Cannot parse access token"}"#, .credentialWrongKind),
            (#"{"code":190,"message":"The access token could not be decrypted"}"#, .credentialInvalid),
            (#"{"code":190,"message":"Invalid OAuth access token signature."}"#, .credentialInvalid),
            (
                #"{"code":190,"message":"Error validating application. Cannot get application info due to a system error."}"#,
                .credentialInvalid
            ),
        ] as [(String, Failure.Reason)]
    )
    func refusals(error: String, reason: Failure.Reason) throws {
        let body = #"{"data":{"error":\#(error),"is_valid":false,"scopes":[]}}"#
        guard case .token(let token) = try TokenInspectionCall.answer(.made(200, body), isGraphToken: false) else {
            Issue.record("no token")
            return
        }
        #expect(!token.isValid)
        #expect(token.refusal?.reason == reason)
        #expect(token.refusal?.details["graphCode"] == .integer(190))
    }

    @Test(
        "T-01: a token of another app is told apart from every other error 100",
        arguments: [
            "(#100) The App_id in the input_token did not match the Viewing App",
            "The App_id in the input_token did not match the Viewing App",
        ]
    )
    func otherApp(message: String) throws {
        for (status, body) in [
            (400, #"{"error":{"message":"\#(message)","type":"OAuthException","code":100}}"#),
            (200, #"{"data":{"is_valid":false,"error":{"message":"\#(message)","code":100}}}"#),
        ] {
            let inspection = try TokenInspectionCall.answer(.made(status, body), isGraphToken: true)
            guard case .otherApp = inspection else {
                Issue.record("\(inspection)")
                return
            }
        }
    }

    @Test("a passing problem inside debug_token's data is a problem of Graph's, not of the token")
    func transientInside() {
        let body = #"{"data":{"error":{"code":2,"message":"temporarily unavailable"},"is_valid":false}}"#
        #expect(GraphReply.fault(status: 200, body, call: .inspection)?.signal == .transient)
    }

    @Test(
        "F-05: a debug_token reply of the wrong form is refused",
        arguments: [
            "{}", #"{"data":null}"#, #"{"data":[]}"#, #"{"data":"x"}"#, #"{"data":{}}"#,
            #"{"data":{"is_valid":"true"}}"#,
            #"{"data":{"is_valid":1}}"#, #"{"data":{"is_valid":null}}"#, #"{"data":{"is_valid":true,"type":1}}"#,
            #"{"data":{"is_valid":true,"app_id":true}}"#, #"{"data":{"is_valid":true,"app_id":{}}}"#,
            #"{"data":{"is_valid":true,"app_id":10.0}}"#, #"{"data":{"is_valid":true,"app_id":1e1}}"#,
            #"{"data":{"is_valid":true,"app_id":-1}}"#, #"{"data":{"is_valid":true,"user_id":[1]}}"#,
            #"{"data":{"is_valid":true,"user_id":-123}}"#, #"{"data":{"is_valid":true,"user_id":123.0}}"#,
            #"{"data":{"is_valid":true,"user_id":9223372036854775808}}"#,
            #"{"data":{"is_valid":true,"expires_at":"0"}}"#,
            #"{"data":{"is_valid":true,"expires_at":0.0}}"#, #"{"data":{"is_valid":true,"expires_at":1e3}}"#,
            #"{"data":{"is_valid":true,"expires_at":99999999999999999999}}"#,
            #"{"data":{"is_valid":true,"data_access_expires_at":true}}"#,
            #"{"data":{"is_valid":true,"scopes":"email"}}"#,
            #"{"data":{"is_valid":true,"scopes":[1]}}"#, #"{"data":{"is_valid":true,"error":"x"}}"#,
            #"{"data":{"is_valid":true,"is_valid":false}}"#,
        ]
    )
    func malformedInspection(body: String) {
        let fault = GraphReply.fault(status: 200, body, call: .inspection)
        #expect(fault?.failure.reason == .providerBadReply)
        #expect(fault?.signal == .answered)
    }

    @Test("an id that debug_token writes as a number is read like its text, digit by digit")
    func numericIDs() throws {
        let body = #"{"data":{"is_valid":true,"app_id":9007199254740993,"user_id":9223372036854775807}}"#
        guard case .token(let token) = try TokenInspectionCall.answer(.made(200, body), isGraphToken: true) else {
            Issue.record("no token")
            return
        }
        #expect(token.appID == "9007199254740993" && token.userID == "9223372036854775807")
    }

    @Test("a text of a profile with a NUL or half a character is read, and no permission has one")
    func unusableTexts() throws {
        let user = try ProfileFetch.answer(
            .made(200, #"{"id":"10","name":"a\u0000b","about":"\ud800","hometown":{"n\u0000":"x"}}"#),
            isGraphToken: true
        )
        #expect(user["id"] == .string("10") && user["name"] == .string("a\0b") && user["about"] == .string("\0"))
        let body = #"{"data":{"is_valid":true,"scopes":["email","a\u0000"]}}"#
        guard case .token(let token) = try TokenInspectionCall.answer(.made(200, body), isGraphToken: true) else {
            Issue.record("no token")
            return
        }
        #expect(token.scopes == ["email"])
        #expect(throws: ProviderFault.self) {
            try ProfileFetch.answer(.made(200, #"{"id":"1\u00000"}"#), isGraphToken: true)
        }
    }

    // MARK: /me

    @Test(
        "T-40: the id of a person is a decimal text, or an integer within 2^63 like it, never 0",
        arguments: [
            (#""10""#, "10"), (#""10150000000000001""#, "10150000000000001"), ("10", "10"),
            ("10150000000000001", "10150000000000001"), ("9223372036854775807", "9223372036854775807"),
            ("9223372036854775808", nil), ("0", nil), (#""0""#, nil),
            (#""00""#, nil), (#""010""#, nil), ("18446744073709551616", nil), (#""10.0""#, nil), ("10.0", nil),
            ("1e1", nil), ("-10", nil), ("010", nil), (#""""#, nil), (#"" 10""#, nil), ("null", nil), ("true", nil),
            (#"["10"]"#, nil),
            (#"{"id":"10"}"#, nil),
            (#""１０""#, nil), (#""10\u0301""#, nil),
        ] as [(String, String?)]
    )
    func ids(literal: String, id: String?) {
        let user = try? ProfileFetch.answer(
            .made(200, #"{"name":"Ann","id":\#(literal),"age_range":{"min":21}}"#),
            isGraphToken: true
        )
        #expect(user?["id"] == id.map(JSONValue.string))
        #expect(user?["name"] == id.map { _ in .string("Ann") })
        #expect(user?.members.count == id.map { _ in 3 })
    }

    @Test("the content type is not asked")
    func contentType() throws {
        let reply = GraphReply.made(200, #"{"id":"1"}"#, ["Content-Type": "text/javascript; charset=UTF-8"])
        #expect(try ProfileFetch.answer(reply, isGraphToken: true)["id"] == .string("1"))
    }

    @Test(
        "F-05: what is not a JSON object is no answer",
        arguments: [
            "", "false", "true", "null", "[]", #""id""#, "1", "{", #"{"id":"1""#, #"{"id":"1"}}"#, "<html>Sorry</html>",
            #"{"id":"1","id":"2"}"#, "{\"id\":\"1\",}", "\u{FEFF}{\"id\":\"1\"}", #"{"name":"\u00g0","id":"1"}"#,
        ]
    )
    func noObject(body: String) {
        for call in [ErrorRow.Call.inspection, .profile] {
            for status in [200, 204, 302, 400, 404] {
                let fault = GraphReply.fault(status: status, body, call: call)
                #expect(fault?.failure.reason == .providerBadReply)
                #expect(fault?.signal == .answered)
            }
            let limited = GraphReply.fault(status: 429, body, call: call)
            #expect(limited?.failure.reason == .providerRateLimited)
            for status in [500, 502, 503, 504] {
                let fault = GraphReply.fault(status: status, body, call: call)
                #expect(fault?.failure.reason == .providerUnavailable)
                #expect(fault?.signal == .transient)
            }
        }
    }

    @Test("an answer counts with status 200 only", arguments: [100, 201, 206, 302, 304, 400, 404, 500, 503])
    func status(status: Int) {
        #expect(GraphReply.fault(status: status, #"{"id":"1"}"#, call: .profile) != nil)
        #expect(GraphReply.fault(status: status, #"{"data":{"is_valid":true}}"#, call: .inspection) != nil)
    }

    @Test("F-05: 10 000 mutated replies are read or refused, and nothing traps")
    func mutated() {
        var random = SplitMix(state: 20_261_121)
        let seeds = [
            #"{"data":{"app_id":"257422819769992","type":"USER","application":"x","expires_at":1668754800,"is_valid":true,"scopes":["email"],"user_id":"123"}}"#,
            #"{"data":{"error":{"code":190,"message":"Session has expired","subcode":463},"is_valid":false,"scopes":[]}}"#,
            #"{"id":"123","name":"Ann \u00e9","picture":{"data":{"height":50,"url":"https:\/\/x"}}}"#,
            #"{"error":{"message":"(#100) Tried accessing nonexisting field (bio) on node type (User)","code":100,"fbtrace_id":"A"}}"#,
        ].map { Array($0.utf8) }
        let pieces = [
            "{", "}", "[", "]", "\"", ":", ",", "null", "-1e999", "\\u0000", "\u{301}", "true", "99999999999999999999",
        ]
        for round in 0..<10_000 {
            var body = seeds[round % seeds.count]
            for _ in 0...(random.next() % 4) {
                let place = Int(random.next() % UInt64(body.count))
                switch random.next() % 4 {
                case 0: body[place] = UInt8(truncatingIfNeeded: random.next())
                case 1: body.removeSubrange(place..<min(body.count, place + Int(random.next() % 16)))
                case 2: body.insert(contentsOf: pieces[Int(random.next() % UInt64(pieces.count))].utf8, at: place)
                default: body.insert(contentsOf: body[..<place], at: place)
                }
                if body.isEmpty { body = [0x20] }
            }
            let status = [200, 400, 500, 429][Int(random.next() % 4)]
            let reply = GraphReply(status: status, body: body) { _ in String(decoding: body, as: UTF8.self) }
            _ = try? TokenInspectionCall.answer(reply, isGraphToken: true)
            _ = try? ProfileFetch.answer(reply, isGraphToken: false)
            _ = reply.usageHeader.flatMap(GraphUsage.init(header:))
        }
    }

    // MARK: Headers

    @Test(
        "F-10: the time to wait comes from Retry-After, or else from Graph's own header in minutes",
        arguments: [
            (["Retry-After": "7"], 7), (["Retry-After": "0"], 1), (["Retry-After": "999999999"], 86_400),
            (["Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"], nil), (["Retry-After": "-1"], nil),
            (["Retry-After": ""], nil),
            (["Retry-After": "99999999999999999999"], nil),
            (["X-Business-Use-Case-Usage": #"{"1":[{"type":"x","estimated_time_to_regain_access":2}]}"#], 120),
            (
                [
                    "X-Business-Use-Case-Usage":
                        #"{"1":[{"estimated_time_to_regain_access":2},{"estimated_time_to_regain_access":5}],"2":[]}"#
                ], 300
            ),
            (
                ["X-Business-Use-Case-Usage": #"{"1":[{"estimated_time_to_regain_access":9223372036854775807}]}"#],
                86_400
            ),
            (["X-Business-Use-Case-Usage": #"{"1":[{"estimated_time_to_regain_access":0}]}"#], nil),
            (["X-Business-Use-Case-Usage": #"{"1":[{"estimated_time_to_regain_access":-5}]}"#], nil),
            (["X-Business-Use-Case-Usage": "["], nil), (["X-Business-Use-Case-Usage": #"{"1":{}}"#], nil),
            (["Retry-After": "3", "X-Business-Use-Case-Usage": #"{"1":[{"estimated_time_to_regain_access":2}]}"#], 3),
            ([:], nil),
        ] as [([String: String], Int?)]
    )
    func retryAfter(headers: [String: String], seconds: Int?) {
        for body in [#"{"error":{"code":4,"message":"(#4) Application request limit reached"}}"#, "<html>"] {
            let fault = #expect(throws: ProviderFault.self) {
                try ProfileFetch.answer(.made(429, body, headers), isGraphToken: true)
            }
            #expect(fault?.failure.retryAfter == seconds ?? 60)
            #expect(fault?.signal == .limited(RateLimit(seconds: seconds)))
        }
    }

    @Test(
        "X-App-Usage is read, whatever part of it is there",
        arguments: [
            (#"{"call_count":28,"total_time":25,"total_cputime":26}"#, [28, 25, 26]),
            (#"{"call_count":0}"#, [0, nil, nil]),
            ("{}", [nil, nil, nil]), (#"{"call_count":"28","total_time":-1,"total_cputime":1.5}"#, [nil, nil, nil]),
            ("[]", nil), ("", nil), ("28", nil), (String(repeating: "[", count: 100), nil),
        ] as [(String, [Int?]?)]
    )
    func usage(header: String, parts: [Int?]?) {
        let usage = GraphReply.made(200, "", ["X-App-Usage": header]).usageHeader.flatMap(GraphUsage.init(header:))
        #expect(usage.map { [$0.callCount, $0.totalTime, $0.totalCPUTime] } == parts)
        #expect(usage?.highest == parts?.compactMap(\.self).max())
    }
}

/// A random generator that returns the same numbers in every run.
struct SplitMix {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
