import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

private let mails = MailsFolder()

@Suite(
    "Where new users are invited",
    .serialized,
    .deployed(
        Document(
            consumers: ["ck1"],
            options: #""returnUrls": ["https://app.example.com/done"], "redirectUris": ["https://app.example.com/cb"]"#,
            settings: """
                {"newUsers": "invited", "roles": ["editors"], "dynamicProperties": true, "registration": {"confirmEmail": true},
                 "allowedOrigins": ["https://page.example.com"], "secondFactor": {"policy": "off", "sms": {"countries": ["+4179"]}}}
                """,
            properties: #"{"city": {"type": "STRING"}, "points": {"type": "INT"}}"#,
            mapping: #"{"name": "name", "email": "email"}"#
        ),
        Document(application: "other", keyVariable: "OTHER_API_KEY", settings: #"{"newUsers": "invited"}"#),
        environment: mails.environment
    )
)
struct InvitedUserTests {
    private static let list = "applications/demo/invitations"
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    /// Creates an invitation without a mail and returns the token of its link.
    private func invite(_ members: String = "", as email: String? = nil) async throws -> String {
        let email = email ?? "x\(UInt64.random(in: 0 ... .max)).canary@example.com"
        let made = try await deployment.admin().ask(
            "POST",
            Self.list,
            #"{"email": "\#(email)", "send": false\#(members)}"#
        )
        let link = try #require(made["link"]?.string)
        let start = "https://users.example.com/demo/invitation?token="
        try #require(link.hasPrefix(start))
        return String(link.dropFirst(start.count))
    }

    private func open() async throws -> Int {
        try await deployment.admin().all("\(Self.list)?state=open").count
    }

    private func register(_ email: String, _ members: String = "") async throws -> HTTPReply {
        let body = #"{"email": "\#(email)", "password": "\#(Deployment.password)"\#(members)}"#
        return try await deployment.send("POST", "users/register", body)
    }

    private func page(_ token: String) async throws -> HTTPReply {
        try await deployment.client.get("/demo/invitation?token=\(token)", headers: [("Accept-Language", "en")])
    }

    private func submit(_ fields: [(String, String)]) async throws -> HTTPReply {
        try await deployment.client.send(
            "POST",
            "/demo/invitation",
            headers: [("Content-Type", "application/x-www-form-urlencoded")],
            body: Array(Address.encode(fields.map { (name: $0.0, value: $0.1) }).utf8)
        )
    }

    @Test("nobody becomes a user without an invitation, in any way in, and nothing is written")
    func refused() async throws {
        let stranger = try await deployment.newcomer(#"{"name": "Ann"}"#)
        let tweeter = try await deployment.tweeter()
        let idToken = try await deployment.idToken(of: stranger)
        let code = try await deployment.code(of: stranger, redirectURI: "https://app.example.com/cb")
        try await deployment.expectNothingWritten(except: ["demo.attempts", "demo.single_use"]) {
            try expectProblem(try await deployment.login(stranger), "invitation_required")
            let brings = try await deployment.login(stranger, mapping: #"{"id": "brought"}"#)
            try expectProblem(brings, "invitation_required")
            try expectProblem(try await deployment.login(tweeter), "invitation_required")
            try expectProblem(try await deployment.login(idToken: idToken), "invitation_required")
            let byCode = #"{"code": "\#(code)", "redirectUri": "https://app.example.com/cb"}"#
            try expectProblem(try await deployment.login(body: byCode), "invitation_required")
            try expectProblem(try await register("new.canary@example.com"), "invitation_required")
            try expectProblem(try await deployment.send("POST", "users/register/guest"), "invitation_required")
            let simple = #"{"access_type": "1", "passkey": "ann", "passcode": "\#(stranger.token)"}"#
            try expectProblem(try await deployment.send("POST", "register", simple), "invitation_required")
            let popup = try await deployment.login(
                through: "{}",
                headers: [("Origin", "https://page.example.com")],
                as: stranger
            )
            #expect(JSONValue.object(try handedOver(popup).message).text.contains("invitation_required"))
            let bad = #", "invitation": "\#(String(repeating: "A", count: 43))""#
            let wrong = #"{"accessToken": "\#(stranger.token)"\#(bad)}"#
            try expectProblem(try await deployment.login(body: wrong), "invitation_invalid")
            try expectProblem(try await register("new.canary@example.com", bad), "invitation_invalid")
        }
    }

    @Test("every way in takes an invitation by its token, once")
    func waysIn() async throws {
        let person = try await deployment.newcomer(#"{"name": "Ann"}"#)
        let token = try await invite(#", "roles": ["editors"], "properties": {"city": "Bern", "points": 3}"#)
        let body = #"{"accessToken": "\#(person.token)", "invitation": "\#(token)"}"#
        let user = try deployment.signedIn(try await deployment.login(body: body))
        #expect(user.created && user.user["city"]?.string == "Bern" && user.user["points"]?.integer == 3)
        #expect(user.user["name"]?.string == "Ann")
        let roles = try await deployment.value(
            "select string_agg(role, ',') from demo.user_roles where object_id = '\(user.objectID)'"
        )
        #expect(roles == "editors")
        let other = try await deployment.newcomer()
        let again = #"{"accessToken": "\#(other.token)", "invitation": "\#(token)"}"#
        try expectProblem(try await deployment.login(body: again), "invitation_invalid")

        let limited = try await deployment.newcomer()
        let idToken = try await deployment.idToken(of: limited)
        let byIDToken = #"{"idToken": "\#(idToken)", "invitation": "\#(try await invite())"}"#
        #expect(try deployment.signedIn(try await deployment.login(body: byIDToken)).created)

        let coded = try await deployment.newcomer()
        let code = try await deployment.code(of: coded, redirectURI: "https://app.example.com/cb")
        let byCode = """
            {"code": "\(code)", "redirectUri": "https://app.example.com/cb", "invitation": "\(try await invite())"}
            """
        #expect(try deployment.signedIn(try await deployment.login(body: byCode)).created)

        let tweeter = try await deployment.tweeter()
        let byTwitter = try await deployment.login(tweeter, #""invitation": "\#(try await invite())""#)
        #expect(try deployment.signedIn(byTwitter).created)

        let guest = try deployment.signedIn(
            try await deployment.send("POST", "users/register/guest", #"{"invitation": "\#(try await invite())"}"#)
        )
        let guests = try await deployment.newcomer()
        let claim = """
            {"accessToken": "\(guests.token)", "guestUser": {"objectId": "\(guest.objectID)", "user-token": "\(guest.token)"}}
            """
        #expect(try deployment.signedIn(try await deployment.login(body: claim)).objectID == guest.objectID)

        let simple = try await deployment.newcomer()
        let fields = """
            {"access_type": "1", "passkey": "x", "passcode": "\(simple.token)", "invitation": "\(try await invite())"}
            """
        #expect(try await deployment.send("POST", "register", fields).status == 201)
    }

    @Test("a login through the server carries it to its end, by a popup and by a redirect")
    func dialogs() async throws {
        let first = try await deployment.newcomer()
        let popup = try await deployment.login(
            through: #"{"invitation": "\#(try await invite())"}"#,
            headers: [("Origin", "https://page.example.com")],
            as: first
        )
        #expect(JSONValue.object(try handedOver(popup).message).text.contains("user-token"))
        let second = try await deployment.newcomer()
        let end = try await deployment.login(through: #"{"invitation": "\#(try await invite())"}"#, as: second)
        let location = try #require(end.header("Location"), "\(end.text)")
        let code = try #require(try Address(location)["loginCode"])
        #expect(try deployment.signedIn(try await deployment.redeem(code)).created)
        let third = try await deployment.newcomer()
        let bare = try #require(try await deployment.login(as: third).header("Location"))
        let late = try #require(try Address(bare)["loginCode"])
        let exchange = #"{"loginCode": "\#(late)", "invitation": "\#(try await invite())"}"#
        #expect(try deployment.signedIn(try await deployment.login(body: exchange)).created)
    }

    @Test("D6: an equal address is no invitation, of a provider's profile or of a registration")
    func equalAddress() async throws {
        let email = "equal.canary@example.com"
        let token = try await invite(as: email)
        let person = try await deployment.newcomer(#"{"email": "\#(email)"}"#)
        try expectProblem(try await deployment.login(person), "invitation_required")
        try expectProblem(try await register(email), "invitation_required")
        #expect(try await deployment.value("select count(*) from demo.users where email = '\(email)'") == "0")
        let taken = try deployment.signedIn(
            try await deployment.login(body: #"{"accessToken": "\#(person.token)", "invitation": "\#(token)"}"#)
        )
        let row = try await deployment.row(of: taken.objectID)
        #expect(row?["email_verified"] == .bool(false), "what a provider tells of an address stays unverified")
    }

    @Test("users log in whatever they present, and use nothing")
    func users() async throws {
        let person = try await deployment.newcomer()
        let first = try await invite()
        let body = #"{"accessToken": "\#(person.token)", "invitation": "\#(first)"}"#
        let user = try deployment.signedIn(try await deployment.login(body: body))
        let second = try await invite(#", "roles": ["editors"]"#)
        let before = try await open()
        for token in [first, second, "nonsense"] {
            let again = #"{"accessToken": "\#(person.token)", "invitation": "\#(token)"}"#
            let signedIn = try deployment.signedIn(try await deployment.login(body: again))
            #expect(signedIn.objectID == user.objectID && !signedIn.created)
        }
        #expect(try await open() == before)
        let roles = "select count(*) from demo.user_roles where object_id = '\(user.objectID)'"
        #expect(try await deployment.value(roles) == "0")
    }

    @Test("of ten people at once with one link one becomes a user")
    func race() async throws {
        let token = try await invite()
        var people: [Visitor] = []
        for _ in 0..<10 { people.append(try await deployment.newcomer()) }
        let replies = try await withThrowingTaskGroup(of: HTTPReply.self) { group in
            for person in people {
                let body = #"{"accessToken": "\#(person.token)", "invitation": "\#(token)"}"#
                group.addTask { try await deployment.login(body: body) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(replies.filter { $0.status == 200 }.count == 1)
        for reply in replies where reply.status != 200 { try expectProblem(reply, "invitation_invalid") }
        let subjects = people.map { "'\($0.id)'" }.joined(separator: ", ")
        let count = "select count(*) from demo.identities where subject in (\(subjects))"
        #expect(try await deployment.value(count) == "1")
    }

    @Test("one that names an identity is taken by the login of that identity, without a token")
    func identity() async throws {
        let (person, stranger) = (try await deployment.newcomer(), try await deployment.newcomer())
        let made = try await deployment.admin().ask(
            "POST",
            Self.list,
            #"{"identity": {"provider": "facebook", "subject": "\#(person.id)"}, "roles": ["editors"]}"#
        )
        #expect(made["link"] == nil && made["identity"]?.object?["appId"]?.string == "1234567890")
        try expectProblem(try await deployment.login(stranger), "invitation_required")
        let user = try await deployment.loggedIn(person, mapping: #"{"id": "alsoBrought"}"#)
        #expect(user.created)
        let read = try await deployment.admin().get("\(Self.list)/\(made["id"]?.string ?? "")")
        #expect(read["state"]?.string == "accepted" && read["objectId"]?.string == user.objectID)
    }

    @Test("the link is mailed; to look at its page uses nothing, and it opens an account whose address is confirmed")
    func mailed() async throws {
        let email = "invited.canary@example.com"
        let german = "german.canary@example.com"
        try await deployment.admin().ask("POST", Self.list, #"{"email": "\#(german)", "locale": "de_CH"}"#)
        #expect(try await mails.next(to: german).contains("Content-Language: de"))
        let made = try await deployment.admin().ask("POST", Self.list, #"{"email": "\#(email)"}"#)
        #expect(made["link"] == nil && made["sent"]?.integer == 1)
        let id = try #require(made["id"]?.string)
        let former = try await mails.token(to: email, page: "invitation")
        _ = try await deployment.admin().ask("POST", "\(Self.list)/\(id)/send")
        let token = try await mails.token(to: email, page: "invitation")
        #expect(try await page(former).status == 403, "the former link has ended")
        for _ in 1...3 {
            let shown = try await page(token)
            #expect(shown.status == 200 && shown.text.contains(token) && shown.text.contains(email))
            #expect(shown.header("Referrer-Policy") == "no-referrer" && shown.text.contains("noindex"))
            #expect(shown.header("Cache-Control") == "no-store")
        }
        let elsewhere = try await deployment.client.get("/other/invitation?token=\(token)")
        #expect(elsewhere.status == 403, "an invitation to one application is none to another")
        let weak = try await submit([("token", token), ("email", email), ("password", "short")])
        #expect(weak.status == 422 && weak.text.contains("<form method=\"post\">"))
        let done = try await submit([("token", token), ("email", email), ("password", Deployment.password)])
        #expect(done.status == 200, "\(done.text)")
        #expect(try await page(token).status == 403)
        let user = try await deployment.logIn(email)
        #expect(try await deployment.row(of: user.objectID)?["email_verified"] == .bool(true))
        #expect(try mails.take(to: email).isEmpty, "nothing is left to confirm")
        let export = try await deployment.admin().get("applications/demo/users/\(user.objectID)/export")
        #expect(export["invitations"]?.array?.compactMap { $0.object?["id"]?.string } == [id])
    }

    @Test("another address than the invited one has to be confirmed")
    func otherAddress() async throws {
        let invited = "first.canary@example.com"
        _ = try await deployment.admin().ask("POST", Self.list, #"{"email": "\#(invited)"}"#)
        let token = try await mails.token(to: invited, page: "invitation")
        let chosen = "second.canary@example.com"
        let done = try await submit([("token", token), ("email", chosen), ("password", Deployment.password)])
        #expect(done.status == 200, "\(done.text)")
        _ = try await mails.token(to: chosen, page: "confirm-email")
        let status = "select user_status from demo.users where email = '\(chosen)'"
        #expect(try await deployment.value(status) == "EMAIL_CONFIRMATION_PENDING")
    }

    @Test("a link goes to a telephone, within the countries that the application serves")
    func telephone() async throws {
        let made = try await deployment.admin().ask("POST", Self.list, #"{"phone": "+41 79 765 43 21"}"#)
        #expect(made["phone"]?.string == "+41797654321" && made["link"] == nil && made["sent"]?.integer == 1)
        let message = try #require(try await deployment.simulator.messages(to: "+41797654321").first)
        let link = try #require(message["link"]?.string)
        #expect(message["text"]?.string?.hasSuffix(link) == true && message["code"]?.string == nil)
        let person = try await deployment.newcomer()
        let body = #"{"accessToken": "\#(person.token)", "invitation": "\#(link.suffix(43))"}"#
        #expect(try deployment.signedIn(try await deployment.login(body: body)).created)
        let abroad = try await deployment.admin().send("POST", Self.list, #"{"phone": "+442071234567"}"#)
        try expectProblem(abroad, "conflict")
        let shown = try await deployment.admin().ask("POST", Self.list, #"{"phone": "+442071234567", "send": false}"#)
        #expect(shown["link"]?.string != nil)
    }

    @Test("editors invite and take back, owners alone give roles, viewers look; what is wrong is said by its place")
    func administration() async throws {
        let (viewer, editor) = (try await deployment.admin(.viewer), try await deployment.admin(.editor))
        let email = "roles.canary@example.com"
        try expectProblem(try await viewer.send("POST", Self.list, #"{"email": "\#(email)"}"#), "operator_forbidden")
        try expectProblem(
            try await editor.send("POST", Self.list, #"{"email": "\#(email)", "send": false, "roles": ["editors"]}"#),
            "operator_forbidden"
        )
        let made = try await editor.ask("POST", Self.list, #"{"email": "\#(email)", "send": false}"#)
        let id = try #require(made["id"]?.string)
        let again = try await editor.send("POST", Self.list, #"{"email": "ROLES.canary@example.com", "send": false}"#)
        #expect(try expectProblem(again, "conflict")["id"]?.string == id)
        #expect(try await viewer.get("\(Self.list)/\(id)")["link"] == nil)
        try await editor.ask("DELETE", "\(Self.list)/\(id)")
        try expectProblem(try await editor.send("GET", "\(Self.list)/\(id)"), "not_found")
        let person = try await deployment.newcomer()
        let link = String(try #require(made["link"]?.string).suffix(43))
        let body = #"{"accessToken": "\#(person.token)", "invitation": "\#(link)"}"#
        try expectProblem(try await deployment.login(body: body), "invitation_invalid")

        let wrong: [(String, String)] = [
            ("{}", ""), (#"{"email": "no address"}"#, "/email"),
            (#"{"email": "a@example.com", "phone": "+41791234567"}"#, ""),
            (#"{"phone": "079"}"#, "/phone"),
            (#"{"identity": {"provider": "nobody", "subject": "1"}}"#, "/identity/provider"),
            (#"{"identity": {"provider": "facebook", "subject": "x"}}"#, "/identity/subject"),
            (#"{"identity": {"provider": "facebook", "subject": "1", "appId": "9"}}"#, "/identity/appId"),
            (#"{"email": "a@example.com", "properties": {"email": "b@example.com"}}"#, "/properties/email"),
            (#"{"email": "a@example.com", "properties": {"points": "many"}}"#, "/properties/points"),
            (#"{"email": "a@example.com", "expiresInSeconds": 60}"#, "/expiresInSeconds"),
            (#"{"email": "a@example.com", "roles": ["nobody"]}"#, "/roles/0"),
            (#"{"email": "a@example.com", "sent": true}"#, "/sent"),
        ]
        for (document, place) in wrong {
            let problem = try expectProblem(
                try await deployment.admin().send("POST", Self.list, document),
                "document_invalid",
                "\(document)"
            )
            let places = problem["problems"]?.array?.compactMap { $0.object?["pointer"]?.string } ?? []
            #expect(places.contains(place), "\(document): \(places)")
        }
        try expectProblem(try await editor.send("GET", "\(Self.list)?state=used"), "malformed_request")
        let audit = try await deployment.admin().all("audit?action=invitation.create")
        #expect(!audit.isEmpty && audit.allSatisfy { !JSONValue.object($0).text.contains("@example.com") })
    }

    @Test("the list is in pages, the newest first")
    func pages() async throws {
        for _ in 0..<5 { _ = try await invite() }
        let whole = try await deployment.admin().all("\(Self.list)?state=open")
        let paged = try await deployment.admin().all("\(Self.list)?state=open", limit: 2)
        #expect(whole.count >= 5 && paged.map { $0["id"] } == whole.map { $0["id"] })
        let times = whole.compactMap { $0["created"]?.integer }
        #expect(times == times.sorted(by: >))
    }
}
