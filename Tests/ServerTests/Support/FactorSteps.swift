import TestSupport
import Testing
import Vocabulary

@testable import ServerTestSupport

extension Deployment {
    /// Begins to enrol a factor; members are JSON text.
    func beginFactor(
        _ kind: String,
        _ members: String = "",
        of session: SignedIn,
        in document: Document? = nil,
        at client: HTTPClient? = nil
    ) async throws -> HTTPReply {
        let members = members.isEmpty ? "" : ", " + members
        return try await (client ?? self.client).post(
            path("users/factors", of: document),
            json: #"{"kind": "\#(kind)"\#(members)}"#,
            headers: [("user-token", session.token)]
        )
    }

    /// Shows that a factor is the person's; the answer is JSON text.
    func confirmFactor(
        _ id: String,
        _ answer: String,
        of session: SignedIn,
        in document: Document? = nil,
        at client: HTTPClient? = nil
    ) async throws -> HTTPReply {
        try await (client ?? self.client).post(
            path("users/factors/\(id)/confirm", of: document),
            json: "{\(answer)}",
            headers: [("user-token", session.token)]
        )
    }

    /// The factors of a session's user.
    func factors(of session: SignedIn, in document: Document? = nil) async throws -> [JSONObject] {
        let reply = try await get("users/factors", token: session.token, of: document)
        try #require(reply.status == 200, "\(reply.text)")
        return JSON.object(reply.text)?["factors"]?.array?.compactMap(\.object) ?? []
    }

    /// The kinds that can be enrolled.
    func offeredKinds(
        to session: SignedIn,
        in document: Document? = nil,
        at client: HTTPClient? = nil
    ) async throws -> [String] {
        let headers = [("user-token", session.token)]
        let reply = try await (client ?? self.client).get(path("users/factors", of: document), headers: headers)
        try #require(reply.status == 200, "\(reply.text)")
        return JSON.object(reply.text)?["kinds"]?.array?.compactMap(\.string) ?? []
    }

    /// Asks for a factor of a login that waits.
    func startFactor(
        _ waiting: PutOff,
        _ factor: String,
        in document: Document? = nil,
        at client: HTTPClient? = nil
    ) async throws -> HTTPReply {
        try await (client ?? self.client).post(
            path("users/secondFactor/start", of: document),
            json: #"{"pending": "\#(waiting.pending)", "factorId": "\#(factor)"}"#
        )
    }

    /// Shows a factor for what waits; the answer is JSON text.
    func finishFactor(
        _ waiting: PutOff,
        _ answer: String,
        session: SignedIn? = nil,
        in document: Document? = nil,
        at client: HTTPClient? = nil
    ) async throws -> HTTPReply {
        try await (client ?? self.client).post(
            path("users/secondFactor/finish", of: document),
            json: #"{"pending": "\#(waiting.pending)", \#(answer)}"#,
            headers: session.map { [("user-token", $0.token)] } ?? []
        )
    }

    /// Begins to ask the person of a session for a factor, which must succeed.
    func stepUp(_ session: SignedIn, in document: Document? = nil) async throws -> PutOff {
        let reply = try await send("POST", "users/secondFactor/start", token: session.token, to: document)
        try #require(reply.status == 200, "\(reply.text)")
        let data = try #require(JSON.object(reply.text))
        #expect(data.keys == ["pending", "factors", "expires"])
        return PutOff(
            pending: try #require(data["pending"]?.string),
            factors: data["factors"]?.array?.compactMap(\.object) ?? []
        )
    }

    /// How many sessions a user has.
    func sessions(of user: String, in application: String = "demo") async throws -> String? {
        try await value("select count(*) from \(application).sessions where object_id = '\(user)'")
    }

    /// What the latest session of a user was opened with: `factor_kind` and whether it was just shown.
    func shownFactor(of user: String, in application: String = "demo") async throws -> [String?] {
        try await database.psql(
            """
            select factor_kind, factor_proved > now() - interval '1 minute' from \(application).sessions
            where object_id = '\(user)' order by created desc limit 1
            """
        ).first ?? []
    }
}

extension SimulatorProcess {
    /// What a telephone has got, oldest first.
    func messages(to number: String) async throws -> [JSONObject] {
        let inbox = try await control.get("/sms")
        return (JSON.value(inbox.text)?.array ?? []).compactMap(\.object).filter { $0["to"]?.string == number }
    }
}
