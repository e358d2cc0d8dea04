import Domain
import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Registration",
    .serialized,
    .deployed(
        Document(
            settings: #"{"registration": {"maxPerSourcePerHour": 1000}}"#,
            properties: """
                {"nick": {"type": "STRING", "clientMappable": true}, "credits": {"type": "INT"},
                 "plan": {"type": "STRING", "required": true, "clientMappable": true}}
                """,
            mapping: #"[{"from": "name", "to": "plan", "default": "free"}]"#
        ),
        Document(application: "closed", settings: #"{"registration": {"enabled": false}}"#),
        Document(application: "careful", settings: #"{"registration": {"confirmEmail": true}}"#),
        Document(application: "few", settings: #"{"registration": {"maxPerSourcePerHour": 3}}"#),
        Document(application: "small", settings: #"{"registration": {"maxPerSourcePerHour": 3, "maxPerHour": 4}}"#),
        Document(application: "loose", settings: #"{"dynamicProperties": true}"#)
    )
)
struct RegistrationTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private func document(_ application: String) throws -> Document {
        try #require(deployment.documents.first { $0.application == application })
    }

    @Test(
        "T-37, T-50, T-51: nothing of the system's can be registered, in whatever spelling, nor what is not open to clients"
    )
    func systemProperties() async throws {
        let user = try await deployment.register(
            "mallory.canary@example.com",
            """
            "plan": "free", "credits": 1000000, "userStatus": "DISABLED", "ownerId": "x", "created": 1, "updated": 1,
            "lastLogin": 1, "socialAccount": "FACEBOOK", "accountType": "FACEBOOK", "oAuthIdentities": {"a": 1},
            "roles": ["Editor"], "user-token": "x", "___class": "Admins", "email_verified": true, "emailVerified": true,
            "EMAILVERIFIED": true, "isEmailConfirmed": true, "object_id": "x", "OBJECTID": "x", "password_": "x"
            """
        )
        let row = try #require(try await deployment.row(of: user["objectId"]?.string ?? ""))
        #expect(row["user_status"]?.string == "ENABLED")
        #expect(row["email_verified"]?.bool == false)
        #expect(row["social_account"]?.string == "BACKENDLESS")
        #expect(row["credits"] == .null && row["last_login"] == .null)
        #expect(row["dynamic"] == .object([:]))
        #expect(user["ownerId"] == user["objectId"])
        #expect(
            user["password"] == nil && user["user-token"] == nil && user["emailVerified"] == nil
        )
        #expect(try await deployment.value("select count(*) from demo.user_roles") == "0")
    }

    @Test("T-37: where undeclared properties are kept, the system's are not among them, and names come up to the limit")
    func dynamic() async throws {
        let loose = try document("loose")
        let user = try await deployment.register(
            "loose.canary@example.com",
            #""shoe": 42, "extra": {"a": [1]}, "emailVerified": true, "Email_Verified": true, "userToken": "x", "Object_Id": "x", "currentPassword": "x""#,
            to: loose
        )
        #expect(user["shoe"]?.integer == 42)
        let row = try #require(try await deployment.row(of: user["objectId"]?.string ?? "", in: "loose"))
        #expect(row["dynamic"] == .object(["shoe": .integer(42), "extra": .object(["a": .array([.integer(1)])])]))
        let many = (0..<99).map { #""p\#($0)": 1"# }.joined(separator: ", ")
        let reply = try await deployment.send(
            "POST",
            "users/register",
            #"{"email": "many.canary@example.com", "password": "\#(Deployment.password)", \#(many)}"#,
            to: loose
        )
        try expectProblem(reply, "mapping_target_not_allowed")
        #expect(try await deployment.value("select count(*) from loose.users") == "1", "nothing is half written")
    }

    @Test("T-51: an objectId makes no user, and is refused unless it is the session's own guest")
    func chosenID() async throws {
        let guest = try #require(
            JSON.object(try await deployment.send("POST", "users/register/guest", to: try document("loose")).text)
        )
        let (id, token) = (guest["objectId"]?.string ?? "", guest["user-token"]?.string ?? "")
        let loose = try document("loose")
        _ = try await deployment.register("own.canary@example.com", to: loose)
        let own = try await deployment.logIn("own.canary@example.com", to: loose)
        let attempts: [(String, String?)] = [
            (#""role:admin""#, token), (#""\#(id)""#, nil), (#""\#(id)""#, "x"), ("7", token),
            (#"{"$ne": null}"#, token),
            (#""\#(own.objectID)""#, token), (#""\#(id)""#, own.token), (#""\#(own.objectID)""#, own.token),
        ]
        for (objectID, session) in attempts {
            let reply = try await deployment.send(
                "POST",
                "users/register",
                #"{"email": "new.canary@example.com", "password": "\#(Deployment.password)", "objectId": \#(objectID)}"#,
                token: session,
                to: loose
            )
            try expectProblem(reply, "guest_invalid", "\(objectID)")
        }
        #expect(try await deployment.row(of: id, in: "loose")?["user_status"]?.string == "GUEST")
        #expect(
            try await deployment.value("select count(*) from loose.passwords where login = 'new.canary@example.com'")
                == "0"
        )
    }

    @Test("a guest does not get a login that is another's, and stays a guest")
    func guestTakesLogin() async throws {
        let loose = try document("loose")
        _ = try await deployment.register("first.canary@example.com", to: loose)
        let guest = try deployment.signedIn(try await deployment.send("POST", "users/register/guest", to: loose))
        let body =
            #"{"email": "First.canary@example.com", "password": "\#(Deployment.password)", "objectId": "\#(guest.objectID)"}"#
        let taken = try await deployment.send("POST", "users/register", body, token: guest.token, to: loose)
        try expectProblem(taken, "login_taken")
        #expect(try await deployment.row(of: guest.objectID, in: "loose")?["user_status"]?.string == "GUEST")
    }

    @Test("a required property that is missing is named, and nothing is written")
    func required() async throws {
        let reply = try await deployment.send(
            "POST",
            "users/register",
            #"{"email": "plan.canary@example.com", "password": "\#(Deployment.password)"}"#
        )
        try expectProblem(reply, "property_missing")
        #expect(JSON.object(reply.text)?["errorData"]?.object?["property"]?.string == "plan")
        #expect(try await deployment.value("select count(*) from demo.passwords where login like 'plan.%'") == "0")
    }

    @Test("of ten registrations of one address at once one makes the user")
    func race() async throws {
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for index in 0..<10 {
                let email = index.isMultiple(of: 2) ? "race.canary@example.com" : "RACE.canary@example.com"
                let body = #"{"email": "\#(email)", "password": "\#(Deployment.password)", "plan": "free"}"#
                group.addTask { try await deployment.send("POST", "users/register", body).status }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        // On a busy machine some wait too long for a hash.
        #expect(statuses.count { $0 == 200 } == 1, "\(statuses)")
        #expect(statuses.allSatisfy { [200, 409, 503].contains($0) } && statuses.contains(409), "\(statuses)")
        #expect(
            try await deployment.value("select count(*) from demo.users where lower(email) = 'race.canary@example.com'")
                == "1"
        )
    }

    @Test("an application that takes no accounts says so, to guests, too")
    func closed() async throws {
        let closed = try document("closed")
        let body = #"{"email": "c.canary@example.com", "password": "\#(Deployment.password)"}"#
        try expectProblem(
            try await deployment.send("POST", "users/register", body, to: closed),
            "registration_disabled"
        )
        try expectProblem(
            try await deployment.send("POST", "users/register/guest", to: closed),
            "registration_disabled"
        )
    }

    @Test("where addresses are confirmed, a new account waits for that")
    func confirmation() async throws {
        let careful = try document("careful")
        let user = try await deployment.register("w.canary@example.com", to: careful)
        #expect(user["userStatus"]?.string == "EMAIL_CONFIRMATION_PENDING")
        let login = #"{"login": "w.canary@example.com", "password": "\#(Deployment.password)"}"#
        try expectProblem(try await deployment.send("POST", "users/login", login, to: careful), "email_unconfirmed")
    }

    @Test(
        "T-83: an account that takes one address after the other to find out whose they are is stopped like who registers"
    )
    func addressesTried() async throws {
        let few = try document("few")
        let user = try await deployment.register("seeker.canary@example.com", to: few)
        let session = try await deployment.logIn("seeker.canary@example.com", to: few)
        var statuses: [Int] = []
        for number in 1...4 {
            let body = #"{"email": "found\#(number).canary@example.com"}"#
            let path = "users/\(user["objectId"]?.string ?? "")"
            let reply = try await deployment.send("PUT", path, body, token: session.token, to: few)
            statuses.append(reply.status)
        }
        #expect(statuses.first == 200 && statuses.last == 429, "\(statuses)")
        try await deployment.database.psql("delete from few.attempts; delete from few.users")
    }

    @Test("one network address makes as many accounts in an hour as the operator says, guests among them")
    func limit() async throws {
        let few = try document("few")
        _ = try await deployment.register("one.canary@example.com", to: few)
        for _ in 0..<2 { #expect(try await deployment.send("POST", "users/register/guest", to: few).status == 200) }
        let refused = try await deployment.send("POST", "users/register/guest", to: few)
        try expectProblem(refused, "rate_limited")
        #expect((refused.header("Retry-After").flatMap { Int($0) } ?? 0) > 3000)
        let body = #"{"email": "two.canary@example.com", "password": "\#(Deployment.password)"}"#
        try expectProblem(try await deployment.send("POST", "users/register", body, to: few), "rate_limited")
        let elsewhere = HTTPClient(port: deployment.client.port, source: "127.0.0.9")
        #expect(try await elsewhere.send("POST", deployment.path("users/register/guest", of: few)).status == 200)
        #expect(try await deployment.value("select count(*) from few.users") == "4")
    }

    @Test("from however many network addresses, an application gets as many accounts in an hour as the operator says")
    func limitInAll() async throws {
        let small = try document("small")
        func make(from source: Int) async throws -> HTTPReply {
            let client = HTTPClient(port: deployment.client.port, source: "127.0.0.\(source)")
            return try await client.send("POST", deployment.path("users/register/guest", of: small))
        }
        // A source that has reached its own limit does not use up the application's limit.
        var statuses: [Int] = []
        for _ in 1...6 { statuses.append(try await make(from: 21).status) }
        #expect(statuses == [200, 200, 200, 429, 429, 429])
        #expect(try await make(from: 22).status == 200)
        let refused = try await make(from: 23)
        try expectProblem(refused, "rate_limited")
        #expect((refused.header("Retry-After").flatMap { Int($0) } ?? 0) > 3000)
        let body = #"{"email": "late.canary@example.com", "password": "\#(Deployment.password)"}"#
        try expectProblem(try await deployment.send("POST", "users/register", body, to: small), "rate_limited")
        #expect(try await deployment.value("select count(*) from small.users") == "4")
    }
}
