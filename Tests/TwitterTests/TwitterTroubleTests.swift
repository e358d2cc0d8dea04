import Domain
import GraphSimulator
import Providers
import Testing
@testable import Twitter

@Suite("When Twitter does not work")
struct TwitterTroubleTests {
    @Test("decision D13: a passing failure is asked once more, with a nonce and a signature of its own")
    func repetition() async throws {
        try await TwitterSide.run { twitter in
            twitter.simulator.add(.init(.interrupt(.body, .reset), path: TwitterSide.path, count: 1))
            #expect(await twitter.verify().value?.subject.text == "370773112")
            let headers = twitter.requests.compactMap { $0.header("authorization") }
            #expect(headers.count == 2)
            #expect(Set(headers).count == 2)
            let nonces = headers.compactMap { $0.split(separator: "oauth_nonce=\"").last?.prefix(32) }
            #expect(Set(nonces).count == 2)
            #expect(Set(twitter.requests.map(\.connection)).count == 2)
        }
    }

    @Test("each question has a connection of its own: on one that has died libcurl would repeat it with its nonce")
    func connections() async throws {
        try await TwitterSide.run { twitter in
            for _ in 0..<3 { #expect(await twitter.verify().value != nil) }
            #expect(Set(twitter.requests.map(\.connection)).count == 3)
        }
    }

    @Test("a failure that stays is told after the second time, whatever form it has")
    func outage() async throws {
        let faults: [(GraphSimulator.Fault.Effect, Failure.Reason, Int)] = [
            (.html502, .providerUnavailable, 2), (.error(.init(code: 131)), .providerUnavailable, 2),
            (.error(.init(code: 130)), .providerUnavailable, 2),
            (.interrupt(.request, .reset), .providerUnavailable, 2),
            (.interrupt(.headers, .close), .providerUnavailable, 2), (.empty, .providerBadReply, 1),
            (.bareFalse, .providerBadReply, 1), (.raw(Array("hello\r\n\r\n".utf8)), .providerBadReply, 1),
            (.redirect(to: "https://evil.example/"), .providerBadReply, 1), (.damage(.truncated), .providerBadReply, 1),
            (.damage(.wrongTypes), .providerBadReply, 1), (.damage(.duplicateKeys), .providerBadReply, 1),
            (.damage(.idMissing), .providerBadReply, 1), (.damage(.dataNull), .providerBadReply, 1),
            (.damage(.deep(100_000)), .providerBadReply, 1), (.damage(.extraKeys(100_000)), .providerBadReply, 1),
            (.damage(.merged(["id_str": "370773113"])), .providerBadReply, 1),
            (.damage(.merged(["id_str": "0370773112"])), .providerBadReply, 1),
            (.damage(.merged(["id": "370773112"])), .providerBadReply, 1),
            (.damage(.merged(["id_str": "0", "id": 0])), .providerBadReply, 1),
            (.damage(.merged(["id_str": "-1", "id": -1])), .providerBadReply, 1),
            (.huge(bytes: 1 << 20), .providerBadReply, 1), (.endless, .providerBadReply, 1),
            (.gzipBomb(bytes: 100 << 20), .providerBadReply, 1),
        ]
        for (effect, reason, requests) in faults {
            try await TwitterSide.run { twitter in
                twitter.simulator.add(.init(effect, path: TwitterSide.path))
                #expect(await twitter.verify().reason == reason, "\(effect)")
                #expect(twitter.requests.count == requests, "\(effect)")
            }
        }
    }

    @Test("a call that hangs ends by its limit and is not repeated; one without time left is not begun")
    func hang() async throws {
        try await TwitterSide.run(callTimeout: .seconds(1)) { twitter in
            twitter.simulator.add(.init(.interrupt(.request, .hang), path: TwitterSide.path))
            let started = ContinuousClock.now
            #expect(await twitter.verify(deadline: .seconds(60)).reason == .providerTimeout)
            // The timeout of the call ended the wait, not the deadline of the login.
            #expect(ContinuousClock.now - started < .seconds(20))
            #expect(twitter.requests.count == 1)
            #expect(await twitter.verify(deadline: .milliseconds(5)).reason == .providerTimeout)
            #expect(twitter.requests.count == 1)
        }
    }

    @Test("F-03: failures in a row open the circuit breaker of this application, and a probe closes it")
    func breaker() async throws {
        try await TwitterSide.run { twitter in
            twitter.simulator.add(.init(.html502, path: TwitterSide.path))
            for _ in 0..<CircuitBreaker.longestRun { #expect(await twitter.verify().reason == .providerUnavailable) }
            let asked = twitter.requests.count
            #expect(await twitter.verify().reason == .providerUnavailable)
            #expect(twitter.requests.count == asked)
            twitter.simulator.removeFaults()
            #expect(await twitter.verify(application: "other").value != nil)
            let end = ContinuousClock.now + .seconds(60)
            while await twitter.verify().value == nil {
                try #require(ContinuousClock.now < end)
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }

    @Test("F-11: bad tokens never open the circuit breaker")
    func badTokens() async throws {
        try await TwitterSide.run { twitter in
            for _ in 0..<20 { #expect(await twitter.verify(secret: "wrong").reason == .credentialInvalid) }
            #expect(await twitter.verify().value != nil)
        }
    }

    @Test("F-10: a limit is passed on with its time; one person's does not shut out the others")
    func limits() async throws {
        try await TwitterSide.run { twitter in
            let limit = GraphSimulator.Fault.Effect.rateLimit(code: 88, usage: .init(), status: nil, retryAfter: 300)
            twitter.simulator.add(.init(limit, path: TwitterSide.path, token: twitter.token.text))
            let failure = await twitter.verify().failure
            #expect(failure?.reason == .providerRateLimited)
            #expect(failure?.retryAfter.map { (290...300).contains($0) } == true)
            for _ in 0..<10 { #expect(await twitter.verify().reason == .providerRateLimited) }
            let bob = try twitter.simulator.mint(.init(person: "bob"))
            #expect(await twitter.verify(token: bob.text, secret: bob.secret).value != nil)
        }
    }

    @Test("a limit of the app opens the circuit breaker until it ends")
    func appLimit() async throws {
        try await TwitterSide.run { twitter in
            twitter.simulator.add(
                .init(.reply(status: 429, headers: [("Retry-After", "30")], body: []), path: TwitterSide.path, count: 1)
            )
            #expect(await twitter.verify().failure?.retryAfter == 30)
            #expect(await twitter.verify().reason == .providerRateLimited)
            #expect(twitter.requests.count == 1)
        }
    }

    @Test("whoever goes away is not answered, and nothing is held against Twitter")
    func cancelled() async throws {
        try await TwitterSide.run { twitter in
            twitter.simulator.add(.init(.interrupt(.request, .hang), path: TwitterSide.path, count: 20))
            for number in 1...12 {
                let login = Task { await twitter.verify() }
                _ = await twitter.simulator.requests(path: TwitterSide.path, atLeast: number)
                login.cancel()
                #expect(await login.value.reason == .overloaded)
            }
            twitter.simulator.removeFaults()
            #expect(await twitter.verify().value != nil)
        }
    }
}
