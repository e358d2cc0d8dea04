import Domain
@testable import Facebook
import Foundation
import NIOConcurrencyHelpers
import Testing

@Suite("When Graph does not work")
struct GraphTroubleTests {
    @Test("F-02: whoever is under way when Graph hangs ends in a time-out, whoever comes later is told at once")
    func hang() async throws {
        // Long enough that all logins are under way before the first one ends.
        let graph = try FakeGraph(callTimeout: .seconds(4)) { _ in .silence }
        defer { graph.stop() }
        let outcomes = await graph.logins(200, atOnce: 200)
        #expect(outcomes == ["provider_timeout, provider_timeout": 200])
        #expect(graph.count == 400)
        // A call that waited would end in a timeout.
        #expect(await graph.evidence().words == "provider_unavailable, provider_unavailable")
        #expect(graph.count == 400)
    }

    @Test("F-03: while every call fails, the calls do not outnumber the logins once the breaker has acted")
    func outage() async throws {
        let graph = try FakeGraph { _ in .reply(502, "<html>Bad gateway</html>") }
        defer { graph.stop() }
        let outcomes = await graph.logins(500, atOnce: 1)
        #expect(outcomes == ["provider_unavailable, provider_unavailable": 500])
        #expect(graph.count <= 100)
    }

    @Test("an outage of one application's app leaves the others alone, and a probe ends it")
    func recovery() async throws {
        let isBroken = NIOLockedValueBox(true)
        let graph = try FakeGraph { isBroken.withLockedValue { $0 } ? .reply(500, "") : FakeGraph.good($0) }
        defer { graph.stop() }
        _ = await graph.logins(10, atOnce: 1)
        isBroken.withLockedValue { $0 = false }
        #expect(await graph.evidence().words == "provider_unavailable, provider_unavailable")
        #expect(await graph.evidence(application: "other").words == "token, user")
        #expect(await graph.evidence(app: "456").words == "token, user")
        #expect(await eventually { await graph.evidence().words == "token, user" })
        #expect(await graph.logins(20, atOnce: 20) == ["token, user": 20])
    }

    @Test("a probe whose caller goes away is released")
    func cancelledProbe() async throws {
        let mode = NIOLockedValueBox(LoopbackServer.Answer.reply(500, ""))
        let graph = try FakeGraph { _ in mode.withLockedValue { $0 } }
        defer { graph.stop() }
        _ = await graph.logins(10, atOnce: 1)
        let before = graph.count
        mode.withLockedValue { $0 = .silence }
        let probe = Task { await graph.untilAsked() }
        #expect(await eventually { graph.count == before + 2 })
        probe.cancel()
        _ = await probe.value
        #expect(
            await eventually {
                _ = await graph.evidence(deadline: .milliseconds(200)); return graph.count == before + 4
            }
        )
    }

    @Test("F-10: a rate limit is passed on with its time, and nobody else asks")
    func rateLimit() async throws {
        let graph = try FakeGraph { _ in
            .reply(
                400,
                #"{"error":{"code":4,"message":"(#4) Application request limit reached"}}"#,
                headers: ["Retry-After: 30"]
            )
        }
        defer { graph.stop() }
        let first = await graph.evidence()
        #expect(first.words == "provider_rate_limited, provider_rate_limited")
        #expect(first.failure?.retryAfter == 30)
        #expect(await graph.logins(100, atOnce: 10) == ["provider_rate_limited, provider_rate_limited": 100])
        #expect(graph.count == 2)
    }

    @Test(
        "F-10: limits of single people, however many in a row, are passed on and shut nobody else out",
        arguments: [("me", "token, provider_rate_limited"), ("debug_token", "provider_rate_limited, user")]
    )
    func userLimits(path: String, words: String) async throws {
        let limit = LoopbackServer.Answer.reply(
            400,
            #"{"error":{"code":17,"message":"(#17) User request limit reached"}}"#
        )
        let script = Script(["/v25.0/\(path)": Array(repeating: limit, count: 40)])
        let graph = try FakeGraph { script.next($0) }
        defer { graph.stop() }
        for _ in 0..<40 { #expect(await graph.evidence().words == words) }
        #expect(graph.count == 80, "no question is repeated, and none left out")
        #expect(await graph.evidence().words == "token, user")
    }

    @Test("F-11: bad tokens are the users' own trouble, however many come")
    func badTokens() async throws {
        let graph = try FakeGraph { request in
            request.path.hasSuffix("/me")
                ? .reply(400, #"{"error":{"code":190,"message":"The access token could not be decrypted"}}"#)
                : .reply(
                    200,
                    #"{"data":{"is_valid":false,"scopes":[],"error":{"code":190,"message":"The access token could not be decrypted"}}}"#
                )
        }
        defer { graph.stop() }
        #expect(await graph.logins(100, atOnce: 10) == ["token, credential_invalid": 100])
        #expect(graph.count == 200)
    }

    @Test("F-13: one good answer and one failure accept nobody", arguments: ["/me", "debug_token"])
    func half(failing: String) async throws {
        let graph = try FakeGraph { $0.path.hasSuffix(failing) ? .reply(500, "") : FakeGraph.good($0) }
        defer { graph.stop() }
        let app = ProviderApp(id: try #require(ProviderAppID("123")), secret: Secret("s3cret"))
        guard
            case .refused(let failure) = AccessTokenCheck.verify(
                evidence: await graph.evidence(),
                app: app,
                of: .facebook,
                now: 1_700_000_000
            )
        else {
            Issue.record("not refused")
            return
        }
        #expect(failure.reason == .providerUnavailable)
    }

    @Test("F-06: a reply beyond the limit is cut off")
    func large() async throws {
        let name = String(repeating: "a", count: 300_000)
        let graph = try FakeGraph {
            $0.path.hasSuffix("/me") ? .reply(200, #"{"id":"1","name":"\#(name)"}"#) : FakeGraph.good($0)
        }
        defer { graph.stop() }
        #expect(await graph.logins(20, atOnce: 1) == ["token, provider_bad_reply": 20])
        #expect(graph.count == 40)
    }

    @Test("nobody there to connect to is told as such")
    func refused() async throws {
        let graph = try FakeGraph()
        graph.stop()
        #expect(
            await eventually {
                await graph.evidence(application: UUID().uuidString).words
                    == "provider_unavailable, provider_unavailable"
            }
        )
    }
}
