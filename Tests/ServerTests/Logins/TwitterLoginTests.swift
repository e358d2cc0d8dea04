import Domain
import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Login with Twitter",
    .serialized,
    .deployed(
        Document(
            consumers: ["consumerOne", "consumerTwo"],
            properties: #"{"handle": {"type": "STRING", "clientMappable": true}, "avatar": {"type": "TEXT"}}"#,
            twitterMapping: #"{"name": "name", "email": "email", "profile_image_url_https": "avatar"}"#
        ),
        Document(application: "without")
    )
)
struct TwitterLoginTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    @Test("a person is created at the first login and updated at the next, by the mapping for Twitter")
    func login() async throws {
        let ann = try await deployment.tweeter(
            #"{"name": "Ann", "screen_name": "ann", "email": "ann.canary@example.com", "profile_image_url_https": "https://x/a"}"#
        )
        let mapping = #""fieldsMapping": {"screen_name": "handle"}"#
        let first = try deployment.signedIn(try await deployment.login(ann, mapping))
        #expect(first.created)
        #expect(first.user["socialAccount"]?.string == "TWITTER")
        #expect(first.user["name"]?.string == "Ann" && first.user["handle"]?.string == "ann")
        #expect(first.user["email"]?.string == "ann.canary@example.com")
        #expect(first.user["avatar"]?.string == "https://x/a")
        try await deployment.simulator.ask(
            "PATCH",
            "twitter/people/\(ann.key)",
            #"{"fields": {"name": "Ann Other"}}"#
        )
        let second = try deployment.signedIn(try await deployment.login(ann))
        #expect(!second.created && second.objectID == first.objectID)
        #expect(second.user["name"]?.string == "Ann Other")
        #expect(
            try await deployment.value(
                "select provider || ' ' || provider_app || ' ' || subject from demo.identities where subject = '\(ann.id)'"
            ) == "twitter global \(ann.id)"
        )
        let verified = try await deployment.value(
            "select email_verified from demo.users where object_id = '\(first.objectID)'"
        )
        #expect(verified == "f", "the provider's word verifies no address")
    }

    @Test("the token and its secret may come as one text with a colon between them, by every path of client SDKs")
    func spellings() async throws {
        let ann = try await deployment.tweeter()
        let joined = #"{"accessToken": "\#(ann.token):\#(ann.secret)", "fieldsMapping": {}}"#
        for path in ["users/social/twitter/login", "users/social/Twitter/sdk/login", "users/oauth/TWITTER/login"] {
            let reply = try await deployment.send("POST", path, joined)
            #expect(reply.status == 200, "\(path): \(reply.text)")
        }
        let simple = try await deployment.send(
            "POST",
            "register",
            #"{"access_type": 2, "passkey": "ann", "passcode": "\#(ann.token):\#(ann.secret)"}"#
        )
        #expect(simple.status == 200 && simple.text.contains(#""result":"existed""#), "\(simple.text)")
    }

    @Test("T-120: a token counts towards our own consumer keys alone, and each of them is asked")
    func consumers() async throws {
        let second = try await deployment.tweeter(consumer: "consumerTwo")
        #expect(try await deployment.login(second).status == 200)
        try await deployment.simulator.put(consumer: "foreign")
        let foreign = try await deployment.tweeter(consumer: "foreign")
        let before = try await deployment.value("select count(*) from demo.users")
        try expectProblem(try await deployment.login(foreign), "credential_invalid")
        try expectProblem(
            try await deployment.login(second, #""appId": "foreign""#),
            "provider_not_configured"
        )
        #expect(try await deployment.value("select count(*) from demo.users") == before)
    }

    @Test("T-40: the same digits at Facebook and at Twitter are two people")
    func sameDigits() async throws {
        let ann = try await deployment.newcomer()
        let facebook = try await deployment.loggedIn(ann)
        let other = try await deployment.tweeter()
        try await deployment.database.psql(
            "update demo.identities set subject = '\(other.id)' where subject = '\(ann.id)'"
        )
        let twitter = try deployment.signedIn(try await deployment.login(other))
        #expect(twitter.created && twitter.objectID != facebook.objectID)
    }

    @Test("what cannot be is told by a reason of its own")
    func refusals() async throws {
        let ann = try await deployment.tweeter()
        func post(_ body: String, _ path: String = "users/social/twitter/login") async throws -> HTTPReply {
            try await deployment.send("POST", path, body)
        }
        for body in [
            "{}", #"{"accessToken": ""}"#, #"{"accessToken": "\#(ann.token)"}"#, #"{"accessToken": "a:b:c"}"#,
            #"{"accessToken": ":b"}"#, #"{"accessTokenSecret": "\#(ann.secret)"}"#,
        ] {
            try expectProblem(try await post(body), "credential_missing")
        }
        try expectProblem(try await post(#"{"idToken": "x"}"#), "credential_wrong_kind")
        try expectProblem(try await post(#"{\#(ann.credential), "code": "x"}"#), "credential_ambiguous")
        try expectProblem(
            try await post(#"{"accessToken": "\#(ann.token)", "accessTokenSecret": "wrong"}"#),
            "credential_invalid"
        )
        try await deployment.simulator.ask("PATCH", "twitter/people/\(ann.key)", #"{"state": "locked"}"#)
        try expectProblem(try await deployment.login(ann), "user_action_required")
        try expectProblem(
            try await deployment.login(ann, to: deployment.documents[1]),
            "provider_not_configured"
        )
    }

    @Test("T-84: a provider that nobody knows is no path, before anything is asked of the database")
    func unknownProviders() async throws {
        for name in ["google", "twitter2", "TWITTERS", "password", "%00", String(repeating: "a", count: 300)] {
            let reply = try await deployment.send("POST", "users/social/\(name)/login", #"{"accessToken": "x"}"#)
            #expect([404, 400].contains(reply.status), "\(name): \(reply.text)")
        }
    }

    @Test("the parameters of reverse auth are for our consumer key and hold no secret")
    func reverseAuth() async throws {
        let reply = try await deployment.send("POST", "users/oauth/twitter/reverse_auth", "{}")
        let object = try #require(JSON.object(reply.text), "\(reply.text)")
        #expect(reply.status == 200 && object["consumerKey"]?.string == "consumerOne")
        #expect(object["parameters"]?.string?.hasPrefix("OAuth ") == true)
        #expect(!reply.text.contains(Canary.mark))
        try expectProblem(
            try await deployment.send("POST", "users/oauth/twitter/reverse_auth", to: deployment.documents[1]),
            "provider_not_configured"
        )
    }
}
