import Domain
@testable import Facebook
import Foundation
import NIOConcurrencyHelpers
import Providers
import Testing

@Suite("Evidence about an access token")
struct GraphClientTests {
    // MARK: Requests

    @Test(
        "both questions go out with their proofs, and no token is in a URL but the one that is examined",
        arguments: ProofForm.allCases
    )
    func questions(form: ProofForm) async throws {
        let graph = try FakeGraph()
        defer { graph.stop() }
        let evidence = await graph.evidence(token: "EAA+x=", fields: "id,picture{url}", form: form)
        #expect(evidence.words == "token, user")
        let requests = graph.server.requests
        #expect(requests.count == 2)
        let inspection = try #require(requests.first { $0.path == "/v25.0/debug_token" })
        let profile = try #require(requests.first { $0.path == "/v25.0/me" })
        let time = form == .timed ? ["appsecret_time=1700000000"] : []
        let appToken = "123|s3cret"
        func proof(_ token: String) -> String {
            "appsecret_proof="
                + AppSecretProof(of: token, secret: Secret("s3cret"), form: form, now: 1_700_000_000).value
        }
        #expect(inspection.parameters == ["input_token=EAA%2Bx%3D", proof(appToken)] + time)
        #expect(inspection.header("Authorization") == "Bearer 123|s3cret")
        #expect(profile.parameters == ["fields=id%2Cpicture%7Burl%7D", proof("EAA+x=")] + time)
        #expect(profile.header("Authorization") == "Bearer EAA+x=")
    }

    @Test("the questions are under way at the same time")
    func atOnce() async throws {
        let meeting = Meeting(of: 2)
        let graph = try FakeGraph { request in
            meeting.wait() ? FakeGraph.good(request) : .reply(400, "{}")
        }
        defer { graph.stop() }
        #expect(await graph.evidence().words == "token, user")
    }

    @Test(
        "T-15: a text that is no token is refused before anything is sent",
        arguments: [
            "", "x&fields=id,email&access_token=y", "x\r\nX-A: b", "x#", "x y", "x|y", "é",
            String(repeating: "a", count: 8193), String(repeating: "+", count: 8192),
        ]
    )
    func noToken(text: String) async throws {
        let graph = try FakeGraph()
        defer { graph.stop() }
        #expect(await graph.evidence(token: text).words == "credential_invalid, credential_invalid")
        #expect(graph.server.requests.isEmpty)
    }

    @Test("T-15: a token with reserved characters arrives as exactly one parameter")
    func reserved() async throws {
        let graph = try FakeGraph()
        defer { graph.stop() }
        let token = "a-._~+/=Z9"
        _ = await graph.evidence(token: token)
        let inspection = try #require(graph.server.requests.first { $0.path.hasSuffix("debug_token") })
        let values = inspection.parameters.filter { $0.hasPrefix("input_token") }.map {
            $0.dropFirst("input_token=".count).removingPercentEncoding
        }
        #expect(values == [token])
    }

    @Test(
        "T-02: without a secret that can be sent nothing is asked",
        arguments: ["", " ", "a b", "a\r\nb", "é", "a\u{0}"]
    )
    func noSecret(secret: String) async throws {
        let graph = try FakeGraph()
        defer { graph.stop() }
        #expect(await graph.evidence(secret: secret).words == "provider_misconfigured, provider_misconfigured")
        #expect(graph.server.requests.isEmpty)
    }

    @Test("more fields than a URL holds are the mapping's fault")
    func tooManyFields() async throws {
        let graph = try FakeGraph()
        defer { graph.stop() }
        let fields = String(repeating: "f,", count: 10_000)
        #expect(await graph.evidence(fields: fields).words == "mapping_invalid, mapping_invalid")
    }

    @Test("after the deadline nothing is asked")
    func afterDeadline() async throws {
        let graph = try FakeGraph()
        defer { graph.stop() }
        #expect(await graph.evidence(deadline: .zero).words == "provider_timeout, provider_timeout")
        #expect(graph.server.requests.isEmpty)
    }

    // MARK: Retries

    @Test("F-07: a connection that breaks is repeated once for each question, in either order of trouble")
    func reset() async throws {
        let script = Script(["/v25.0/debug_token": [.reset], "/v25.0/me": [.reset]])
        let graph = try FakeGraph { script.next($0) }
        defer { graph.stop() }
        #expect(await graph.evidence().words == "token, user")
        #expect(graph.count == 4)
    }

