import Curl
import Domain
@testable import Facebook
import Foundation
import NIOConcurrencyHelpers

/// A Graph client and the server that it uses as Graph.
final class FakeGraph: Sendable {
    let server: LoopbackServer
    let client: GraphClient

    init(
        callTimeout: Duration = .seconds(30),
        _ answer: @escaping @Sendable (LoopbackServer.Request) -> LoopbackServer.Answer = good
    ) throws {
        server = try LoopbackServer(answer)
        client = GraphClient(
            curl: try CurlClient(),
            configuration: try GraphConfiguration(
                baseURL: server.url,
                callTimeout: callTimeout,
                connectTimeout: max(callTimeout, .seconds(1))
            )
        )
    }

    var count: Int { server.requests.count }

    func stop() { server.stop() }

    @Sendable static func good(_ request: LoopbackServer.Request) -> LoopbackServer.Answer {
        request.path.hasSuffix("/me")
            ? .reply(200, #"{"id":"10150000000000001","name":"Ann"}"#)
            : .reply(
                200,
                #"{"data":{"app_id":"123","type":"USER","expires_at":0,"is_valid":true,"scopes":["public_profile"],"user_id":"10150000000000001"}}"#
            )
    }

    func evidence(
        token: String = "EAAx",
        app: String = "123",
        secret: String = "s3cret",
        application: String = "demo",
        fields: String = "id,name",
        form: ProofForm = .timed,
        deadline: Duration = .seconds(60)
    ) async -> AccessTokenEvidence {
        guard let id = ProviderAppID(app), let application = ApplicationID(application) else {
            preconditionFailure("ids of this test")
        }
        let app = ProviderApp(id: id, secret: Secret(secret))
        return await client.evidence(
            token: Secret(token),
            app: app,
            settings: FacebookSettings(enabled: true, graphVersion: "v25.0", proof: form, apps: [app]),
            fields: fields,
            application: application,
            deadline: .now + deadline,
            now: 1_700_000_000
        )
    }

    /// Repeats a login until Graph has received a request.
    func untilAsked() async {
        let before = count
        while !Task.isCancelled, count == before { _ = await evidence() }
    }

    /// Runs many logins and returns how often each outcome came.
    func logins(_ total: Int, atOnce: Int) async -> [String: Int] {
        await withTaskGroup(of: String.self) { group in
            var outcomes: [String: Int] = [:]
            for index in 0..<total {
                if index >= atOnce, let outcome = await group.next() { outcomes[outcome, default: 0] += 1 }
                group.addTask { await self.evidence().words }
            }
            for await outcome in group { outcomes[outcome, default: 0] += 1 }
            return outcomes
        }
    }
}

/// A script of responses for each path, in order; afterwards the good response.
final class Script: Sendable {
    private let answers: NIOLockedValueBox<[String: [LoopbackServer.Answer]]>

    init(_ answers: [String: [LoopbackServer.Answer]]) { self.answers = NIOLockedValueBox(answers) }

    func next(_ request: LoopbackServer.Request) -> LoopbackServer.Answer {
        answers.withLockedValue { answers in
            guard let answer = answers[request.path]?.first else { return FakeGraph.good(request) }
            answers[request.path]?.removeFirst()
            return answer
        }
    }
}

/// A barrier at which threads wait for each other.
final class Meeting: @unchecked Sendable {
    private let condition = NSCondition()
    private var missing: Int

    init(of count: Int) { missing = count }

    /// Waits for all threads and returns whether all have come within 20 seconds.
    func wait() -> Bool {
        condition.lock()
        defer { condition.unlock() }
        missing -= 1
        condition.broadcast()
        let end = Date(timeIntervalSinceNow: 20)
        while missing > 0 {
            guard condition.wait(until: end) else { return false }
        }
        return true
    }
}

/// Polls a condition every 20 ms and returns whether it held within a minute.
func eventually(_ condition: () async -> Bool) async -> Bool {
    let end = ContinuousClock.now + .seconds(60)
    while ContinuousClock.now < end {
        if await condition() { return true }
        try? await Task.sleep(for: .milliseconds(20))
    }
    return false
}

extension AccessTokenEvidence {
    /// The results of both calls, one word each.
    var words: String {
        let inspection =
            switch inspection {
            case .token: "token"
            case .otherApp: "other app"
            case .failed(let failure): failure.reason.rawValue
            }
        let profile =
            switch profile {
            case .user: "user"
            case .failed(let failure): failure.reason.rawValue
            }
        return "\(inspection), \(profile)"
    }

    var failure: Failure? {
        guard case .failed(let failure) = inspection else { return nil }
        return failure
    }
}

extension FacebookSettings {
    init(enabled: Bool, graphVersion: String, proof: ProofForm, apps: [ProviderApp]) {
        var options = FacebookOptions()
        options.graphVersion = graphVersion
        options.proof = proof
        self.init(enabled: enabled, apps: apps, options: options)
    }
}
