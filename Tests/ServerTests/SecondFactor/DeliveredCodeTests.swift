import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

private let mails = MailsFolder()
/// The environment, with a short timeout of the SMS gateway.
private let environment = mails.environment.merging(["FEDERATION_SMS_CALL_MILLISECONDS": "1500"]) { $1 }

private func settings(_ sms: String = "") -> String {
    #"""
    {"secondFactor": {"policy": "optional", "factors": ["totp", "recoveryCode", "sms", "email"],
                      "sms": {"countries": ["+4179", "+49"]\#(sms.isEmpty ? "" : ", " + sms)}}}
    """#
}

@Suite(
    "Second factors that are sent",
    .serialized,
    .deployed(
        Document(settings: settings(#""maxPerSourcePerHour": 1000"#), mapping: #"{"email": "email"}"#),
        Document(application: "number", settings: settings(#""maxPerNumberPerDay": 3, "maxPerSourcePerHour": 1000"#)),
        Document(application: "source", settings: settings(#""maxPerSourcePerHour": 3"#)),
        Document(application: "day", settings: settings(#""maxPerDay": 5"#)),
        Document(application: "moving", settings: settings()),
        environment: environment
    )
)
struct DeliveredCodeTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    /// A user with a telephone or a mailbox as second factor.
    private struct Holder {
        let visitor: Visitor
        let session: LoginResult
        let target: String
        let factor: String
    }

    private func document(_ application: String) throws -> Document {
        try #require(deployment.documents.first { $0.application == application })
    }

    private func newNumber() -> String { "+4179\(Int.random(in: 1_000_000...9_999_999))" }

    private func newcomer(to document: Document? = nil) async throws -> (Visitor, LoginResult) {
        let email = "p\(UInt32.random(in: 0...UInt32.max)).canary@example.com"
        let visitor = try await deployment.newcomer(#"{"email": "\#(email)"}"#)
        return (visitor, try await deployment.loggedIn(visitor, to: document))
    }

    /// Returns the latest code that was sent to a telephone.
    private func code(to number: String) async throws -> String {
        try #require(try await deployment.simulator.messages(to: number).last?["code"]?.string)
    }

    /// Returns the code of the next mail to an address.
    private func mailedCode(to address: String) async throws -> String {
        let mail = try await mails.next(to: address)
        let lines = mail.split(whereSeparator: \.isNewline)
        let code = lines.first { line in line.count == 6 && line.allSatisfy(\.isNumber) }
        return String(try #require(code, "\(mail)"))
    }

    private func wrong(_ code: String) -> String { code == "123456" ? "654321" : "123456" }

    private func enrol(_ kind: String, _ members: String, _ session: LoginResult, in document: Document? = nil)
        async throws -> String
    {
        let begun = try await deployment.beginFactor(kind, members, of: session, in: document)
        try #require(begun.status == 200, "\(begun.text)")
        return try #require(JSON.object(begun.text)?["id"]?.string)
    }

    private func enrol(_ number: String, of session: LoginResult, in document: Document? = nil) async throws -> String {
        let draft = try await enrol("sms", #""phone": "\#(number)""#, session, in: document)
        let answer = #""code": "\#(try await code(to: number))""#
        let confirmed = try await deployment.confirmFactor(draft, answer, of: session, in: document)
        try #require(confirmed.status == 200, "\(confirmed.text)")
        return try #require(JSON.object(confirmed.text)?["id"]?.string)
    }

    private func holder(in document: Document? = nil) async throws -> Holder {
        let (visitor, session) = try await newcomer(to: document)
        let number = newNumber()
        let factor = try await enrol(number, of: session, in: document)
        return Holder(visitor: visitor, session: session, target: number, factor: factor)
    }

    private func putOff(_ holder: Holder, to document: Document? = nil) async throws -> PutOff {
        try deployment.putOff(try await deployment.login(holder.visitor, to: document))
    }

    /// Requests a code for a pending login and returns the code.
    private func code(of waiting: PutOff, _ holder: Holder, at client: HTTPClient? = nil) async throws -> String {
        let started = try await deployment.startFactor(waiting, holder.factor, at: client)
        try #require(started.status == 200, "\(started.text)")
        return try await code(to: holder.target)
    }

    private func answer(_ code: String, _ holder: Holder) -> String {
        #""factorId": "\#(holder.factor)", "code": "\#(code)""#
    }

    /// Checks that responses, the log and the database contain a number or an address only masked.
    private func expectMasked(_ secret: String, _ said: [HTTPReply]) async throws {
        for reply in said {
            let wire = reply.headers.map { "\($0.name): \($0.value)" }.joined(separator: "\n") + reply.text
            #expect(!wire.contains(secret), "\(wire)")
        }
        #expect(!deployment.service.process.standardOutput.contains(secret))
        let columns = try await eventually("no mail waits any more") {
            let columns = try await deployment.database.psql("select * from canaries('\(secret)')")
            return columns.contains { $0.first??.contains(".mails.") == true } ? nil : columns
        }
        #expect(columns.isEmpty, "\(columns)")
    }

    @Test("a code by SMS enrols a telephone and finishes a login; the number is shown to nobody, and sealed")
    func message() async throws {
        let (visitor, session) = try await newcomer()
        let number = newNumber()
        let masked = "+41 •••• \(number.suffix(2))"
        var said: [HTTPReply] = []
        let spelled = "+41 79 \(number.dropFirst(5).prefix(3))-\(number.suffix(4))"
        let begun = try await deployment.beginFactor("sms", #""phone": "\#(spelled)", "label": "mine""#, of: session)
        said.append(begun)
        let draft = try #require(JSON.object(begun.text), "\(begun.text)")
        #expect(draft.keys == ["id", "kind", "sentTo", "expires"] && draft["sentTo"]?.string == masked)
        let first = try #require(try await deployment.simulator.messages(to: number).first)
        let code = try #require(first["code"]?.string)
        #expect(first["application"]?.string == "demo" && first["text"]?.string?.hasPrefix(code) == true)
        let id = draft["id"]?.string ?? ""
        let refused = try await deployment.confirmFactor(id, #""code": "\#(wrong(code))""#, of: session)
        try expectProblem(refused, "second_factor_invalid")
        #expect(try await deployment.factors(of: session).isEmpty)
        let confirmed = try await deployment.confirmFactor(id, #""code": "\#(code)""#, of: session)
        said += [refused, confirmed]
        let factor = try #require(JSON.object(confirmed.text), "\(confirmed.text)")
        #expect(factor["kind"]?.string == "sms" && factor["hint"]?.string == masked)
        #expect(factor["label"]?.string == "mine" && factor["recoveryCodes"]?.array?.count == 10)
        said.append(try await deployment.get("users/factors", token: session.token))

        let asked = try await deployment.login(visitor)
        let waiting = try deployment.putOff(asked)
        #expect(waiting.factors.first?.keys == ["id", "kind", "hint", "created"])
        #expect(waiting.factors.first?["hint"]?.string == masked)
        #expect(
            try await deployment.simulator.messages(to: number).count == 1,
            "nothing is sent before it is asked for"
        )
        let started = try await deployment.startFactor(waiting, try #require(waiting.id(of: "sms")))
        #expect(JSON.object(started.text)?.keys == ["sentTo", "expires"], "\(started.text)")
        #expect(JSON.object(started.text)?["sentTo"]?.string == masked)
        let sent = try await self.code(to: number)
        for code in [wrong(sent), code] where code != sent {
            try expectProblem(try await deployment.finish(waiting, "sms", code: code), "second_factor_invalid")
        }
        try expectProblem(
            try await deployment.finishFactor(waiting, #""code": "\#(sent)""#),
            "malformed_request",
            "which factor it is of has to be said"
        )
        #expect(try await deployment.sessions(of: session.objectID) == "1")
        let finished = try await deployment.finish(waiting, "sms", code: sent)
        #expect(try deployment.signedIn(finished).objectID == session.objectID)
        #expect(
            try await deployment.shownFactor(of: session.objectID) == ["sms", "t"]
        )
        said += [asked, started, finished]
        try expectProblem(try await deployment.finish(waiting, "sms", code: sent), "pending_login_invalid")
        #expect(try await deployment.sessions(of: session.objectID) == "2")
        let removed = try await deployment.send(
            "DELETE",
            "users/factors/\(try #require(waiting.id(of: "sms")))",
            token: session.token
        )
        #expect(removed.status == 204, "\(removed.text)")
        try await expectMasked(String(number.dropFirst(3).dropLast(2)), said)
    }

    @Test("a code by mail enrols a mailbox, the user's own unless another is named, and finishes a login")
    func mail() async throws {
        let (visitor, session) = try await newcomer()
        let own = try #require(session.user["email"]?.string)
        let draft = try await enrol("email", "", session)
        let code = try await mailedCode(to: own)
        try expectProblem(
            try await deployment.confirmFactor(draft, #""code": "\#(wrong(code))""#, of: session),
            "second_factor_invalid"
        )
        #expect(try await deployment.confirmFactor(draft, #""code": "\#(code)""#, of: session).status == 200)

        let name = "x\(UInt32.random(in: 100_000_000...UInt32.max))"
        let other = "\(name)@elsewhere.example"
        let begun = try await deployment.beginFactor("email", #""email": "\#(other)""#, of: session)
        #expect(JSON.object(begun.text)?["sentTo"]?.string == "x•••@e•••.example", "\(begun.text)")
        let second = try #require(JSON.object(begun.text)?["id"]?.string)
        let secondCode = try await mailedCode(to: other)
        let confirmed = try await deployment.confirmFactor(second, #""code": "\#(secondCode)""#, of: session)
        let factor = try #require(JSON.object(confirmed.text)?["id"]?.string, "\(confirmed.text)")

        let asked = try await deployment.login(visitor)
        let waiting = try deployment.putOff(asked)
        let hints = waiting.factors.map { $0["hint"]?.string }
        #expect(hints == ["p•••@e•••.com", nil, "x•••@e•••.example"])
        let started = try await deployment.startFactor(waiting, factor)
        #expect(started.status == 200, "\(started.text)")
        let sent = try await mailedCode(to: other)
        // The code of one mailbox is invalid for the other.
        let ofOther = #""factorId": "\#(waiting.id(of: "email") ?? "")", "code": "\#(sent)""#
        try expectProblem(try await deployment.finishFactor(waiting, ofOther), "second_factor_invalid")
        let finished = try await deployment.finishFactor(waiting, #""factorId": "\#(factor)", "code": "\#(sent)""#)
        #expect(try deployment.signedIn(finished).objectID == session.objectID)
        #expect(try await deployment.shownFactor(of: session.objectID) == ["email", "t"])
        try await expectMasked(name, [begun, confirmed, asked, started, finished])
    }

    @Test("mailboxes get ten codes an hour to log in, three a day to enrol; who has no address has to name one")
    func mailbox() async throws {
        let moving = try document("moving")
        let (visitor, session) = try await newcomer(to: moving)
        try expectProblem(try await deployment.beginFactor("email", of: session, in: moving), "email_invalid")
        for text in ["", "x", "@example.com", "a b@example.com"] {
            let reply = try await deployment.beginFactor("email", #""email": "\#(text)""#, of: session, in: moving)
            try expectProblem(reply, oneOf: ["email_invalid", "malformed_request"])
        }
        let address = "m\(UInt32.random(in: 0...UInt32.max))@example.com"
        let draft = try await enrol("email", #""email": "\#(address)""#, session, in: moving)
        let code = try await mailedCode(to: address)
        let confirmed = try await deployment.confirmFactor(draft, #""code": "\#(code)""#, of: session, in: moving)
        let factor = try #require(JSON.object(confirmed.text)?["id"]?.string, "\(confirmed.text)")
        let (_, stranger) = try await newcomer(to: moving)
        for count in 2...4 {
            let reply = try await deployment.beginFactor("email", #""email": "\#(address)""#, of: stranger, in: moving)
            if count < 4 { #expect(reply.status == 200) } else { try expectProblem(reply, "too_many_attempts") }
        }
        let waiting = try deployment.putOff(try await deployment.login(visitor, to: moving))
        for count in 1...11 {
            let reply = try await deployment.startFactor(waiting, factor, in: moving)
            if count < 11 { #expect(reply.status == 200) } else { try expectProblem(reply, "too_many_attempts") }
        }
        var texts: [String] = []
        try await eventually("two mails of the stranger's and ten of the owner's, and no more") {
            texts += try mails.take(to: address)
            return texts.count == 12
        }
        #expect(texts.count { $0.contains("enter this code:") } == 10)
    }

    @Test("a code is good for one login and one factor, in whichever instance; sent again, it is the same")
    func occasions() async throws {
        let holder = try await holder()
        let other = newNumber()
        let second = try await enrol(other, of: holder.session)
        try await deployment.withSecondInstance(environment: environment) { instance in
            let (waiting, elsewhere) = (try await putOff(holder), try await putOff(holder))
            let code = try await code(of: waiting, holder, at: instance.client)
            let another = try await self.code(of: elsewhere, holder)
            let again = try await self.code(of: waiting, holder)
            #expect(again == code && another != code)
            #expect(try await deployment.startFactor(waiting, second).status == 200)
            let ofOther = try await self.code(to: other)
            for code in [another, ofOther] {
                let reply = try await deployment.finishFactor(waiting, answer(code, holder))
                try expectProblem(reply, "second_factor_invalid")
            }
            let finished = try await deployment.finishFactor(waiting, answer(code, holder), at: instance.client)
            #expect(finished.status == 200, "\(finished.text)")
            try expectProblem(
                try await deployment.finishFactor(elsewhere, answer(code, holder)),
                "second_factor_invalid"
            )
            // A pending login cannot start another user's factor.
            let stranger = try await self.holder()
            try expectProblem(try await deployment.startFactor(elsewhere, stranger.factor), "not_found")
            #expect(try await deployment.simulator.messages(to: stranger.target).count == 1)

            let before = try #require(try await deployment.sessions(of: holder.session.objectID).flatMap { Int($0) })
            let statuses = try await atOnce(8) { index in
                try await deployment.finishFactor(
                    elsewhere,
                    answer(another, holder),
                    at: index.isMultiple(of: 2) ? instance.client : nil
                ).status
            }
            #expect(statuses.count { $0 == 200 } == 1, "\(statuses)")
            #expect(try await deployment.sessions(of: holder.session.objectID) == "\(before + 1)")
        }
    }

    @Test("an enrolment ends after five wrong codes, and so does a login")
    func guesses() async throws {
        let holder = try await holder()
        let number = newNumber()
        let draft = try await enrol("sms", #""phone": "\#(number)""#, holder.session)
        let code = try await code(to: number)
        for _ in 0..<5 {
            let reply = try await deployment.confirmFactor(draft, #""code": "\#(wrong(code))""#, of: holder.session)
            try expectProblem(reply, "second_factor_invalid")
        }
        let late = try await deployment.confirmFactor(draft, #""code": "\#(code)""#, of: holder.session)
        try expectProblem(late, "too_many_attempts")
        #expect(try await deployment.factors(of: holder.session).count { $0["kind"]?.string == "sms" } == 1)
        let waiting = try await putOff(holder)
        let right = try await self.code(of: waiting, holder)
        for _ in 0..<5 {
            let reply = try await deployment.finishFactor(waiting, answer(wrong(right), holder))
            try expectProblem(reply, "second_factor_invalid")
        }
        try expectProblem(
            try await deployment.finishFactor(waiting, answer(right, holder)),
            "pending_login_invalid"
        )
    }

    @Test("a number, a source and an application get so many messages and no more, over all instances")
    func prices() async throws {
        try await deployment.withSecondInstance(environment: environment) { instance in
            @Sendable func begin(
                _ number: String,
                _ session: LoginResult,
                _ document: Document,
                from client: HTTPClient
            )
                async throws -> HTTPReply
            {
                let phone = #""phone": "\#(number)""#
                return try await deployment.beginFactor("sms", phone, of: session, in: document, at: client)
            }
            let byNumber = try document("number")
            let (bySource, byDay) = (try document("source"), try document("day"))
            // Limit per number: a login's code is sent three times; enrolments have a limit of their own.
            let holder = try await holder(in: byNumber)
            let waiting = try await putOff(holder, to: byNumber)
            let (_, stranger) = try await newcomer(to: byNumber)
            let spelled = "+41 79-\(holder.target.dropFirst(5))"
            for client in [instance.client, deployment.client] {
                #expect(try await begin(spelled, stranger, byNumber, from: client).status == 200)
            }
            try expectProblem(
                try await begin(spelled, stranger, byNumber, from: deployment.client),
                "too_many_attempts",
                "whoever asks, and however it is written"
            )
            for client in [instance.client, deployment.client, instance.client] {
                let started = try await deployment.startFactor(waiting, holder.factor, in: byNumber, at: client)
                #expect(started.status == 200, "a stranger's enrolments are none of its logins: \(started.text)")
            }
            let fourth = try await deployment.startFactor(waiting, holder.factor, in: byNumber, at: instance.client)
            try expectProblem(fourth, "too_many_attempts")
            #expect(try await deployment.simulator.messages(to: holder.target).count == 6)
            let number = newNumber()
            let (_, other) = try await newcomer(to: byNumber)
            let statuses = try await atOnce(8) { index in
                let client = index.isMultiple(of: 2) ? instance.client : deployment.client
                return try await begin(number, other, byNumber, from: client).status
            }
            #expect(statuses.count { $0 == 200 } == 3, "\(statuses)")
            #expect(try await deployment.simulator.messages(to: number).count == 3)
            // A user may enrol ten numbers a day.
            let (_, collector) = try await newcomer(to: byNumber)
            var taken = 0
            for _ in 0..<12 {
                let reply = try await begin(newNumber(), collector, byNumber, from: instance.client)
                if reply.status == 200 { taken += 1 } else { try expectProblem(reply, "too_many_attempts") }
            }
            #expect(taken == 10)

            // Limit per source, which a header does not change.
            let (_, person) = try await newcomer(to: bySource)
            let source = "127.3.\(Int.random(in: 1...254)).\(Int.random(in: 1...254))"
            for port in [deployment.client.port, instance.client.port, deployment.client.port] {
                let client = HTTPClient(port: port, source: source)
                #expect(try await begin(newNumber(), person, bySource, from: client).status == 200)
            }
            let refused = newNumber()
            let client = HTTPClient(port: instance.client.port, source: source)
            try expectProblem(try await begin(refused, person, bySource, from: client), "too_many_attempts")
            let claimed = try await client.post(
                deployment.path("users/factors", of: bySource),
                json: #"{"kind": "sms", "phone": "\#(refused)"}"#,
                headers: [("user-token", person.token), ("X-Forwarded-For", "203.0.113.9")]
            )
            try expectProblem(claimed, "too_many_attempts")
            #expect(try await deployment.simulator.messages(to: refused).isEmpty)
            #expect(try await begin(refused, person, bySource, from: deployment.client).status == 200)

            // Limit per application and day, for all sources together; a fifth of the messages may be for enrolments.
            let enrolled = try await self.holder(in: byDay)
            let (_, another) = try await newcomer(to: byDay)
            try expectProblem(
                try await begin(newNumber(), another, byDay, from: HTTPClient(port: instance.client.port)),
                "too_many_attempts"
            )
            let login = try await putOff(enrolled, to: byDay)
            var sent = 0
            for index in 1...6 {
                let client = HTTPClient(port: deployment.client.port, source: "127.4.4.\(index)")
                let reply = try await deployment.startFactor(login, enrolled.factor, in: byDay, at: client)
                if reply.status == 200 { sent += 1 } else { try expectProblem(reply, "too_many_attempts") }
            }
            #expect(sent == 4)
        }
    }

    @Test(
        "numbers of other countries and texts that are none get nothing, nor those of a country that has left the list"
    )
    func countries() async throws {
        let moving = try document("moving")
        let holder = try await holder(in: moving)
        let session = holder.session
        for number in ["+41781234567", "+12025550123", "+4412345678"] {
            let reply = try await deployment.beginFactor("sms", #""phone": "\#(number)""#, of: session, in: moving)
            try expectProblem(reply, "factor_not_offered")
            #expect(try await deployment.simulator.messages(to: number).isEmpty)
        }
        let nonsense = ["0791234567", "0041791234567", "+41 (0)79 123 45 67", "+4179123456x", "+41791"]
        for text in nonsense + ["", "+4179123456789012"] {
            let reply = try await deployment.beginFactor("sms", #""phone": "\#(text)""#, of: session, in: moving)
            try expectProblem(reply, "malformed_request")
            #expect(text.isEmpty || !reply.text.contains(text))
        }
        try expectProblem(try await deployment.beginFactor("sms", of: session, in: moving), "malformed_request")
        var changed = moving
        changed.settings = settings().replacing("+4179", with: "+4178")
        try await changed.apply(to: deployment.database)
        try await eventually("the list of countries is known") {
            let phone = #""phone": "\#(newNumber())""#
            return try await deployment.beginFactor("sms", phone, of: session, in: moving).status == 400
        }
        let waiting = try await putOff(holder, to: moving)
        try expectProblem(
            try await deployment.startFactor(waiting, holder.factor, in: moving),
            "factor_not_offered"
        )
        #expect(try await deployment.simulator.messages(to: holder.target).count == 1)
    }

    @Test("without a gateway or a mail server a kind is not offered, and who has no other is not let in without")
    func nothingToSendWith() async throws {
        let holder = try await holder()
        let none = ["FEDERATION_MAIL_FOLDER": "", "FEDERATION_SMS_URL": "", "FEDERATION_SMS_SECRET": ""]
        try await deployment.withSecondInstance(environment: none) { instance in
            let kinds = try await deployment.offeredKinds(to: holder.session, at: instance.client)
            #expect(kinds == ["totp", "recoveryCode"])
            let phone = #""phone": "\#(newNumber())""#
            let reply = try await deployment.beginFactor("sms", phone, of: holder.session, at: instance.client)
            try expectProblem(reply, "factor_not_offered")
            let mail = try await deployment.beginFactor("email", of: holder.session, at: instance.client)
            try expectProblem(mail, oneOf: ["factor_not_offered", "mail_off"])
            let login = try await instance.client.post(
                deployment.path("users/loginWithFacebook"),
                json: #"{"accessToken": "\#(holder.visitor.token)"}"#
            )
            let waiting = try deployment.putOff(login)
            #expect(waiting.factors.map { $0["kind"]?.string } == ["recoveryCode"])
            try expectProblem(
                try await deployment.startFactor(waiting, holder.factor, at: instance.client),
                "not_found"
            )
        }
        #expect(try await deployment.offeredKinds(to: holder.session) == ["totp", "recoveryCode", "sms", "email"])
    }

    @Test(
        "what the gateway does not take is said, counted, and sent no second time",
        arguments: [#""reply", "status": 400, "json": {}"#, #""reply", "status": 503, "json": {}"#, #""hang""#]
    )
    func gateway(effect: String) async throws {
        let byNumber = try document("number")
        // Other tests have the same source.
        try await deployment.database.psql("delete from number.attempts")
        let holder = try await holder(in: byNumber)
        let waiting = try await putOff(holder, to: byNumber)
        try await deployment.simulator.withFault(#"{"path": "sms", "effect": \#(effect)}"#) {
            for _ in 1...3 {
                let requests = try await deployment.simulator.requests {
                    let reply = try await deployment.startFactor(waiting, holder.factor, in: byNumber)
                    try expectProblem(reply, "code_not_delivered")
                }
                #expect(requests.count { $0.path == "sms" } == 1)
            }
        }
        #expect(try await deployment.simulator.messages(to: holder.target).count == 1)
        // The three attempts counted, though the gateway accepted none.
        try expectProblem(
            try await deployment.startFactor(waiting, holder.factor, in: byNumber),
            "too_many_attempts"
        )
    }
}
