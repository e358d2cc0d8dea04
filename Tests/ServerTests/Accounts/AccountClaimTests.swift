import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

private let mails = MailsFolder()

private func document(_ application: String, _ claims: String) -> Document {
    Document(
        application: application,
        settings: #"""
            {"accountClaims": "\#(claims)", "secondFactor": {"policy": "optional"},
             "registration": {"confirmEmail": false, "maxPerSourcePerHour": 1000}}
            """#,
        mapping: #"{"email": "email", "name": "name"}"#
    )
}

@Suite(
    "Accounts that are claimed by mail",
    .serialized,
    .deployed(
        document("demo", "all"),
        document("moved", "imported"),
        document("silent", "off"),
        environment: mails.environment
    )
)
struct AccountClaimTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private func document(_ application: String) throws -> Document {
        try #require(deployment.documents.first { $0.application == application })
    }

    private func address() -> String { "c\(UInt32.random(in: 0...UInt32.max)).canary@example.com" }

    /// An older account with a password, whose address is confirmed or not.
    private func account(_ email: String, confirmed: Bool = true, in document: Document? = nil) async throws -> String {
        let schema = (document ?? deployment.documents[0]).application
        try await deployment.database.psql("delete from \(schema).attempts")
        let id = try #require(try await deployment.register(email, to: document)["objectId"]?.string)
        try await deployment.database.psql(
            """
            update \(schema).users set email_verified = \(confirmed), created = now() - interval '1 year',
                name = 'Older'
            where object_id = '\(id)'
            """
        )
        return id
    }

    /// The first login by Facebook of somebody whose profile has an address.
    private func newcomer(_ email: String, to document: Document? = nil) async throws
        -> (visitor: Visitor, login: LoginResult)
    {
        let visitor = try await deployment.newcomer(#"{"email": "\#(email)", "name": "Younger"}"#)
        return (visitor, try await deployment.loggedIn(visitor, to: document))
    }

    private func page(_ token: String) async throws -> HTTPReply {
        try await deployment.client.get("/demo/connect-accounts?token=\(token)")
    }

    private func submit(_ token: String, _ more: String = "") async throws -> HTTPReply {
        try await deployment.client.send(
            "POST",
            "/demo/connect-accounts",
            headers: [("Content-Type", "application/x-www-form-urlencoded")],
            body: Array("token=\(token)\(more)".utf8)
        )
    }

    /// Waits until the service has logged the outcome of an offer.
    private func offered(to user: LoginResult) async throws -> String {
        try await eventually("the outcome of an offer") {
            for line in deployment.service.process.standardOutput.split(separator: "\n") {
                guard line.contains("claim offered"), let object = JSON.object(String(line)),
                    object["user"]?.string == user.objectID
                else { continue }
                return object["outcome"]?.string
            }
            return nil
        }
    }

    @Test("the reader of the mail makes both accounts one: the older id, its properties, and the new login method")
    func claim() async throws {
        let email = address()
        let older = try await account(email)
        let (visitor, younger) = try await newcomer(email.uppercased().replacing("EXAMPLE", with: "example"))
        #expect(younger.created && younger.objectID != older)
        let token = try await mails.token(to: email, page: "connect-accounts")
        for _ in 1...3 {
            let shown = try await page(token)
            #expect(
                shown.status == 200 && shown.text.contains("Facebook") && shown.text.contains("<form method=\"post\">")
            )
            #expect(!shown.text.contains("name=\"password\""), "the address is confirmed")
        }
        #expect(try await deployment.row(of: younger.objectID) != nil, "a scanner of mails changes nothing")
        let taken = try await submit(token)
        #expect(taken.status == 200 && taken.text.contains("Accounts connected"), "\(taken.text)")
        #expect(try await submit(token).status == 400)
        #expect(try await page(token).status == 400)
        #expect(try await deployment.loggedIn(visitor).objectID == older)
        #expect(try await deployment.logIn(email).objectID == older)
        let row = try await deployment.row(of: older)
        #expect(row?["email"]?.string == email && row?["name"]?.string == "Younger", "as the next login would write")
        #expect(try await deployment.row(of: younger.objectID) == nil)
        #expect(try await !deployment.isValid(younger.token))
        let undo = try await mails.token(to: email, page: "undo-merge")
        let undone = try await deployment.client.send(
            "POST",
            "/demo/undo-merge",
            headers: [("Content-Type", "application/x-www-form-urlencoded")],
            body: Array("token=\(undo)".utf8)
        )
        #expect(undone.status == 200)
        #expect(try await deployment.loggedIn(visitor).objectID == younger.objectID)
    }

    @Test("D6: who brings another's address gets nothing and learns nothing, and the owner can say so")
    func stranger() async throws {
        let email = address()
        let older = try await account(email)
        let (known, unknown) = (try await newcomer(email), try await newcomer(address()))
        let fields = { (login: LoginResult) in Set(login.user.members.map(\.key)) }
        #expect(fields(known.login) == fields(unknown.login), "both logins are answered alike")
        let token = try await mails.token(to: email, page: "connect-accounts")
        let refused = try await submit(token, "&refuse=yes")
        #expect(refused.status == 200 && refused.text.contains("Accounts not connected"), "\(refused.text)")
        #expect(try await submit(token).status == 400)
        #expect(try await deployment.loggedIn(known.visitor).objectID == known.login.objectID)
        #expect(try await deployment.logIn(email).objectID == older)
        #expect(try mails.take(to: email).isEmpty, "a later login causes no further mail")
    }

    @Test("T-33: an older account that somebody else made with the address keeps nothing of theirs")
    func planted() async throws {
        let email = address()
        let planted = try await account(email, confirmed: false)
        let thief = try await deployment.newcomer(#"{"email": "thief.canary@example.com"}"#)
        let session = try await deployment.logIn(email)
        let body = #"{"accessToken": "\#(thief.token)"}"#
        let linked = try await deployment.send("POST", "users/identities/facebook", body, token: session.token)
        #expect(linked.status == 200)
        try await deployment.database.psql(
            "delete from demo.identities where object_id = '\(planted)' and subject <> '\(thief.id)'"
        )
        let (visitor, _) = try await newcomer(email)
        let token = try await mails.token(to: email, page: "connect-accounts")
        let shown = try await page(token)
        #expect(shown.text.contains("name=\"password\"") && shown.text.contains("keepIdentities"))
        try await deployment.database.psql("delete from demo.attempts")
        let wrong = try await submit(token, "&password=not+the+password+of+it")
        #expect(wrong.status == 401 && wrong.text.contains("<form method=\"post\">"), "\(wrong.status)")
        #expect(try await submit(token).status == 200)
        #expect(try await deployment.loggedIn(visitor).objectID == planted)
        let login = #"{"login": "\#(email)", "password": "\#(Deployment.password)"}"#
        try expectProblem(try await deployment.send("POST", "users/login", login), "login_invalid")
        #expect(try await deployment.loggedIn(thief).objectID != planted)
        #expect(try await !deployment.isValid(session.token))
        #expect(try await deployment.row(of: planted)?["email_verified"]?.bool == true)
    }

    @Test("a reader who knows the password of an unconfirmed account keeps it")
    func known() async throws {
        let email = address()
        let older = try await account(email, confirmed: false)
        _ = try await newcomer(email)
        let token = try await mails.token(to: email, page: "connect-accounts")
        let password = Deployment.password.replacing(" ", with: "+")
        #expect(try await submit(token, "&password=\(password)").status == 200)
        #expect(try await deployment.logIn(email).objectID == older)
    }

    @Test("the second factor of the older account is needed, and the link stays valid until it is shown")
    func factor() async throws {
        let email = address()
        let older = try await account(email)
        let (app, factor, _) = try await deployment.enrolApp(of: try await deployment.logIn(email))
        let (visitor, _) = try await newcomer(email)
        let token = try await mails.token(to: email, page: "connect-accounts")
        let bare = try await submit(token)
        #expect(bare.status != 200 && bare.text.contains("name=\"code\""), "\(bare.status)")
        let pending = try #require(
            bare.text.firstMatch(of: /name="pending" value="([^"]+)"/).map { String($0.output.1) }
        )
        try await deployment.forgetSteps()
        let wrong = try await submit(token, "&pending=\(pending)&factor=\(factor)&code=000000")
        #expect(wrong.status != 200)
        try await deployment.forgetSteps()
        let shown = try await submit(token, "&pending=\(pending)&factor=\(factor)&code=\(app.code())")
        #expect(shown.status == 200, "\(shown.text)")
        #expect(try await deployment.row(of: older) != nil)
        let login = try await deployment.login(visitor)
        try expectProblem(login, "second_factor_required")
    }

    @Test("a claim ends when the address changes, when either user is erased or disabled, and of two one wins")
    func ends() async throws {
        for change in [
            "update demo.users set email = 'moved.canary@example.com' where object_id = 'OLD'",
            "delete from demo.users where object_id = 'NEW'",
            "update demo.users set user_status = 'DISABLED' where object_id = 'NEW'",
            "update demo.users set user_status = 'DISABLED' where object_id = 'OLD'",
            "update demo.users set email = 'other.canary@example.com' where object_id = 'NEW'",
            "update demo.email_proofs set expires = now()",
        ] {
            let email = address()
            let older = try await account(email)
            let (_, younger) = try await newcomer(email)
            let token = try await mails.token(to: email, page: "connect-accounts")
            try await deployment.database.psql(
                change.replacing("OLD", with: older).replacing("NEW", with: younger.objectID)
            )
            if !change.contains("other.canary") { #expect(try await page(token).status == 400, "\(change)") }
            #expect(try await submit(token).status == 400, "\(change)")
        }
        let email = address()
        let older = try await account(email)
        var (visitors, tokens): ([Visitor], [String]) = ([], [])
        for _ in 1...2 {
            visitors.append(try await newcomer(email).visitor)
            tokens.append(try await mails.token(to: email, page: "connect-accounts"))
        }
        let statuses = try await atOnce(2) { [tokens] in try await submit(tokens[$0]).status }
        #expect(statuses.sorted() == [200, 400])
        let users = [
            try await deployment.loggedIn(visitors[0]).objectID, try await deployment.loggedIn(visitors[1]).objectID,
        ]
        #expect(users.count { $0 == older } == 1)
    }

    @Test("imported accounts are claimed until somebody uses them, and without the setting nothing is offered")
    func settings() async throws {
        let (moved, silent) = (try document("moved"), try document("silent"))
        let (used, unused, old) = (address(), address(), address())
        for email in [used, unused, old] {
            let id = try await account(email, in: moved)
            try await deployment.database.psql(
                """
                update moved.users
                set created = now() - interval '\(email == old ? "1 year" : "0 s")',
                    last_login = \(email == unused ? "null" : "now()")
                where object_id = '\(id)'
                """
            )
        }
        #expect(try await offered(to: try await newcomer(used, to: moved).login) == "nobody")
        for email in [unused, old] {
            #expect(try await offered(to: try await newcomer(email, to: moved).login) == "mailed")
            _ = try await mails.token(to: email, page: "connect-accounts", of: "moved")
        }
        let email = address()
        _ = try await account(email, in: silent)
        let (_, quiet) = try await newcomer(email, to: silent)
        let (_, last) = try await newcomer(address(), to: moved)
        #expect(try await offered(to: last) == "nobody")
        #expect(!deployment.service.process.standardOutput.contains(quiet.objectID + "\",\"outcome"))
        #expect(try mails.take(to: email).isEmpty)
    }
}
