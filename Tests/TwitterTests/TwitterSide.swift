import Curl
import Domain
import GraphSimulator
import NIOConcurrencyHelpers
@testable import Twitter

/// A Twitter client and the simulated Twitter that it calls.
struct TwitterSide: Sendable {
    static let consumer = GraphSimulator.TwitterConsumer(key: "consumer-key", secret: "consumer+secret&1")
    static let other = GraphSimulator.TwitterConsumer(key: "other-key", secret: "other-secret")
    static let path = "1.1/account/verify_credentials.json"

    let simulator: GraphSimulator
    let client: TwitterClient
    let token: GraphSimulator.TwitterToken
    private let offset: NIOLockedValueBox<Int64>

    /// Runs a closure with a new Twitter on which Ann and Bob have accounts.
    ///
    /// The timeouts are many times those of the service: on a busy machine a call ends in time, and is retried.
    static func run(
        callTimeout: Duration = .seconds(30),
        path: String = "",
        _ body: (TwitterSide) async throws -> Void
    ) async throws {
        let simulator = try await GraphSimulator.start(
            GraphSimulator.Dataset(
                twitter: .init(
                    consumers: [consumer, other],
                    people: [
                        .init("ann", id: "370773112", fields: ["name": "Ann Müller", "email": "ann@example.com"]),
                        .init("bob"),
                    ],
                    tokens: [.init(person: "ann", name: "ann")]
                )
            )
        )
        do {
            let offset = NIOLockedValueBox<Int64>(0)
            let client = TwitterClient(
                curl: try CurlClient(),
                configuration: try TwitterConfiguration(baseURL: simulator.url + path, callTimeout: callTimeout),
                clock: WallClock { (Int64(simulator.now) + offset.withLockedValue { $0 }) * 1000 },
                random: RandomSource { count in (0..<count).map { _ in .random(in: .min ... .max) } }
            )
            guard let token = simulator.twitterToken("ann") else { preconditionFailure("a token of the dataset") }
            try await body(TwitterSide(simulator: simulator, client: client, token: token, offset: offset))
            await simulator.stop()
        } catch {
            await simulator.stop()
            throw error
        }
    }

    private init(
        simulator: GraphSimulator,
        client: TwitterClient,
        token: GraphSimulator.TwitterToken,
        offset: NIOLockedValueBox<Int64>
    ) {
        self.simulator = simulator
        self.client = client
        self.token = token
        self.offset = offset
    }

    /// Sets the client's clock wrong.
    func shiftClock(bySeconds seconds: Int64) {
        offset.withLockedValue { $0 = seconds }
    }

    var requests: [GraphSimulator.LoggedRequest] { simulator.requests() }

    /// Verifies Ann's token by default.
    func verify(
        token: String? = nil,
        secret: String? = nil,
        consumer: GraphSimulator.TwitterConsumer = consumer,
        application: String = "demo",
        deadline: Duration = .seconds(60)
    ) async -> Result<TwitterUser, Failure> {
        do throws(Failure) {
            return .success(
                try await client.verifyCredentials(
                    accessToken: Secret(token ?? self.token.text),
                    accessTokenSecret: Secret(secret ?? self.token.secret),
                    consumerKey: consumer.key,
                    consumerSecret: Secret(consumer.secret),
                    application: Self.id(application),
                    deadline: .now + deadline
                )
            )
        } catch {
            return .failure(error)
        }
    }

    func reverseAuth(
        consumer: GraphSimulator.TwitterConsumer = consumer,
        deadline: Duration = .seconds(60)
    ) async -> Result<String, Failure> {
        do throws(Failure) {
            return .success(
                try await client.reverseAuthParameters(
                    consumerKey: consumer.key,
                    consumerSecret: Secret(consumer.secret),
                    application: Self.id("demo"),
                    deadline: .now + deadline
                )
            )
        } catch {
            return .failure(error)
        }
    }

    private static func id(_ text: String) -> ApplicationID {
        guard let id = ApplicationID(text) else { preconditionFailure("an id of this test") }
        return id
    }
}

extension Result where Failure == Domain.Failure {
    var failure: Domain.Failure? {
        guard case .failure(let failure) = self else { return nil }
        return failure
    }

    var reason: Domain.Failure.Reason? { failure?.reason }

    var value: Success? { try? get() }
}
