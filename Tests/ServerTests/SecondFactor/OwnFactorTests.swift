import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

private let mails = MailsFolder()

private func document(_ application: String, _ secondFactor: String, _ more: String = "") -> Document {
    Document(
        application: application,
        settings: #"""
            {"secondFactor": {\#(secondFactor)}, "registration": {"confirmEmail": false, "maxPerSourcePerHour": 1000}\#(more)}
            """#,
        mapping: #"{"email": "email"}"#
    )
}

private let optional = #""policy": "optional", "trustedDeviceDays": 30"#
private let required = #""policy": "required""#

@Suite(
    "The factors of one's own account",
    .serialized,
    .deployed(
        document("demo", optional),
        document("required", required),
        document("staff", #""policy": "required", "roles": ["Editor"]"#, #", "roles": ["Editor"]"#),
        document("bare", #""policy": "optional", "factors": ["totp"]"#),
        document("kinds", optional),
        document("ending", optional),
        document("beginning", required),
        document("lenient", required),
        document("devices", optional),
        document("tightened", optional),
        environment: mails.environment
    )
)
struct OwnFactorTests {
    private static let words = "another canary sentence of mine"
    private static let onlyMail = #""policy": "optional", "factors": ["email"]"#

    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    /// A user with a password and an authenticator app.
    private struct Holder {
        let email: String
        let session: LoginResult
        let app: AuthenticatorApp
        let factor: String
        let codes: [String]
    }

    /// The table in which earlier mails may change while they are sent.
    private var sent: Set<String> { ["demo.mails"] }

    private func document(_ application: String) throws -> Document {
        try #require(deployment.documents.first { $0.application == application })
    }

    /// Creates a user with a password and a confirmed address.
    private func person(in document: Document? = nil) async throws -> (email: String, session: LoginResult) {
        let schema = (document ?? deployment.documents[0]).application
        let email = "o\(UInt32.random(in: 0...UInt32.max)).canary@example.com"
        // Reset the guesses counted for the tests' common source.
        try await deployment.database.psql("delete from \(schema).attempts")
        _ = try await deployment.register(email, to: document)
        try await deployment.database.psql("update \(schema).users set email_verified = true where email = '\(email)'")
        return (email, try await deployment.logIn(email, to: document))
    }

    private func holder(in document: Document? = nil) async throws -> Holder {
        let (email, session) = try await person(in: document)
        let (app, factor, codes) = try await deployment.enrolApp(of: session, in: document)
        try #require(codes.count == (document?.application == "bare" ? 0 : 10))
        try await deployment.forgetSteps(in: document)
        return Holder(email: email, session: session, app: app, factor: factor, codes: codes)
    }

    private func logIn(
        _ email: String,
        _ more: String = "",
        password: String = Deployment.password,
        to document: Document? = nil
    ) async throws -> HTTPReply {
        let body = #"{"login": "\#(email)", "password": "\#(password)"\#(more)}"#
        return try await deployment.send("POST", "users/login", body, to: document)
    }

    private func putOff(_ holder: Holder, to document: Document? = nil) async throws -> PutOff {
        try deployment.putOff(try await logIn(holder.email, to: document))
    }

    /// Shows the app's code for a pending login, even if the code was used before.
    private func show(
        _ holder: Holder,
        for waiting: PutOff,
        more: String = "",
        session: LoginResult? = nil,
        in document: Document? = nil
    ) async throws -> HTTPReply {
        try await deployment.forgetSteps(in: document)
        let answer = #""factorId": "\#(holder.factor)", "code": "\#(holder.app.code())"\#(more)"#
        return try await deployment.finishFactor(waiting, answer, session: session, in: document)
    }

    private func begin(_ session: LoginResult, in document: Document? = nil) async throws -> AuthenticatorApp {
        let begun = try await deployment.beginFactor("totp", of: session, in: document)
        try #require(begun.status == 200, "\(begun.text)")
        return try AuthenticatorApp(try #require(JSON.object(begun.text)))
    }

    private func confirm(
        _ app: AuthenticatorApp,
        _ session: LoginResult,
        in document: Document? = nil,
        at client: HTTPClient? = nil
    ) async throws -> HTTPReply {
        let answer = #""code": "\#(app.code())""#
        return try await deployment.confirmFactor(app.id, answer, of: session, in: document, at: client)
    }

    private func remove(
        _ factor: String,
        _ session: LoginResult,
        in document: Document? = nil
    ) async throws -> HTTPReply {
        try await deployment.send("DELETE", "users/factors/\(factor)", token: session.token, to: document)
    }

    private func id(_ reply: HTTPReply) throws -> String {
        try #require(JSON.object(reply.text)?["id"]?.string, "\(reply.text)")
    }

    /// Makes the session's authentication that many seconds old.
    private func age(_ session: LoginResult, _ column: String, _ seconds: Int, in schema: String = "demo") async throws
    {
        try await deployment.database.psql(
            """
            update \(schema).sessions set \(column) = now() - interval '\(seconds) seconds'
            where object_id = '\(session.objectID)'
            """
        )
    }

    private func count(_ table: String, of user: String, in schema: String = "demo") async throws -> String? {
        try await deployment.value("select count(*) from \(schema).\(table) where object_id = '\(user)'")
    }

    /// Changes the operator's settings of second factors, and waits until the service has loaded them.
    private func change(_ document: Document, to secondFactor: String) async throws {
        var changed = document
        changed.settings = #"{"secondFactor": {\#(secondFactor)}, "registration": {"confirmEmail": false}}"#
        try await changed.apply(to: deployment.database)
        let revision = try await deployment.value("select revision from federation.configuration")
        try await eventually("the service has loaded the document") {
            deployment.service.process.standardOutput.split(separator: "\n").contains { line in
                guard let entry = JSON.object(String(line)), entry["message"]?.string == "configuration loaded" else {
                    return false
                }
                return entry["revision"]?.string == revision
            }
        }
    }

    // MARK: - Requirements of changes

    @Test("factors come and go by sessions that have shown of late who they are, and a factor where there is one")
    func proofs() async throws {
        let (_, session) = try await person()
        let early = try await begin(session)
        try await age(session, "proved", 303)
        try await deployment.expectNothingWritten(except: sent) {
            try expectProblem(try await deployment.beginFactor("totp", of: session), "reauthentication_required")
            try expectProblem(try await confirm(early, session), "reauthentication_required")
        }
        try await age(session, "proved", 295)
        let added = try await confirm(early, session)
        let factor = try id(added)
        #expect(try await deployment.shownFactor(of: session.objectID) == ["totp", "t"])
        // Confirming counts as showing the factor: the next factor may follow at once.
        let next = try await begin(session)
        try await age(session, "factor_proved", 303)
        let codes = #"{"kind": "recoveryCode"}"#
        try await deployment.expectNothingWritten(except: sent) {
            for reply in [
                try await deployment.beginFactor("totp", of: session), try await confirm(next, session),
                try await remove(factor, session),
                try await deployment.send("POST", "users/factors", codes, token: session.token),
            ] {
                try expectProblem(reply, "second_factor_reauthentication_required")
            }
        }
        try await deployment.forgetSteps()
        let holder = Holder(email: "", session: session, app: early, factor: factor, codes: [])
        let waiting = try await deployment.stepUp(session)
        #expect(waiting.factors.map { $0["kind"]?.string } == ["totp", "recoveryCode"])
        #expect(try await show(holder, for: waiting, session: session).status == 200)
        try expectProblem(
            try await show(holder, for: waiting, session: session),
            "pending_login_invalid",
            "it counts once"
        )
        #expect(try await confirm(next, session).status == 200)
        try await age(session, "proved", 303)
        try expectProblem(try await remove(factor, session), "reauthentication_required")
        try await age(session, "proved", 0)
        #expect(try await remove(factor, session).status == 204)
        try expectProblem(try await remove(factor, session), "not_found")
        for token in [nil, "x"] {
            try expectProblem(try await deployment.get("users/factors", token: token), "session_invalid")
            let begun = try await deployment.send("POST", "users/factors", #"{"kind": "totp"}"#, token: token)
            try expectProblem(begun, "session_invalid")
        }
    }

    @Test("what changes login methods, address, password or the account needs the factor, beside what else it needs")
    func stepUp() async throws {
        let requests: [(String, String, String?)] = [
            (
                "PUT", "users/%",
                #"{"password": "\#(Self.words)", "currentPassword": "\#(Deployment.password)"}"#
            ),
            ("PUT", "users/%", #"{"email": "new.%.canary@example.com"}"#),
            ("DELETE", "users/identities/facebook", nil),
            ("DELETE", "users/%", nil),
        ]
        for (method, path, body) in requests {
            let holder = try await holder()
            let session = holder.session
            let visitor = try await deployment.newcomer()
            let link = #"{"accessToken": "\#(visitor.token)"}"#
            let linked = try await deployment.send("POST", "users/identities/facebook", link, token: session.token)
            try #require(linked.status == 200, "\(linked.text)")
            try await age(session, "factor_proved", 303)
            func ask() async throws -> HTTPReply {
                try await deployment.send(
                    method,
                    path.replacing("%", with: session.objectID),
                    body?.replacing("%", with: session.objectID),
                    token: session.token
                )
            }
            try await deployment.expectNothingWritten(except: sent.union(["demo.attempts", "demo.sessions"])) {
                try expectProblem(try await ask(), "second_factor_reauthentication_required", "\(method) \(path)")
            }
            #expect(try await show(holder, for: deployment.stepUp(session), session: session).status == 200)
            let done = try await ask()
            #expect((200...204).contains(done.status), "\(method) \(path): \(done.text)")
        }
    }

    @Test("a guest enrols nothing; a label is 1 to 200 bytes; ten factors are the most")
    func bounds() async throws {
        let guest = try await deployment.send("POST", "users/register/guest", "{}")
        let visiting = try deployment.signedIn(guest)
        for kind in ["totp", "recoveryCode"] {
            let reply = try await deployment.beginFactor(kind, of: visiting)
            try expectProblem(reply, "factor_not_offered", "\(kind)")
        }
        let (_, session) = try await person()
        for label in ["", String(repeating: "é", count: 101)] {
            let reply = try await deployment.beginFactor("totp", #""label": "\#(label)""#, of: session)
            try expectProblem(reply, "malformed_request")
        }
        let label = String(repeating: "é", count: 100)
        let begun = try await deployment.beginFactor("totp", #""label": "\#(label)""#, of: session)
        let app = try AuthenticatorApp(try #require(JSON.object(begun.text)))
        #expect(try await confirm(app, session).status == 200)
        #expect(try await deployment.factors(of: session).map { $0["label"]?.string } == [label, nil])
        try await deployment.database.psql(
            """
            insert into demo.factors (id, object_id, kind)
            select gen_random_uuid(), '\(session.objectID)', 'totp' from generate_series(1, 7)
            """
        )
        let (tenth, eleventh) = (try await begin(session), try await begin(session))
        #expect(try await confirm(tenth, session).status == 200)
        try expectProblem(try await confirm(eleventh, session), "too_many_factors")
        try expectProblem(try await deployment.beginFactor("totp", of: session), "too_many_factors")
        #expect(try await count("factors", of: session.objectID) == "10")
        let renewed = try await deployment.beginFactor("recoveryCode", of: session)
        #expect(renewed.status == 200, "they take the place of others: \(renewed.text)")
    }

    @Test("a draft is of the session that began it, of its user and its application, and becomes one factor")
    func drafts() async throws {
        let holder = try await holder()
        let session = holder.session
        let draft = try await begin(session)
        let other = try deployment.signedIn(try await show(holder, for: try await putOff(holder)))
        #expect(other.objectID == session.objectID && other.token != session.token)
        let stranger = try await person().session
        let elsewhere = try await person(in: document("bare")).session
        try expectProblem(try await confirm(draft, other), "not_found")
        try expectProblem(try await confirm(draft, stranger), "not_found")
        try expectProblem(try await confirm(draft, elsewhere, in: document("bare")), "not_found")
        for id in ["x", holder.factor, String(draft.id.dropLast(2)), "A" + draft.id.dropFirst()] where id != draft.id {
            let reply = try await deployment.confirmFactor(id, #""code": "\#(draft.code())""#, of: session)
            try expectProblem(reply, "not_found")
        }
        let wrong = #""code": "\#(draft.wrongCode)""#
        try expectProblem(
            try await deployment.confirmFactor(draft.id, wrong, of: session),
            "second_factor_invalid"
        )
        #expect(try await count("factors", of: session.objectID) == "2")
        try await deployment.withSecondInstance(environment: mails.environment) { instance in
            let statuses = try await atOnce(6) { index in
                try await confirm(draft, session, at: index.isMultiple(of: 2) ? instance.client : nil).status
            }
            #expect(statuses.count { $0 == 200 } == 1, "\(statuses)")
        }
        #expect(try await count("factors", of: session.objectID) == "3")
        // A removed factor does not come back by its draft.
        let factors = try await deployment.factors(of: session)
        #expect(try await remove(try #require(factors.last?["id"]?.string), session).status == 204)
        #expect(try await confirm(draft, session).status != 200)
        #expect(try await deployment.factors(of: session).count == 2)
    }

    @Test("recovery codes are ten, shown once, counted down, renewed, and gone with the last factor they stand in for")
    func recoveryCodes() async throws {
        let holder = try await holder()
        let session = holder.session
        #expect(Set(holder.codes).count == 10)
        func left() async throws -> Int64? {
            let factors = try await deployment.factors(of: session)
            return factors.first { $0["kind"]?.string == "recoveryCode" }?["codesLeft"]?.integer
        }
        let listed = try await deployment.get("users/factors", token: session.token)
        #expect(!holder.codes.contains { listed.text.contains($0) })
        for code in holder.codes {
            #expect(try await deployment.database.psql("select * from canaries('\(code)')").isEmpty)
        }
        #expect(try await left() == 10)
        let spelled = holder.codes[0].lowercased().replacing("-", with: " ")
        let used = try await deployment.finish(try await putOff(holder), "recoveryCode", code: spelled)
        let recovered = try deployment.signedIn(used)
        #expect(try await deployment.shownFactor(of: session.objectID)[0] == "recoveryCode")
        #expect(try await left() == 9)
        // A further factor brings no new recovery codes; those must be requested.
        let second = try await begin(recovered)
        let added = try await confirm(second, recovered)
        #expect(added.status == 200 && JSON.object(added.text)?["recoveryCodes"] == nil, "\(added.text)")
        let renewed = try await deployment.beginFactor("recoveryCode", of: recovered)
        let body = try #require(JSON.object(renewed.text), "\(renewed.text)")
        #expect(body.keys == ["id", "kind", "recoveryCodes"])
        let codes = body["recoveryCodes"]?.array?.compactMap(\.string) ?? []
        #expect(Set(codes + holder.codes).count == 20)
        #expect(try await left() == 10)
        let waiting = try await putOff(holder)
        try expectProblem(
            try await deployment.finish(waiting, "recoveryCode", code: holder.codes[1]),
            "second_factor_invalid"
        )
        #expect(try await deployment.finish(waiting, "recoveryCode", code: codes[0]).status == 200)
        #expect(try await remove(try id(added), recovered).status == 204)
        #expect(try await left() == 9, "there is a factor that they stand in for")
        #expect(try await remove(holder.factor, recovered).status == 204)
        #expect(try await deployment.factors(of: recovered).isEmpty)
        #expect(try await logIn(holder.email).status == 200)
        try expectProblem(try await deployment.beginFactor("recoveryCode", of: recovered), "factor_not_offered")
        // An application without recovery codes issues none.
        let bare = try document("bare")
        let plain = try await self.holder(in: bare)
        #expect(plain.codes.isEmpty)
        let reply = try await deployment.beginFactor("recoveryCode", of: plain.session, in: bare)
        try expectProblem(reply, "factor_not_offered")
    }

    @Test("where a factor is required of somebody, the last one stays")
    func lastFactor() async throws {
        let staff = try document("staff")
        let holder = try await holder(in: staff)
        let session = holder.session
        #expect(try await remove(holder.factor, session, in: staff).status == 204, "not of this user")
        let again = try id(try await confirm(try await begin(session, in: staff), session, in: staff))
        try await deployment.database.psql("insert into staff.user_roles values ('\(session.objectID)', 'Editor')")
        try expectProblem(try await remove(again, session, in: staff), "last_factor")
        let other = try id(try await confirm(try await begin(session, in: staff), session, in: staff))
        #expect(try await remove(again, session, in: staff).status == 204)
        try expectProblem(try await remove(other, session, in: staff), "last_factor")
        let codes = try await deployment.factors(of: session, in: staff)
        let recovery = try #require(codes.first { $0["kind"]?.string == "recoveryCode" }?["id"]?.string)
        #expect(try await remove(recovery, session, in: staff).status == 204, "they are no second factor")
    }

    // MARK: - Mails

    private func undo(_ token: String, _ more: String = "") async throws -> HTTPReply {
        let body = #"{"token": "\#(token)", "password": "\#(Self.words)"\#(more)}"#
        return try await deployment.send("POST", "users/undochange", body)
    }

    @Test("a mail tells of a factor that has come, and its link takes it away with its codes and sessions")
    func added() async throws {
        let (email, session) = try await person()
        _ = try mails.take(to: email)
        let thief = try await deployment.enrolApp(of: session)
        let token = try await mails.token(to: email, page: "undo-change")
        #expect(try await undo(token).status == 200)
        #expect(try await !deployment.isValid(session.token))
        try expectProblem(try await undo(token), "link_invalid")
        let back = try deployment.signedIn(try await logIn(email, password: Self.words))
        #expect(try await deployment.factors(of: back).isEmpty)
        #expect(try await mails.next(to: email).contains("all other devices were logged out"))
        #expect(try await remove(thief.id, back).status == 404)
        // A user without a confirmed address gets no link.
        let other = "u\(UInt32.random(in: 0...UInt32.max)).canary@example.com"
        _ = try await deployment.register(other)
        let unconfirmed = try await deployment.logIn(other)
        _ = try mails.take(to: other)
        _ = try await deployment.enrolApp(of: unconfirmed)
        let mail = try await mails.next(to: other)
        #expect(mail.contains("authenticator app") && !mail.contains("undo-change"))
    }

    @Test("a mail tells of a factor that has gone, and its link brings it back, as it was, and ends what came since")
    func removed() async throws {
        let holder = try await holder()
        // The mail about the enrolment.
        _ = try await mails.token(to: holder.email, page: "undo-change")
        #expect(try await remove(holder.factor, holder.session).status == 204)
        let token = try await mails.token(to: holder.email, page: "undo-change")
        let thief = try await deployment.enrolApp(of: holder.session)
        // The link asks for the factors before the change, not for the thief's.
        let asked = try deployment.putOff(try await undo(token))
        #expect(asked.factors.map { $0["kind"]?.string } == ["totp", "recoveryCode"])
        try await deployment.forgetSteps()
        let proof = #", "pending": "\#(asked.pending)", "factorId": "\#(holder.factor)""#
        try expectProblem(
            try await undo(token, proof + #", "code": "\#(thief.app.code())""#),
            "second_factor_invalid"
        )
        #expect(try await undo(token, proof + #", "code": "\#(holder.app.code())""#).status == 200)
        let waiting = try deployment.putOff(try await logIn(holder.email, password: Self.words))
        #expect(waiting.factors.map { $0["kind"]?.string } == ["totp", "recoveryCode"])
        #expect(waiting.id(of: "totp") == holder.factor)
        let stolen = #""factorId": "\#(thief.id)", "code": "\#(thief.app.code(1))""#
        try expectProblem(try await deployment.finishFactor(waiting, stolen), "second_factor_invalid")
        try expectProblem(
            try await deployment.finish(waiting, "recoveryCode", code: try #require(thief.recoveryCodes.first)),
            "second_factor_invalid"
        )
        let own = try await deployment.finish(waiting, "recoveryCode", code: holder.codes[0])
        #expect(try deployment.signedIn(own).objectID == holder.session.objectID)
        #expect(try await show(holder, for: putOffAgain(holder.email)).status == 200)
    }

    private func putOffAgain(_ email: String) async throws -> PutOff {
        try deployment.putOff(try await logIn(email, password: Self.words))
    }

    // MARK: - Changes while a login is pending

    /// Begins the enrolment of a factor within a pending login that requires one.
    private func beginPending(_ waiting: PutOff, in document: Document) async throws -> AuthenticatorApp {
        let body = #"{"kind": "totp", "pending": "\#(waiting.pending)"}"#
        let begun = try await deployment.send("POST", "users/factors", body, to: document)
        try #require(begun.status == 200, "\(begun.text)")
        return try AuthenticatorApp(try #require(JSON.object(begun.text)))
    }

    private func confirmPending(
        _ app: AuthenticatorApp,
        _ waiting: PutOff,
        in document: Document
    ) async throws -> HTTPReply {
        let body = #"{"code": "\#(app.code())", "pending": "\#(waiting.pending)"}"#
        return try await deployment.send("POST", "users/factors/\(app.id)/confirm", body, to: document)
    }

    @Test("a kind that is taken out of the application is shown and enrolled no more, whatever was begun")
    func kindRemoved() async throws {
        let kinds = try document("kinds")
        let holder = try await holder(in: kinds)
        let waiting = try await putOff(holder, to: kinds)
        let draft = try await begin(holder.session, in: kinds)
        try await change(kinds, to: Self.onlyMail)
        try expectProblem(try await show(holder, for: waiting, in: kinds), "second_factor_invalid")
        let byCode = try await deployment.finish(waiting, "recoveryCode", code: holder.codes[0], to: kinds)
        try expectProblem(byCode, "second_factor_invalid")
        try expectProblem(try await confirm(draft, holder.session, in: kinds), "factor_not_offered")
        #expect(try await count("factors", of: holder.session.objectID, in: "kinds") == "2")
        #expect(try await deployment.offeredKinds(to: holder.session, in: kinds) == ["email"])
        #expect(try await logIn(holder.email, to: kinds).status == 200, "as somebody who has none")
    }

    @Test("where the policy ends, nobody is asked, and what waits is begun anew")
    func policyEnds() async throws {
        let ending = try document("ending")
        let holder = try await holder(in: ending)
        let waiting = try await putOff(holder, to: ending)
        try await age(holder.session, "factor_proved", 303, in: "ending")
        let draft = try await begin(try await person(in: ending).session, in: ending)
        try await change(ending, to: #""policy": "off""#)
        let sessions = try await deployment.sessions(of: holder.session.objectID, in: "ending")
        try expectProblem(try await show(holder, for: waiting, in: ending), "second_factor_invalid")
        #expect(try await deployment.sessions(of: holder.session.objectID, in: "ending") == sessions)
        #expect(try await confirm(draft, holder.session, in: ending).status != 200)
        #expect(try await logIn(holder.email, to: ending).status == 200)
        let begun = try await deployment.beginFactor("totp", of: holder.session, in: ending)
        try expectProblem(begun, "factor_not_offered")
        try await age(holder.session, "factor_proved", 303, in: "ending")
        let body = #"{"email": "n\#(holder.email)"}"#
        let path = "users/\(holder.session.objectID)"
        let changed = try await deployment.send("PUT", path, body, token: holder.session.token, to: ending)
        #expect(changed.status == 200, "no factor is asked for: \(changed.text)")
    }

    @Test("an enrolment that a login waits for ends with another kind, goes on where it is required no more")
    func enrolmentChanges() async throws {
        for (name, secondFactor, reason) in [
            ("beginning", #""policy": "required", "factors": ["email"]"#, "factor_not_offered" as String?),
            ("lenient", optional, nil),
        ] {
            let changing = try document(name)
            let email = "e\(UInt32.random(in: 0...UInt32.max)).canary@example.com"
            let user = try await deployment.register(email, to: changing)["objectId"]?.string ?? ""
            let waiting = try deployment.putOff(
                try await logIn(email, to: changing),
                "second_factor_enrolment_required"
            )
            let app = try await beginPending(waiting, in: changing)
            try await change(changing, to: secondFactor)
            let ended = try await confirmPending(app, waiting, in: changing)
            if let reason {
                try expectProblem(ended, reason)
                #expect(try await deployment.sessions(of: user, in: name) == "0")
                #expect(try await count("factors", of: user, in: name) == "0")
            } else {
                #expect(try deployment.signedIn(ended).objectID == user)
                _ = try deployment.putOff(try await logIn(email, to: changing))
            }
        }
    }

    @Test("who has enrolled a factor meanwhile has to show it: no other enrolment that waits finishes a login")
    func enrolmentsSideBySide() async throws {
        let required = try document("required")
        let email = "s\(UInt32.random(in: 0...UInt32.max)).canary@example.com"
        let user = try await deployment.register(email, to: required)["objectId"]?.string ?? ""
        let reason = "second_factor_enrolment_required"
        let (mine, theirs) = (
            try deployment.putOff(try await logIn(email, to: required), reason),
            try deployment.putOff(try await logIn(email, to: required), reason)
        )
        let app = try await beginPending(mine, in: required)
        let thief = try await beginPending(theirs, in: required)
        let crossed = try await confirmPending(app, theirs, in: required)
        try expectProblem(crossed, "not_found", "begun by another login")
        let session = try deployment.signedIn(try await confirmPending(app, mine, in: required))
        try expectProblem(try await confirmPending(thief, theirs, in: required), "pending_login_invalid")
        try expectProblem(try await confirm(thief, session, in: required), "not_found", "by a session")
        #expect(try await deployment.sessions(of: user, in: "required") == "1")
        #expect(try await deployment.factors(of: session, in: required).count == 2)
    }

    @Test("who has lost the reply of an enrolment that ends a login repeats it under its Idempotency-Key")
    func repetition() async throws {
        let required = try document("required")
        let email = "i\(UInt32.random(in: 0...UInt32.max)).canary@example.com"
        _ = try await deployment.register(email, to: required)
        let waiting = try deployment.putOff(
            try await logIn(email, to: required),
            "second_factor_enrolment_required"
        )
        let app = try await beginPending(waiting, in: required)
        let path = "users/factors/\(app.id)/confirm"
        let body = #"{"code": "\#(app.code())", "pending": "\#(waiting.pending)"}"#
        func confirm(_ key: String, _ other: String? = nil) async throws -> HTTPReply {
            let headers = [("Idempotency-Key", key)]
            return try await deployment.send("POST", path, other ?? body, to: required, headers: headers)
        }
        let first = try deployment.signedIn(try await confirm(email))
        let again = try deployment.signedIn(try await confirm(email))
        #expect(first.token == again.token && !first.token.isEmpty)
        #expect(try await deployment.sessions(of: first.objectID, in: "required") == "1")
        #expect(try await deployment.factors(of: first, in: required).count == 2)
        let other = #"{"code": "\#(app.code(1))", "pending": "\#(waiting.pending)"}"#
        try expectProblem(try await confirm(email, other), "idempotency_key_reused")
        try expectProblem(try await confirm("another-\(first.objectID)"), "pending_login_invalid")
    }

    @Test("a login that waits while an operator removes all factors is not finished by them")
    func operatorRemoves() async throws {
        for name in ["demo", "required"] {
            let document = try document(name)
            let email = "r\(UInt32.random(in: 0...UInt32.max)).canary@example.com"
            let user = try await deployment.register(email, to: document)["objectId"]?.string ?? ""
            let first = try await logIn(email, to: document)
            let app: AuthenticatorApp
            if name == "demo" {
                app = try await deployment.enrolApp(of: try deployment.signedIn(first)).app
            } else {
                let enrolling = try deployment.putOff(first, "second_factor_enrolment_required")
                app = try await beginPending(enrolling, in: document)
                #expect(try await confirmPending(app, enrolling, in: document).status == 200)
            }
            try await deployment.forgetSteps(in: document)
            let waiting = try deployment.putOff(try await logIn(email, to: document))
            let path = "applications/\(name)/users/\(user)/factors/\(try #require(waiting.id(of: "totp")))"
            try await deployment.admin().ask("DELETE", path)
            let sessions = try await deployment.sessions(of: user, in: name)
            for kind in ["totp", "recoveryCode"] {
                let late = try await deployment.finish(waiting, kind, code: app.code(), to: document)
                try expectProblem(late, "second_factor_invalid")
            }
            #expect(try await deployment.sessions(of: user, in: name) == sessions)
            let next = try await logIn(email, to: document)
            if name == "demo" {
                #expect(next.status == 200)
            } else {
                _ = try deployment.putOff(next, "second_factor_enrolment_required")
            }
        }
    }

    // MARK: - Trusted devices

    /// Logs in with a factor and makes the device trusted.
    private func trust(_ holder: Holder, in document: Document? = nil) async throws -> (LoginResult, device: String) {
        let waiting = try await putOff(holder, to: document)
        let reply = try await show(holder, for: waiting, more: #", "trustDevice": true"#, in: document)
        let session = try deployment.signedIn(reply)
        return (session, #", "trustedDevice": "\#(try #require(session.user["trusted-device"]?.string))""#)
    }

    @Test("a device is trusted until what ends sessions, a removed factor or its day has ended that; it shows nothing")
    func devices() async throws {
        let holder = try await holder()
        let other = try await self.holder()
        func isAsked(_ holder: Holder, _ device: String, password: String = Deployment.password) async throws -> Bool {
            let reply = try await logIn(holder.email, device, password: password)
            guard reply.status != 200 else { return false }
            _ = try deployment.putOff(reply)
            return true
        }
        let (_, elses) = try await trust(other)
        #expect(try await isAsked(holder, elses), "another user's")
        #expect(try await !isAsked(other, elses))

        var (session, device) = try await trust(holder)
        let trusted = try deployment.signedIn(try await logIn(holder.email, device))
        #expect(try await deployment.shownFactor(of: holder.session.objectID) == [nil, nil])
        let begun = try await deployment.beginFactor("totp", of: trusted)
        try expectProblem(begun, "second_factor_reauthentication_required", "the device has shown no factor")
        let stored = "select extract(day from max(expires) - now()) from demo.trusted_devices where object_id = '%'"
        let days = try await deployment.value(stored.replacing("%", with: holder.session.objectID))
        #expect(days == "29")

        let ended = try await deployment.send("DELETE", "users/sessions", token: session.token)
        #expect((200...204).contains(ended.status), "\(ended.text)")
        #expect(try await isAsked(holder, device), "logged out everywhere")

        (session, device) = try await trust(holder)
        try await deployment.database.psql(
            """
            update demo.trusted_devices set expires = now() - interval '1 second'
            where object_id = '\(holder.session.objectID)'
            """
        )
        #expect(try await isAsked(holder, device), "its days are over")

        (session, device) = try await trust(holder)
        let second = try id(try await confirm(try await begin(session), session))
        #expect(try await !isAsked(holder, device), "another factor changes nothing")
        #expect(try await remove(second, session).status == 204)
        #expect(try await isAsked(holder, device), "a factor was removed")

        (session, device) = try await trust(holder)
        let password = #"{"password": "\#(Self.words)", "currentPassword": "\#(Deployment.password)"}"#
        let path = "users/\(session.objectID)"
        let changed = try await deployment.send("PUT", path, password, token: session.token)
        #expect(changed.status == 200, "\(changed.text)")
        #expect(try await isAsked(holder, device, password: Self.words), "another password")
        #expect(try await !isAsked(other, elses), "nobody else's trust has ended")
    }

    @Test("devices are trusted only where the application has it, and no more once it has it not")
    func untrusted() async throws {
        let bare = try document("bare")
        let plain = try await holder(in: bare)
        let waiting = try await putOff(plain, to: bare)
        let reply = try await show(plain, for: waiting, more: #", "trustDevice": true"#, in: bare)
        #expect(try deployment.signedIn(reply).user["trusted-device"] == nil)
        let devices = try document("devices")
        let holder = try await holder(in: devices)
        let (_, device) = try await trust(holder, in: devices)
        #expect(try await logIn(holder.email, device, to: devices).status == 200)
        try await change(devices, to: #""policy": "optional""#)
        _ = try deployment.putOff(try await logIn(holder.email, device, to: devices))
    }

    @Test("a trusted device is no factor where one is required and none of the user's counts any more")
    func tightened() async throws {
        let tightened = try document("tightened")
        let holder = try await holder(in: tightened)
        let waiting = try await putOff(holder, to: tightened)
        let finished = try await show(holder, for: waiting, more: #", "trustDevice": true"#, in: tightened)
        let device = try #require(JSON.object(finished.text)?["trusted-device"]?.string, "\(finished.text)")
        let trusted = #", "trustedDevice": "\#(device)""#
        #expect(try await logIn(holder.email, trusted, to: tightened).status == 200)
        try await change(
            tightened,
            to: #"""
                "policy": "required", "factors": ["passkey", "recoveryCode"], "trustedDeviceDays": 30,
                "passkeys": {"rpId": "example.com", "origins": ["https://app.example.com"]}
                """#
        )
        _ = try deployment.putOff(
            try await logIn(holder.email, trusted, to: tightened),
            "second_factor_enrolment_required"
        )
    }
}
