import Domain
import GraphSimulator
import Testing
@testable import Twitter

@Suite("The request-token leg of reverse auth")
struct ReverseAuthTests {
    private static let path = "oauth/request_token"

    @Test("Twitter's text is handed on as it came")
    func parameters() async throws {
        try await TwitterSide.run { twitter in
            let text = try await twitter.reverseAuth().get()
            #expect(text.hasPrefix("OAuth oauth_nonce="))
            #expect(text.contains(#"oauth_consumer_key="consumer-key""#))
            let request = try #require(twitter.requests.first)
            #expect(request.method == "POST")
            #expect(String(decoding: request.body, as: UTF8.self) == "x_auth_mode=reverse_auth")
            #expect(request.header("authorization")?.contains("oauth_token") == false)
        }
    }

    @Test("a consumer that Twitter does not know, or with a wrong secret, is the operator's to repair")
    func refused() async throws {
        try await TwitterSide.run { twitter in
            #expect(
                await twitter.reverseAuth(consumer: .init(key: "unknown", secret: "s")).reason == .providerMisconfigured
            )
            let wrong = GraphSimulator.TwitterConsumer(key: TwitterSide.consumer.key, secret: "wrong")
            #expect(await twitter.reverseAuth(consumer: wrong).reason == .providerMisconfigured)
        }
    }

    @Test("it is asked once, whatever happens")
    func once() async throws {
        try await TwitterSide.run { twitter in
            twitter.simulator.add(.init(.interrupt(.body, .reset), path: Self.path, count: 1))
            #expect(await twitter.reverseAuth().reason == .providerUnavailable)
            #expect(twitter.requests.count == 1)
            #expect(await twitter.reverseAuth().value != nil)
        }
    }

    @Test(
        "what is no such text, or one for another consumer, is not handed on",
        arguments: [
            "", "oauth_token=a&oauth_token_secret=b", #"OAuth oauth_consumer_key="other-key""#,
            "OAuth oauth_consumer_key=\"consumer-key\"\r\nX: y", #"Bearer oauth_consumer_key="consumer-key""#,
            #"OAuth oauth_consumer_key="consumer-key""# + String(repeating: "a", count: 4096),
        ]
    )
    func odd(text: String) async throws {
        try await TwitterSide.run { twitter in
            twitter.simulator.add(.init(.reply(status: 200, headers: [], body: Array(text.utf8)), path: Self.path))
            #expect(await twitter.reverseAuth().reason == .providerBadReply)
        }
    }

    @Test(
        "F-10: a limit of request tokens, which anybody with an API key can bring about, keeps nobody from logging in"
    )
    func limit() async throws {
        try await TwitterSide.run { twitter in
            let limit = GraphSimulator.Fault.Effect.reply(status: 429, headers: [], body: [])
            twitter.simulator.add(.init(limit, path: "oauth/request_token", count: 1))
            for _ in 1...2 { #expect(await twitter.reverseAuth().reason == .providerRateLimited) }
            #expect(twitter.requests.count == 1)
            #expect(await twitter.verify().value != nil)
        }
    }
}
