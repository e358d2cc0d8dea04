import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Second factors on every road",
    .serialized,
    .deployed(
        document("optional", #""policy": "optional""#),
        document("required", #""policy": "required""#),
        document("staff", #""policy": "required", "roles": ["Editor"]"#),
        document("vouched", #""policy": "required", "exemptProviders": ["facebook"]"#),
        document("off", #""policy": "off""#)
    )
)
struct RoadTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private func document(_ application: String) throws -> Document {
        try #require(deployment.documents.first { $0.application == application })
    }

    /// Creates a user with an account for this way to log in, and with an authenticator app.
    private func enrolled(
        _ road: Road,
        in document: Document
    ) async throws -> (Traveller, AuthenticatorApp, session: LoginResult, codes: [String]) {
        let traveller = try await deployment.traveller()
        let session: LoginResult
        if road.isPassword {
            _ = try await deployment.register(traveller.email, to: document)
            session = try await deployment.logIn(traveller.email, to: document)
        } else if road.isFacebook {
            session = try await deployment.loggedIn(traveller.visitor, to: document)
        } else {
            session = try deployment.signedIn(try await deployment.login(traveller.bird, to: document))
        }
        let (app, _, codes) = try await deployment.enrolApp(of: session, in: document)
        return (traveller, app, session, codes)
    }

    /// Logs in up to the second factor, and expects that nothing is written or revealed before it.
    private func waitsTracelessly(
        _ road: Road,
        _ traveller: Traveller,
        to document: Document,
        _ reason: String = "second_factor_required"
    ) async throws -> Waiting {
        // Single-use values are used up, and some ways to log in create a guest first.
        var changing: Set<String> = ["attempts", "single_use"]
        if road.isGuest { changing.formUnion(["users", "sessions"]) }
        var waiting: Waiting?
        let words = traveller.words.map { "'\($0)'" }.joined(separator: ", ")
        let traces = "select * from canaries(\(words)) c where c like '\(document.application).%'"
        let before = try await deployment.database.psql(traces)
        try await deployment.expectNothingWritten(except: Set(changing.map { "\(document.application).\($0)" })) {
            let reply = try await deployment.travel(road, traveller, to: document)
            waiting = try deployment.waiting(reply, on: road, reason)
            for word in traveller.words + [Traveller.name, "user-token"] {
                #expect(!reply.text.contains(word), "\(word) in \(reply.text)")
            }
        }
        #expect(try await deployment.database.psql(traces) == before)
        return try #require(waiting)
    }

    @Test(
        "where a factor is asked for, nothing is written and nothing told before it is shown",
        arguments: Road.allCases.filter { $0.back == $0 }
    )
    func asked(road: Road) async throws {
        let document = try document("optional")
        let (traveller, app, session, codes) = try await enrolled(road, in: document)
        #expect(codes.count == 10)
        let user = "object_id = '\(session.objectID)'"
        try await deployment.database.psql("update optional.users set name = 'before' where \(user)")
        try await deployment.withSecondInstance { second in
            let waiting = try await waitsTracelessly(road, traveller, to: document)
            if case .client(let putOff) = waiting {
                #expect(putOff.factors.map { $0["kind"]?.string } == ["totp", "recoveryCode"])
                #expect(putOff.factors.allSatisfy { $0.keys == ["id", "kind", "created"] })
            }
            let factors = try await deployment.database.psql(
                "select id from optional.factors where \(user) order by kind = 'recoveryCode'"
            )
            #expect(waiting.factors.map { $0.lowercased() } == factors.compactMap { $0[0] })
            #expect(try await deployment.value("select count(*) from optional.sessions where \(user)") == "1")
            try await deployment.expectRefusal(
                try await deployment.show(app.wrongCode, for: waiting, in: document, at: second),
                on: road,
                "second_factor_invalid",
                in: document
            )
            let code = app.code(1)
            let finished = try #require(
                try await deployment.arrival(
                    of: try await deployment.show(code, for: waiting, in: document, at: second),
                    on: road,
                    in: document,
                    at: second
                )
            )
            #expect(finished.objectID == session.objectID)
            #expect(!finished.created)
            if !road.isPassword {
                #expect(finished.user["name"]?.string == Traveller.name, "the profile is written with the login")
            }
            let row = try await deployment.database.psql(
                """
                select factor_kind, factor_proved is not null from optional.sessions
                where \(user) order by created desc limit 1
                """
            )
            #expect(row == [["totp", "t"]])
            for instance in [nil, second] {
                try await deployment.expectRefusal(
                    try await deployment.show(code, for: waiting, in: document, at: instance),
                    on: road,
                    "pending_login_invalid",
                    "second_factor_invalid",
                    in: document
                )
            }
            // The code was used: another login needs another code.
            let next = try deployment.waiting(
                try await deployment.travel(road, traveller, to: document, at: second),
                on: road
            )
            try await deployment.expectRefusal(
                try await deployment.show(code, for: next, in: document),
                on: road,
                "second_factor_invalid",
                in: document
            )
            let rescued = try await deployment.show(
                codes[0].uppercased(),
                of: "recoveryCode",
                for: next,
                in: document
            )
            #expect(
                try await deployment.arrival(of: rescued, on: road, in: document)?.objectID == session.objectID
            )
            let third = try deployment.waiting(
                try await deployment.travel(road, traveller, to: document),
                on: road
            )
            try await deployment.expectRefusal(
                try await deployment.show(codes[0], of: "recoveryCode", for: third, in: document),
                on: road,
                "second_factor_invalid",
                in: document
            )
        }
    }

    @Test("what ended in the same second before a login waited does not end it; what ends after that does")
    func sameSecond() async throws {
        let document = try document("optional")
        let (traveller, app, session, codes) = try await enrolled(.accessToken, in: document)
        let ending = """
            update optional.identities set revoked = clock_timestamp() where object_id = '\(session.objectID)'
            """
        func waiting() async throws -> Waiting {
            try deployment.waiting(
                try await deployment.travel(.accessToken, traveller, to: document),
                on: .accessToken
            )
        }
        let early = try await waiting()
        try await deployment.database.psql(ending)
        try await deployment.expectRefusal(
            try await deployment.show(codes[0], of: "recoveryCode", for: early, in: document),
            on: .accessToken,
            "pending_login_invalid",
            in: document
        )
        // Start at the beginning of a second, so that the login starts in the same one.
        try await deployment.database.psql(
            "select pg_sleep(1.01 - (extract(epoch from clock_timestamp()) % 1)::float8); \(ending)"
        )
        let late = try await waiting()
        let shown = try await deployment.show(app.code(1), for: late, in: document)
        let arrived = try await deployment.arrival(of: shown, on: .accessToken, in: document)
        #expect(arrived?.objectID == session.objectID, "\(shown.text)")
    }

    @Test("where one is required and there is none, the login ends with its enrolment", arguments: Road.allCases)
    func enrolment(road: Road) async throws {
        let document = try document("required")
        let traveller = try await deployment.traveller()
        if road.isPassword { _ = try await deployment.register(traveller.email, to: document) }
        try await deployment.withSecondInstance { second in
            let waiting = try await waitsTracelessly(
                road,
                traveller,
                to: document,
                "second_factor_enrolment_required"
            )
            let (app, finished) = try await enrol(waiting, on: road, in: document, at: second)
            // The page of a popup has no header about a created user.
            #expect(finished.created == !(road.isPassword || road.isGuest || road == .popup))
            let factors = try await deployment.get("users/factors", token: finished.token, of: document)
            #expect(factors.status == 200 && factors.text.contains("totp"), "\(factors.text)")
            // From now on the factor is asked for, and the last one cannot be removed.
            let next = try deployment.waiting(
                try await deployment.travel(road.back, traveller, to: document),
                on: road.back
            )
            let shown = try await deployment.show(app.code(1), for: next, in: document)
            #expect(
                try await deployment.arrival(of: shown, on: road.back, in: document)?.objectID == finished.objectID
            )
            let id = try #require(next.factors.first)
            try expectProblem(
                try await deployment.send("DELETE", "users/factors/\(id)", token: finished.token, to: document),
                "last_factor"
            )
        }
    }

    /// Enrols an authenticator app for a pending login.
    private func enrol(
        _ waiting: Waiting,
        on road: Road,
        in document: Document,
        at second: ServiceProcess
    ) async throws -> (AuthenticatorApp, LoginResult) {
        switch waiting {
        case .client(let putOff): try await enrol(by: putOff, in: document, at: second)
        case .page(let page): try await enrol(by: page, on: road, in: document, at: second)
        }
    }

    private func enrol(
        by waiting: PutOff,
        in document: Document,
        at second: ServiceProcess
    ) async throws -> (AuthenticatorApp, LoginResult) {
        #expect(waiting.factors.map { $0["kind"]?.string } == ["totp"])
        // The pending login gives access to nothing else.
        for endpoint in ["users/factors", "users/sessions", "users/identities"] {
            let reply = try await deployment.get(endpoint, token: String(waiting.pending.prefix(43)), of: document)
            try expectProblem(reply, "session_invalid")
        }
        try expectProblem(
            try await deployment.finish(waiting, code: "123456", to: document),
            "pending_login_invalid"
        )
        let body = #"{"kind": "totp", "pending": "\#(waiting.pending)"}"#
        let begun = try await second.client.post(deployment.path("users/factors", of: document), json: body)
        #expect(begun.status == 200, "\(begun.text)")
        let app = try AuthenticatorApp(try #require(JSON.object(begun.text)))
        let confirm = "users/factors/\(app.id)/confirm"
        let wrong = #"{"code": "\#(app.wrongCode)", "pending": "\#(waiting.pending)"}"#
        try expectProblem(
            try await deployment.send("POST", confirm, wrong, to: document),
            "second_factor_invalid"
        )
        let right = #"{"code": "\#(app.code())", "pending": "\#(waiting.pending)"}"#
        let finished = try deployment.signedIn(
            try await second.client.post(deployment.path(confirm, of: document), json: right)
        )
        #expect(finished.user["recovery-codes"]?.array?.count == 10)
        try expectProblem(
            try await deployment.send("POST", confirm, right, to: document),
            oneOf: ["pending_login_invalid", "conflict"]
        )
        return (app, finished)
    }

    private func enrol(
        by page: FormPage,
        on road: Road,
        in document: Document,
        at second: ServiceProcess
    ) async throws -> (AuthenticatorApp, LoginResult) {
        func send(_ fields: [(String, String)], of page: FormPage) async throws -> FormPage {
            FormPage(reply: try await deployment.answerFactor(page, fields, of: document, at: second))
        }
        let begun = try await send([("kind", "totp")], of: page)
        let app = try begun.app
        let wrong = try await send([("draft", app.id), ("code", app.wrongCode)], of: begun)
        #expect(wrong.reply.status == 401 && !wrong.text.contains("user-token"))
        let codes = try await send([("draft", try wrong.app.id), ("code", app.code())], of: wrong)
        #expect(codes.recoveryCodes.count == 10)
        let end = road == .popup ? codes : try await send([("goOn", "yes")], of: codes)
        let finished = try await deployment.arrival(of: end.reply, on: road, in: document, at: second)
        return (app, try #require(finished, "\(end.text)"))
    }

    @Test("of roles, of a provider that vouches, and where it is off", arguments: Road.allCases)
    func others(road: Road) async throws {
        for name in ["off", "staff", "vouched"] {
            let document = try document(name)
            let traveller = try await deployment.traveller()
            if road.isPassword { _ = try await deployment.register(traveller.email, to: document) }
            let reply = try await deployment.travel(road, traveller, to: document)
            if name == "vouched", !road.isFacebook {
                _ = try deployment.putOff(reply, "second_factor_enrolment_required")
                continue
            }
            let arrival = try await deployment.arrival(of: reply, on: road, in: document)
            #expect(arrival != nil, "\(name): \(reply.text)")
            guard name == "staff" else { continue }
            let user = try #require(
                try await deployment.value("select object_id from staff.users where email = '\(traveller.email)'")
            )
            try await deployment.database.psql("insert into staff.user_roles values ('\(user)', 'Editor')")
            let asked = try await deployment.travel(road.back, traveller, to: document)
            _ = try deployment.waiting(asked, on: road.back, "second_factor_enrolment_required")
        }
    }

    @Test("what a session links waits until its user has shown the factor to it")
    func linking() async throws {
        let document = try document("optional")
        let (_, app, session, _) = try await enrolled(.accessToken, in: document)
        let other = try await deployment.traveller()
        let user = "object_id = '\(session.objectID)'"
        try await deployment.database.psql(
            "update optional.sessions set factor_proved = now() - interval '301 s' where \(user)"
        )
        func link(at instance: ServiceProcess) async throws -> HTTPReply {
            try await instance.client.post(
                deployment.path("users/identities/twitter", of: document),
                json: "{\(other.bird.credential)}",
                headers: [("user-token", session.token)]
            )
        }
        try await deployment.withSecondInstance { second in
            try await deployment.expectNothingWritten {
                let reply = try await link(at: second)
                try expectProblem(reply, "second_factor_reauthentication_required")
                for word in other.words + [Traveller.name] { #expect(!reply.text.contains(word)) }
            }
            let begun = try await deployment.send(
                "POST",
                "users/secondFactor/start",
                token: session.token,
                to: document
            )
            let data = try #require(JSON.object(begun.text), "\(begun.text)")
            let waiting = PutOff(
                pending: data["pending"]?.string ?? "",
                factors: data["factors"]?.array?.compactMap(\.object) ?? []
            )
            let done = try await deployment.finish(waiting, code: app.code(1), to: document, token: session.token)
            #expect(done.status == 200, "\(done.text)")
            let linked = try await link(at: second)
            #expect(linked.status == 200, "\(linked.text)")
            // From now on the identity is a login method, which asks for the factor, too.
            let asked = try await deployment.travel(.twitter, other, to: document)
            let factors = waiting.factors.compactMap { $0["id"]?.string }
            #expect(try deployment.waiting(asked, on: .twitter).factors == factors)
        }
    }
}

private func document(_ application: String, _ policy: String) -> Document {
    Document(
        application: application,
        consumers: ["consumerOne"],
        options: #""redirectUris": ["https://app.example.com/cb"], "returnUrls": ["https://app.example.com/done"]"#,
        settings: #"""
            {"secondFactor": {\#(policy)}, "roles": ["Editor"], "allowedOrigins": ["\#(Road.origin)"],
             "registration": {"maxPerSourcePerHour": 1000}}
            """#,
        mapping: #"{"email": "email", "first_name": "name"}"#,
        twitterMapping: #"{"email": "email", "name": "name"}"#
    )
}
