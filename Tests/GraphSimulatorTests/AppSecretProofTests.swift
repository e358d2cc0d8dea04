import GraphSimulator
import Testing

@Suite("appsecret_proof in both forms")
struct AppSecretProofTests {
    /// The vectors of public SDKs: secret, token, time and proof.
    static let vectors: [(String, String, Int?, String)] = [
        ("shhhhh!is.my.secret", "foo_token", nil, "796ba0d8a6b339e476a7b166a9e8ac0a395f7de736dc37de5f2f4397f5854eb8"),
        ("foo_secret", "123|foo_secret", nil, "de753c58fd58b03afca2340bbaeb4ecf987b5de4c09e39a63c944dd25efbc234"),
        ("foo_secret", "long_token", nil, "7e91300ea91be4166282611d4fc700b473466f3ea2981dafbf492fc096995bf1"),
        ("test", "test", nil, "88cd2108b5347d973cf39cdf9053d7dd42704876d8c9a9bd8e2d168259d3ddf7"),
        (
            "PRIE7$oG2uS-Yf17kEnUEpi5hvW/#AFo", "helloWorld", nil,
            "cb064987988fcd658470d6a24f1c68f6d7982c80ab9efb08cb8c84ef88fd03e1"
        ),
        (
            "342314a43e", "Just a short Test message", nil,
            "322db18096e205ee3b3fef0a540e5566ac41f7631d5b84add759081814583897"
        ),
        ("foo_secret", "foo_token", 1_700_000_000, "3a7876b8be7ac378e1d8f0c9aa6f39831d7601f7a96a6d11b72aebf8acffcb23"),
    ]

    @Test("known vectors", arguments: vectors)
    func vector(_ secret: String, _ token: String, _ time: Int?, _ proof: String) {
        #expect(GraphSimulator.proof(token: token, time: time, secret: secret) == proof)
    }

    private enum Setting: CaseIterable {
        case optional
        case required
        case ignored
    }

    /// A kind of proof in the query of a request with Ann's token.
    enum Given: String, CaseIterable, Sendable {
        case none, empty, right, wrong, ofOtherSecret, upperCase
        case timed, timedAtEdge, timedTooOld, timedTooNew, classicWithTime, timeNotANumber
    }

    private func query(_ given: Given, _ token: String) -> String {
        let now = SampleWorld.now
        func proof(_ time: Int?) -> String {
            GraphSimulator.proof(token: token, time: time, secret: SampleWorld.secret)
        }
        func timed(_ time: Int) -> String { "&appsecret_proof=\(proof(time))&appsecret_time=\(time)" }
        switch given {
        case .none: return ""
        case .empty: return "&appsecret_proof="
        case .right: return "&appsecret_proof=\(proof(nil))"
        case .wrong: return "&appsecret_proof=00"
        case .ofOtherSecret: return "&appsecret_proof=\(GraphSimulator.proof(token: token, secret: "other"))"
        case .upperCase: return "&appsecret_proof=\(proof(nil).uppercased())"
        case .timed: return timed(now)
        case .timedAtEdge: return timed(now - 300)
        case .timedTooOld: return timed(now - 301)
        case .timedTooNew: return timed(now + 301)
        case .classicWithTime: return "&appsecret_proof=\(proof(nil))&appsecret_time=\(now)"
        case .timeNotANumber: return "&appsecret_proof=\(proof(nil))&appsecret_time=soon"
        }
    }

    @Test("right proofs pass, wrong ones never, missing ones only where not required", arguments: Given.allCases)
    func enforcement(_ given: Given) async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann").text
            for setting in Setting.allCases {
                simulator.update(app: SampleWorld.app) { app in
                    app.requireProof = setting == .required
                    app.ignoreProof = setting == .ignored
                }
                let reply = try await Wire.get(simulator, "/me?access_token=\(token)\(query(given, token))")
                let error: String? =
                    switch (given, setting) {
                    case (_, .ignored), (.right, _), (.timed, _), (.timedAtEdge, _): nil
                    case (.none, .optional), (.empty, .optional): nil
                    case (.none, .required), (.empty, .required):
                        "API calls from the server require an appsecret_proof argument"
                    default: "Invalid appsecret_proof provided in the API argument"
                    }
                guard let error else {
                    #expect(reply.status == 200, "\(setting)")
                    continue
                }
                #expect(reply.status == 400, "\(setting)")
                #expect(
                    reply.text.withoutTrace
                        == #"{"error":{"message":"\#(error)","type":"GraphMethodException","code":100,"fbtrace_id":"A…"}}"#
                )
            }
        }
    }

    @Test("with an app token the proof is over the whole of id|secret")
    func appToken() async throws {
        try await SampleWorld.run { simulator in
            simulator.update(app: SampleWorld.app) { $0.requireProof = true }
            let input = try simulator.mint(.long, person: "ann").text
            let target = "/debug_token?input_token=\(input)&access_token=\(SampleWorld.encodedAppToken)"
            let without = try await Wire.get(simulator, target)
            #expect(without.status == 400)
            let proof = GraphSimulator.proof(token: SampleWorld.appToken, secret: SampleWorld.secret)
            let with = try await Wire.get(simulator, target + "&appsecret_proof=\(proof)")
            #expect(with.status == 200)
        }
    }

    @Test("our proof on another app's token is refused")
    func foreignToken() async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.otherApp, person: "ann").text
            let proof = GraphSimulator.proof(token: token, secret: SampleWorld.secret)
            let reply = try await Wire.get(simulator, "/me?access_token=\(token)&appsecret_proof=\(proof)")
            #expect(reply.status == 400)
            #expect(reply.text.contains("Invalid appsecret_proof provided in the API argument"))
        }
    }
}