    @Test("the login has two repetitions, and both may go to one question")
    func budget() async throws {
        let trouble = LoopbackServer.Answer.reply(503, #"{"error":{"code":2,"is_transient":true,"message":"x"}}"#)
        for (path, failures, words, count) in [
            ("/v25.0/me", 2, "token, user", 4), ("/v25.0/me", 3, "token, provider_unavailable", 4),
            ("/v25.0/debug_token", 3, "provider_unavailable, user", 4),
        ] {
            let script = Script([path: Array(repeating: trouble, count: failures)])
            let graph = try FakeGraph { script.next($0) }
            defer { graph.stop() }
            #expect(await graph.evidence().words == words)
            #expect(graph.count == count)
        }
    }

    @Test(
        "nothing is repeated that a repetition does not change",
        arguments: [
            (#"{"error":{"code":190,"error_subcode":463,"message":"x"}}"#, "credential_expired"),
            (
                #"{"error":{"code":100,"message":"(#100) Tried accessing nonexisting field (bio) on node type (User)"}}"#,
                "mapping_invalid"
            ),
            (#"{"error":{"code":4,"message":"x"}}"#, "provider_rate_limited"), ("false", "provider_bad_reply"),
        ]
    )
    func notRepeated(body: String, word: String) async throws {
        let graph = try FakeGraph { $0.path.hasSuffix("/me") ? .reply(400, body) : FakeGraph.good($0) }
        defer { graph.stop() }
        #expect(await graph.evidence().words == "token, \(word)")
        #expect(graph.count == 2)
    }

    @Test("a question is not repeated when the other one has decided the login")
    func decided() async throws {
        let trouble = LoopbackServer.Answer.reply(500, "<html>")
        let refused = LoopbackServer.Answer.reply(
            200,
            #"{"data":{"is_valid":false,"error":{"code":190,"subcode":460,"message":"x"}}}"#
        )
        let other = LoopbackServer.Answer.reply(
            400,
            #"{"error":{"code":100,"message":"The App_id in the input_token did not match the Viewing App"}}"#
        )
        for (inspection, words) in [
            (refused, "token, provider_unavailable"), (other, "other app, provider_unavailable"),
        ] {
            let graph = try FakeGraph { $0.path.hasSuffix("/me") ? trouble : inspection }
            defer { graph.stop() }
            #expect(await graph.evidence().words == words)
            #expect(graph.count == 2)
        }
    }

    @Test("a refused /me does not spare debug_token its repetition, since the token may be of another app of ours")
    func inspectionAfterRefusal() async throws {
        let other = LoopbackServer.Answer.reply(
            400,
            #"{"error":{"code":100,"message":"The App_id in the input_token did not match the Viewing App"}}"#
        )
        let script = Script(["/v25.0/debug_token": [.reply(500, ""), other]])
        let graph = try FakeGraph {
            $0.path.hasSuffix("/me")
                ? .reply(
                    400,
                    #"{"error":{"code":100,"message":"Invalid appsecret_proof provided in the API argument"}}"#
                ) : script.next($0)
        }
        defer { graph.stop() }
        #expect(await graph.evidence().words == "other app, provider_misconfigured")
        #expect(graph.count == 3)
    }

    @Test("F-04: with a tenth of all calls failing 98.5 % of the logins succeed, for at most 1.15 times the calls")
    func tenth() async throws {
        let dice = NIOLockedValueBox(SplitMix(state: 4))
        let graph = try FakeGraph { request in
            dice.withLockedValue { $0.next() % 10 } == 0
                ? .reply(500, #"{"error":{"code":1,"message":"An unknown error has occurred."}}"#)
                : FakeGraph.good(request)
        }
        defer { graph.stop() }
        let outcomes = await graph.logins(1000, atOnce: 50)
        #expect(outcomes["token, user", default: 0] >= 985)
        #expect(graph.count <= 2300)
    }

    // MARK: Usage and secrets

    @Test("the usage that Graph tells slows the background down for that app of that application")
    func usage() async throws {
        let graph = try FakeGraph { request in
            guard case .reply(let status, let body, _) = FakeGraph.good(request) else { return .reset }
            return .reply(
                status,
                body,
                headers: [#"X-App-Usage: {"call_count":28,"total_time":25,"total_cputime":50}"#]
            )
        }
        defer { graph.stop() }
        _ = await graph.evidence()
        let (app, application) = (try #require(ProviderAppID("123")), try #require(ApplicationID("demo")))
        #expect(graph.client.backgroundPace(of: app, application: application) == .slow)
        #expect(graph.client.backgroundPace(of: app, application: try #require(ApplicationID("other"))) == .full)
    }

    @Test("T-110: neither token nor secret is in any failure", arguments: [200, 400, 500])
    func canary(status: Int) async throws {
        let graph = try FakeGraph { request in
            .reply(
                status,
                #"{"error":{"code":190,"message":"Malformed access token EAACANARY","type":"EAACANARY x","fbtrace_id":"\#(request.target)"}}"#
            )
        }
        defer { graph.stop() }
        let text = String(reflecting: await graph.evidence(token: "EAACANARY", secret: "SECRETCANARY"))
        #expect(!text.contains("CANARY"))
    }
}
