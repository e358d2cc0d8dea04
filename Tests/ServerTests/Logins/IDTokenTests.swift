import Domain
import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Limited Login",
    .serialized,
    .deployed(
        Document(
            options: #""keepTokens": true"#,
            properties: """
                {"givenName": {"type": "STRING"}, "birthday": {"type": "DATE"}, "city": {"type": "STRING"},
                 "ageFrom": {"type": "INT"}, "avatar": {"type": "TEXT"}, "gender": {"type": "STRING"}}
                """,
            mapping: """
                {"email": "email", "name": "name", "first_name": "givenName", "birthday": "birthday", "location.name": "city",
                 "age_range.min": "ageFrom", "gender": "gender"}
                """
        ),
        Document(application: "family", apps: ["1000000001", "1000000002"], mapping: #"{"name": "name"}"#),
        environment: ["FEDERATION_LOG_LEVEL": "trace"]
    )
)
struct IDTokenTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private static let profile = """
        {"email": "ann.canary@example.com", "name": "Ann Canary", "first_name": "Ann", "birthday": "05/17/1990", "gender": "female",
         "age_range": {"min": 21}, "location": {"id": "8", "name": "Berlin, Germany"},
         "permissions": {"public_profile": "granted", "email": "granted", "user_birthday": "granted", "user_gender": "granted",
                         "user_age_range": "granted", "user_location": "granted"}}
        """

    @Test("one person by access token and by ID token: one row, the same properties by one mapping")
    func samePerson() async throws {
        let ann = try await deployment.newcomer(Self.profile)
        let byToken = try await deployment.loggedIn(ann)
        let byIDToken = try deployment.signedIn(
            try await deployment.login(idToken: try await deployment.idToken(of: ann, #""nonce": "n""#), nonce: "n")
        )
        #expect(byToken.created && !byIDToken.created)
        #expect(byIDToken.objectID == byToken.objectID)
        #expect(byIDToken.user["updated"] == .null, "nothing changed")
        for property in ["email", "name", "givenName", "birthday", "city", "ageFrom", "gender"] {
            #expect(byIDToken.user[property] == byToken.user[property])
            #expect(byIDToken.user[property]?.isNull == false)
        }
        let identities = try await deployment.rows(
            "select to_jsonb(i) from demo.identities i where object_id = '\(byToken.objectID)'"
        )
        #expect(identities.count == 1)
        #expect(identities[0]["subject"]?.string == ann.id)
        // The list from the access token stays: the claims reveal only some permissions.
        #expect(identities[0]["granted_scopes"]?.array?.contains(.string("user_location")) == true)
        #expect(identities[0]["token_kind"]?.string == "id")
    }

    @Test("a person may come by an ID token first, as accessToken, and a claim reaches a client's own mapping")
    func firstLogin() async throws {
        let ann = try await deployment.newcomer(Self.profile)
        let token = try await deployment.idToken(of: ann)
        let body = #"{"accessToken": "\#(token)"}"#
        let created = try deployment.signedIn(try await deployment.login(body: body))
        #expect(created.created && created.user["givenName"]?.string == "Ann")
        #expect(try await deployment.get("users/isvalidusertoken/\(created.token)").text == "true")
        let again = try await deployment.loggedIn(ann)
        #expect(again.objectID == created.objectID && !again.created)
    }

    @Test("permissions whose claims are absent are named, and mapped values that were there stay")
    func missingPermissions() async throws {
        let ann = try await deployment.newcomer(Self.profile)
        _ = try await deployment.loggedIn(ann)
        let token = try await deployment.idToken(of: ann, #""scopes": ["public_profile"]"#)
        let signedIn = try deployment.signedIn(try await deployment.login(idToken: token))
        let missing = signedIn.reply.header("Federation-Missing-Permissions") ?? ""
        #expect(
            Set(missing.split(separator: ", ")) == [
                "email", "user_birthday", "user_location", "user_age_range", "user_gender",
            ]
        )
        #expect(signedIn.user["city"]?.string == "Berlin, Germany")
    }

    @Test("of several Facebook apps the audience decides, and an app that the client names is the only one")
    func severalApps() async throws {
        let family = deployment.documents[1]
        let ann = try await deployment.newcomer(app: "1000000002")
        func token() async throws -> String { try await deployment.idToken(of: ann, #""app": "1000000002""#) }
        let signedIn = try deployment.signedIn(try await deployment.login(idToken: try await token(), to: family))
        let app = try await deployment.value(
            "select provider_app from family.identities where object_id = '\(signedIn.objectID)'"
        )
        #expect(app == "1000000002")
        let named = try await deployment.login(
            idToken: try await token(),
            #""appId": "1000000002""#,
            to: family
        )
        #expect(named.status == 200)
        try await deployment.expectNothingWritten {
            let other = try await deployment.login(idToken: try await token(), #""appId": "1000000001""#, to: family)
            try expectProblem(other, "credential_invalid")
            try expectProblem(try await deployment.login(idToken: try await token()), "credential_invalid")
        }
    }

    @Test("no call leaves the service for an ID token once the keys are known")
    func noCalls() async throws {
        let visitors = [try await deployment.newcomer(), try await deployment.newcomer()]
        _ = try deployment.signedIn(
            try await deployment.login(idToken: try await deployment.idToken(of: visitors[0]))
        )
        var tokens: [String] = []
        for visitor in visitors {
            for _ in 0..<10 { tokens.append(try await deployment.idToken(of: visitor)) }
        }
        let before = try await deployment.simulator.counter("requests")
        for token in tokens { _ = try deployment.signedIn(try await deployment.login(idToken: token)) }
        #expect(try await deployment.simulator.counter("requests") == before)
    }

    @Test("T-110: an ID token is nowhere in the clear afterwards, whether it counted or not")
    func canary() async throws {
        let ann = try await deployment.newcomer(Self.profile)
        let good = try await deployment.idToken(of: ann, #""nonce": "canary-nonce""#)
        let signedIn = try deployment.signedIn(
            try await deployment.login(
                idToken: good,
                nonce: "canary-nonce",
                headers: [("Idempotency-Key", "canary-key")]
            )
        )
        var texts = [good, signedIn.token]
        for members in [
            #""claims": {"iss": "https://canary.example"}"#, #""signWith": "broken""#, #""header": {"alg": "canary"}"#,
            #""header": {"kid": "canary"}"#, #""nonce": "canary""#,
        ] {
            let token = try await deployment.idToken(of: ann, members)
            try expectProblem(try await deployment.login(idToken: token, nonce: "other"), "credential_invalid")
            texts.append(token)
        }
        try expectProblem(try await deployment.login(idToken: good), "credential_replayed")
        let log = deployment.service.process.standardOutput
        #expect(log.contains("ID token, check 2"), "there is a log to look through")
        for text in texts.flatMap({ $0.split(separator: ".") }).filter({ $0.utf8.count > 30 })
        where !text.hasPrefix("eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCIs") {
            #expect(!log.contains(text))
            let places = try await deployment.database.psql(
                "select place from canaries('\(text)', 'canary-nonce', 'canary-key') as place"
            )
            #expect(places == [], "\(places)")
        }
    }
}
