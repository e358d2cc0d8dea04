import Domain
import Encodings
@testable import Facebook
import Providers
import Testing

@Suite("Graph's errors in our reasons")
struct GraphErrorTableTests {
    @Test("the subcode says what became of the token", arguments: ErrorRow.subcodes)
    func subcodes(row: ErrorRow) { check(row) }

    @Test("without a known subcode the text says it", arguments: ErrorRow.texts)
    func texts(row: ErrorRow) { check(row) }

    @Test("what is no access token is of the wrong kind", arguments: ErrorRow.kinds)
    func kinds(row: ErrorRow) { check(row) }

    @Test("the app's settings are at fault", arguments: ErrorRow.ours)
    func ours(row: ErrorRow) { check(row) }

    @Test("the mapping is at fault, and the field is named", arguments: ErrorRow.mappings)
    func mappings(row: ErrorRow) { check(row) }

    @Test("an error without a code is read by its text", arguments: ErrorRow.uncoded)
    func uncoded(row: ErrorRow) { check(row) }

    @Test("a permission is missing", arguments: ErrorRow.permissions)
    func permissions(row: ErrorRow) { check(row) }

    @Test("F-10: too much was asked", arguments: ErrorRow.limits)
    func limits(row: ErrorRow) {
        check(row)
        #expect(row.fault?.failure.retryAfter == 60)
    }

    @Test("Graph has a problem of its own", arguments: ErrorRow.transient)
    func transient(row: ErrorRow) { check(row) }

    @Test("an error that nobody knows is no answer", arguments: ErrorRow.unknown)
    func unknown(row: ErrorRow) { check(row) }

    private func check(_ row: ErrorRow) {
        guard let fault = row.fault else {
            Issue.record("no fault")
            return
        }
        #expect(fault.failure.reason == row.reason)
        #expect(fault.signal == row.signal)
        #expect(fault.failure.details["graphCode"]?.integer == row.code.map(Int64.init))
        #expect(fault.failure.details["graphSubcode"]?.integer == row.subcode.map(Int64.init))
        #expect(fault.failure.details["fbtraceId"] == .string("AUfDHCHqpctBdmnqRGLPQbQ"))
        #expect(fault.failure.details["graphType"] == .string("OAuthException"))
        for key in ["field", "permission"] {
            let expected = row.detail.flatMap { $0.key == key ? $0.value : nil }
            #expect(fault.failure.details[key] == expected.map(JSONValue.string))
        }
    }

    @Test(
        "T-110: nothing that Graph quotes reaches a failure",
        arguments: [1, 2, 4, 10, 100, 101, 190, 200, 368, 2500, 9999]
    )
    func canary(code: Int) {
        let canary = "CANARY4711 EAAcanary"
        for call in [ErrorRow.Call.inspection, .profile] {
            let row = ErrorRow(
                call: call,
                status: 400,
                code: code,
                subcode: nil,
                message: "Malformed access token \(canary)",
                reason: .internal
            )
            #expect(!String(reflecting: row.fault).contains("CANARY4711"))
        }
        let odd = #"{"error":{"code":190,"type":"\#(canary)","fbtrace_id":"\#(canary)","error_user_msg":"\#(canary)"}}"#
        #expect(!String(reflecting: GraphReply.fault(status: 400, odd, call: .profile)).contains("CANARY4711"))
    }

    @Test(
        "an error is found in every envelope",
        arguments: [
            #"{"error":{"code":"190","error_subcode":463}}"#, #"{"error_code":190,"error_msg":"Session has expired"}"#,
            #"{"id":"1","error":{"code":190,"error_subcode":463}}"#,
            #"{"error_type":"OAuthException","code":400,"error_message":"Session has expired"}"#,
            #"{"error":{"type":"OAuthException","message":"Session has expired"}}"#,
        ]
    )
    func envelopes(body: String) {
        #expect(GraphReply.fault(status: 200, body, call: .profile)?.failure.reason == .credentialExpired)
    }

    @Test(
        "an envelope without sense is no answer",
        arguments: [
            #"{"error":"x"}"#, #"{"error":[]}"#, #"{"error":{}}"#, #"{"error":{"code":1.5}}"#,
            #"{"error":{"code":99999999999999999999999}}"#,
            #"{"error":{"code":"\#(String(repeating: "1", count: 300))"}}"#,
        ]
    )
    func senseless(body: String) {
        for call in [ErrorRow.Call.inspection, .profile] {
            #expect(GraphReply.fault(status: 400, body, call: call)?.failure.reason == .providerBadReply)
        }
    }
}

extension ErrorRow {
    fileprivate var fault: ProviderFault? { GraphReply.fault(status: status, body, call: call, token: token) }
}

extension GraphReply {
    /// Returns a response as it would come from the network.
    static func made(_ status: Int, _ body: String, _ headers: [String: String] = [:]) -> GraphReply {
        GraphReply(status: status, body: Array(body.utf8)) { headers[$0] }
    }

    /// Reads a response and returns its fault; nil when the response has the expected data.
    static func fault(status: Int, _ body: String, call: ErrorRow.Call, token: String = "EAAx") -> ProviderFault? {
        let isGraphToken = token.hasPrefix("EAA")
        do throws(ProviderFault) {
            switch call {
            case .inspection: _ = try TokenInspectionCall.answer(.made(status, body), isGraphToken: isGraphToken)
            case .profile: _ = try ProfileFetch.answer(.made(status, body), isGraphToken: isGraphToken)
            }
            return nil
        } catch {
            return error
        }
    }
}
