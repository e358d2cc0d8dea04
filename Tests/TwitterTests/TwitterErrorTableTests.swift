import Domain
import Encodings
import GraphSimulator
import Providers
import Testing
@testable import Twitter

@Suite("What Twitter's errors mean")
struct TwitterErrorTableTests {
    private static let byApp = HealthSignal.limited(RateLimit(seconds: nil))

    private static let rows: [(Int64?, Int, Failure.Reason, HealthSignal)] = [
        (32, 401, .credentialInvalid, .answered), (89, 401, .credentialInvalid, .answered),
        (215, 400, .credentialInvalid, .answered), (63, 403, .userActionRequired, .answered),
        (64, 403, .userActionRequired, .answered), (231, 401, .userActionRequired, .answered),
        (326, 403, .userActionRequired, .answered), (88, 429, .providerRateLimited, .answered),
        (nil, 429, .providerRateLimited, byApp), (135, 401, .providerMisconfigured, .answered),
        (453, 403, .providerMisconfigured, .answered), (416, 401, .providerMisconfigured, .answered),
        (34, 404, .providerMisconfigured, .answered), (220, 403, .providerMisconfigured, .answered),
        (nil, 402, .providerMisconfigured, .answered), (nil, 403, .providerMisconfigured, .answered),
        (130, 503, .providerUnavailable, .transient), (131, 500, .providerUnavailable, .transient),
        (nil, 502, .providerUnavailable, .transient), (9999, 503, .providerUnavailable, .transient),
        (nil, 401, .credentialInvalid, .answered), (9999, 401, .credentialInvalid, .answered),
        (9999, 418, .providerBadReply, .answered), (nil, 301, .providerBadReply, .answered),
        (9999, 200, .providerBadReply, .answered), (.max, 200, .providerBadReply, .answered),
        (32, 200, .credentialInvalid, .answered),
    ]

    @Test("about a person's token", arguments: rows)
    func table(code: Int64?, status: Int, reason: Failure.Reason, signal: HealthSignal) {
        let fault = TwitterErrorTable(subject: .userToken, retryAfter: nil).fault(code: code, status: status)
        #expect(fault.failure.reason == reason)
        #expect(fault.signal == signal)
        #expect(fault.failure.details["twitterCode"]?.integer == code)
    }

    @Test("about our own credentials alone, a refusal is the operator's to repair", arguments: [32, 89, 215, nil])
    func consumer(code: Int64?) {
        let fault = TwitterErrorTable(subject: .consumer, retryAfter: nil).fault(code: code, status: 401)
        #expect(fault.failure.reason == .providerMisconfigured)
        #expect(fault.signal == .answered)
    }

    @Test(
        "envelopes as they were seen: a code as a text, problem details, several errors, none",
        arguments: [
            (401, #"{"errors":[{"code":"89","message":"x"}]}"#, Failure.Reason.credentialInvalid),
            (
                401, #"{"title":"Unauthorized","type":"about:blank","status":401,"detail":"Unauthorized"}"#,
                .credentialInvalid
            ),
            (
                403, #"{"reason":"client-not-enrolled","type":"https://api.twitter.com/2/problems/client-forbidden"}"#,
                .providerMisconfigured
            ),
            (403, #"{"errors":[{"code":326},{"code":89}]}"#, .userActionRequired),
            (200, #"{"errors":[{"code":64}],"id":370773112,"id_str":"370773112"}"#, .userActionRequired),
            (200, #"{"errors":[]}"#, .providerBadReply), (200, #"{"errors":"x"}"#, .providerBadReply),
            (200, #"{"data":{"id":"370773112"}}"#, .providerBadReply),
            (500, "", .providerUnavailable), (404, "<html></html>", .providerMisconfigured),
        ]
    )
    func envelopes(status: Int, body: String, reason: Failure.Reason) async throws {
        try await TwitterSide.run { twitter in
            twitter.simulator.add(.init(.reply(status: status, headers: [], body: Array(body.utf8))))
            #expect(await twitter.verify().reason == reason)
        }
    }

    @Test(
        "when a limit ends",
        arguments: [
            ("1000", 100 as Int?), ("900", 1), ("0", 1), ("99999999999999", 86_400), ("", nil), ("-1", nil), ("x", nil),
            ("9999999999999999", nil),
        ]
    )
    func resets(header: String, seconds: Int?) {
        #expect(RateLimit.seconds(untilReset: header, now: 900) == seconds)
    }
}
