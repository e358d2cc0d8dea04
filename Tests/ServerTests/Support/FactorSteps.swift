import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

extension Deployment {
    /// Begins the enrolment of a factor; members are JSON text.
    func beginFactor(
        _ kind: String,
        _ members: String = "",
        of session: LoginResult,
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

    /// Confirms the enrolment of a factor; the answer is JSON text.
    func confirmFactor(
        _ id: String,
        _ answer: String,
        of session: LoginResult,
        in document: Document? = nil,
        at client: HTTPClient? = nil
    ) async throws -> HTTPReply {
        try await (client ?? self.client).post(
            path("users/factors/\(id)/confirm", of: document),
            json: "{\(answer)}",
            headers: [("user-token", session.token)]
        )
    }

    /// Returns the factors of a session's user.
    func factors(of session: LoginResult, in document: Document? = nil) async throws -> [JSONObject] {
        let reply = try await get("users/factors", token: session.token, of: document)
        try #require(reply.status == 200, "\(reply.text)")
        return JSON.object(reply.text)?["factors"]?.array?.compactMap(\.object) ?? []
    }

    /// Returns the kinds of factors that can be enrolled.
    func offeredKinds(
        to session: LoginResult,
        in document: Document? = nil,
        at client: HTTPClient? = nil
    ) async throws -> [String] {
        let headers = [("user-token", session.token)]
        let reply = try await (client ?? self.client).get(path("users/factors", of: document), headers: headers)
        try #require(reply.status == 200, "\(reply.text)")
        return JSON.object(reply.text)?["kinds"]?.array?.compactMap(\.string) ?? []
    }

    /// Starts a factor of a pending login.
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

    /// Shows a factor for a pending login or step-up; the answer is JSON text.
    func finishFactor(
        _ waiting: PutOff,
        _ answer: String,
        session: LoginResult? = nil,
        in document: Document? = nil,
        at client: HTTPClient? = nil
    ) async throws -> HTTPReply {
        try await (client ?? self.client).post(
            path("users/secondFactor/finish", of: document),
            json: #"{"pending": "\#(waiting.pending)", \#(answer)}"#,
            headers: session.map { [("user-token", $0.token)] } ?? []
        )
    }

    /// Starts a step-up in a session and requires success.
    func stepUp(_ session: LoginResult, in document: Document? = nil) async throws -> PutOff {
        let reply = try await send("POST", "users/secondFactor/start", token: session.token, to: document)
        try #require(reply.status == 200, "\(reply.text)")
        let data = try #require(JSON.object(reply.text))
        #expect(data.keys == ["pending", "factors", "expires"])
        return PutOff(
            pending: try #require(data["pending"]?.string),
            factors: data["factors"]?.array?.compactMap(\.object) ?? []
        )
    }

    /// Counts a user's sessions.
    func sessions(of user: String, in application: String = "demo") async throws -> String? {
        try await value("select count(*) from \(application).sessions where object_id = '\(user)'")
    }

    /// Returns the second factor of a user's latest session: `factor_kind`, and whether it was shown just now.
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
    /// Returns the messages to a telephone, oldest first.
    func messages(to number: String) async throws -> [JSONObject] {
        let inbox = try await control.get("/sms")
        return (JSON.value(inbox.text)?.array ?? []).compactMap(\.object).filter { $0["to"]?.string == number }
    }
}
