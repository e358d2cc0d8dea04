import Domain
import Encodings
import GraphSimulator
import Testing
@testable import Twitter

@Suite("Whose token it is, asked of Twitter")
struct VerifyCredentialsTests {
    @Test("the person's id and profile, with the e-mail address when the app may read it")
    func person() async throws {
        try await TwitterSide.run { twitter in
            let user = try await twitter.verify().get()
            #expect(user.subject.text == "370773112")
            #expect(user.profile["name"]?.string == "Ann Müller")
            #expect(user.profile["email"]?.string == "ann@example.com")
            #expect(user.profile["status"] == nil)
            #expect(user.profile["entities"] == nil)
            var consumer = TwitterSide.consumer
            consumer.email = false
            twitter.simulator.put(consumer)
            let hidden = try await twitter.verify().get()
            #expect(hidden.profile["email"] == nil)
            let request = try #require(twitter.requests.first)
            #expect(request.uri.hasSuffix("?include_email=true&include_entities=false&skip_status=true"))
            #expect(!request.uri.contains(twitter.token.text))
        }
    }

    @Test("a base URL with a path in front is signed with it")
    func prefix() async throws {
        try await TwitterSide.run(path: "/prefix/") { twitter in
            _ = await twitter.verify()
            #expect(twitter.requests.first?.uri.hasPrefix("/prefix/1.1/account/verify_credentials.json?") == true)
        }
    }

    @Test("an id beyond what JavaScript can hold comes through digit by digit")
    func longID() async throws {
        try await TwitterSide.run { twitter in
            let token = try twitter.simulator.mint(.init(person: "bob"))
            let user = try await twitter.verify(token: token.text, secret: token.secret).get()
            #expect(user.subject.text.count == 19)
            #expect(token.text.hasPrefix(user.subject.text + "-"))
        }
    }

    @Test("T-120: a token of another consumer, a withdrawn one, an unknown one, a wrong secret")
    func refused() async throws {
        try await TwitterSide.run { twitter in
            let foreign = try twitter.simulator.mint(.init(person: "ann", consumer: TwitterSide.other.key))
            let outcome = await twitter.verify(token: foreign.text, secret: foreign.secret)
            #expect(outcome.reason == .credentialInvalid)
            #expect(outcome.failure?.details["twitterCode"]?.integer == 89)
            #expect(
                await twitter.verify(token: foreign.text, secret: foreign.secret, consumer: TwitterSide.other).value
                    != nil
            )
            #expect(await twitter.verify(token: "1-unknown").reason == .credentialInvalid)
            let wrong = await twitter.verify(secret: "wrong")
            #expect(wrong.reason == .credentialInvalid)
            #expect(wrong.failure?.details["twitterCode"]?.integer == 32)
            twitter.simulator.revoke(twitterToken: "ann")
            #expect(await twitter.verify().reason == .credentialInvalid)
        }
    }

    @Test(
        "what cannot be a token is not sent",
        arguments: ["", "a b", "a\r\nX: y", "é", String(repeating: "a", count: 513)]
    )
    func unsendable(text: String) async throws {
        try await TwitterSide.run { twitter in
            #expect(await twitter.verify(token: text).reason == .credentialInvalid)
            #expect(await twitter.verify(secret: text).reason == .credentialInvalid)
            let consumer = GraphSimulator.TwitterConsumer(key: text, secret: "s")
            #expect(await twitter.verify(consumer: consumer).reason == .providerMisconfigured)
            #expect(twitter.requests.isEmpty)
        }
    }

    @Test("a clock that is more than five minutes wrong is the operator's to repair")
    func clock() async throws {
        try await TwitterSide.run { twitter in
            twitter.shiftClock(bySeconds: -299)
            #expect(await twitter.verify().value != nil)
            twitter.shiftClock(bySeconds: 302)
            let outcome = await twitter.verify()
            #expect(outcome.reason == .providerMisconfigured)
            #expect(outcome.failure?.details["twitterCode"]?.integer == 135)
        }
    }

    @Test("accounts that Twitter has locked or suspended, and apps without access")
    func states() async throws {
        try await TwitterSide.run { twitter in
            for state in [GraphSimulator.TwitterPerson.State.suspended, .locked] {
                twitter.simulator.put(GraphSimulator.TwitterPerson("ann", id: "370773112", state: state))
                #expect(await twitter.verify().reason == .userActionRequired, "\(state)")
            }
            var consumer = TwitterSide.consumer
            consumer.access = false
            twitter.simulator.put(consumer)
            #expect(await twitter.verify().failure?.details["twitterCode"]?.integer == 453)
            consumer.suspended = true
            twitter.simulator.put(consumer)
            let outcome = await twitter.verify()
            #expect(outcome.reason == .providerMisconfigured)
            #expect(outcome.failure?.details["twitterCode"]?.integer == 416)
        }
    }

    @Test("decision D11: no failure tells a token or a secret, neither to people nor to the log")
    func silence() async throws {
        try await TwitterSide.run { twitter in
            let echo = twitter.token.text + twitter.token.secret + TwitterSide.consumer.secret
            let bodies = [
                #"{"errors":[{"code":89,"message":"\#(echo)"}]}"#, #"{"errors":[{"code":9999,"message":"\#(echo)"}]}"#,
                #"{"id":"\#(echo)","id_str":"\#(echo)"}"#, echo,
            ]
            for body in bodies {
                for status in [200, 401, 500] {
                    twitter.simulator.removeFaults()
                    twitter.simulator.add(.init(.reply(status: status, headers: [], body: Array(body.utf8))))
                    let failure = try #require(await twitter.verify().failure)
                    let told = "\(failure) \(failure.cause ?? "") \(JSONValue.object(failure.details).text)"
                    for secret in [twitter.token.text, twitter.token.secret, TwitterSide.consumer.secret] {
                        #expect(!told.contains(secret), "\(status) \(body)")
                    }
                }
            }
        }
    }
}
