import FoundationEssentials
import TestSupport

/// The users of the simulator, each with an access token.
struct People: Codable {
    let tokens: [String]

    /// Returns the app-scoped id of the user with that number.
    static func subject(_ number: Int) -> String { String(10_000_000_000_000_000 + number) }

    /// Creates that many users, with the first numbers.
    static func make(_ count: Int, control: HTTPClient) async throws -> People {
        try await make(0..<count, control: control)
    }

    /// Creates users by their numbers, and tokens for them, through the simulator's control port.
    static func make(_ numbers: some Sequence<Int>, control: HTTPClient) async throws -> People {
        var tokens: [String] = []
        for number in numbers {
            let key = "benchmark-\(number)"
            let permissions = scopes.map { "\"\($0)\": \"granted\"" }.joined(separator: ", ")
            let identity = """
                {"ids": {"\(Setting.appID)": "\(subject(number))"}, "permissions": {\(permissions)},
                """
            _ = try await send("PUT", "/people/\(key)", identity + profile(number).dropFirst(), to: control)
            let token = try await send("POST", "/tokens", #"{"kind": "long", "person": "\#(key)"}"#, to: control)
            tokens.append(try JSONDecoder().decode(Minted.self, from: Data(token.body)).token)
        }
        return People(tokens: tokens)
    }

    static let scopes = [
        "public_profile", "email", "user_birthday", "user_age_range", "user_gender", "user_location",
    ]

    /// Returns the profile of the user with that number.
    static func profile(_ number: Int) -> String {
        """
        {"name": "Given\(number) Family\(number)", "first_name": "Given\(number)", "last_name": "Family\(number)", \
        "email": "person\(number)@example.com", "birthday": "05/17/1990", "age_range": {"min": 21}, "gender": "Female", \
        "location": {"id": "1", "name": "Berlin, Germany"}}
        """
    }

    /// Creates single-use ID tokens for existing users in turns.
    static func idTokens(_ count: Int, of people: Int, control: HTTPClient) async throws -> People {
        try await control.withConnection { connection in
            var tokens: [String] = []
            tokens.reserveCapacity(count)
            for number in 0..<count {
                let wish = #"{"person": "benchmark-\#(number % people)", "app": "\#(Setting.appID)"}"#
                let reply = try await connection.send("POST", "/id-tokens", body: Array(wish.utf8))
                guard reply.status == 201 else { throw ControlRefused(path: "/id-tokens", reply: reply.text) }
                tokens.append(try JSONDecoder().decode(Minted.self, from: Data(reply.body)).token)
            }
            return People(tokens: tokens)
        }
    }

    /// Creates single-use ID tokens of a simulated issuer, `staff`, for that many users in turns.
    ///
    /// They have the claims of the tokens of Limited Login.
    static func issuerTokens(
        _ count: Int,
        of people: Int,
        _ setting: Setting,
        control: HTTPClient
    ) async throws -> People {
        let issuer = #"{"clients": {"web": "\#(Setting.appSecret)"}}"#
        _ = try await send("PUT", "/openid/issuers/staff", issuer, to: control)
        return try await control.withConnection { connection in
            var tokens: [String] = []
            tokens.reserveCapacity(count)
            for number in 0..<count {
                let person = number % people
                let wish = """
                    {"issuer": "staff", "origin": "\(setting.graphURL)", "client": "web", "claims": {
                      "sub": "\(subject(person))", "jti": "\(number)", "email": "person\(person)@example.com",
                      "name": "Given\(person) Family\(person)", "given_name": "Given\(person)",
                      "family_name": "Family\(person)", "birthdate": "1990-05-17", "age_range": {"min": 21},
                      "gender": "Female", "location": {"id": "1", "name": "Berlin, Germany"},
                      "picture": "https://example.com/pictures/\(person).jpg"}}
                    """
                let reply = try await connection.send("POST", "/openid/tokens", body: Array(wish.utf8))
                guard reply.status == 201 else { throw ControlRefused(path: "/openid/tokens", reply: reply.text) }
                tokens.append(try JSONDecoder().decode(Minted.self, from: Data(reply.body)).token)
            }
            return People(tokens: tokens)
        }
    }

    private struct Minted: Codable {
        let token: String
    }

    /// Sends JSON to the simulator's control port.
    static func send(
        _ method: String,
        _ path: String,
        _ body: String,
        to control: HTTPClient
    ) async throws -> HTTPReply {
        let reply = try await control.send(
            method,
            path,
            headers: [("Content-Type", "application/json")],
            body: Array(body.utf8)
        )
        guard (200..<300).contains(reply.status) else { throw ControlRefused(path: path, reply: reply.text) }
        return reply
    }

    /// Returns a request to Graph for each user, like the one that a login sends.
    func profileRequests() -> [[UInt8]] {
        tokens.map { token in
            let lines = ["GET /v25.0/me?fields=id,name HTTP/1.1", "Host: 127.0.0.1", "Authorization: Bearer \(token)"]
            return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
        }
    }

    /// Returns a login request for each token.
    func logins(as member: String = "accessToken") -> [[UInt8]] {
        tokens.map { Self.login($0, as: member, to: Setting.application) }
    }

    /// Returns a login request at the simulated issuer for each token.
    func issuerLogins() -> [[UInt8]] {
        tokens.map {
            Self.login(
                $0,
                as: "idToken",
                to: Setting.application,
                at: "users/social/staff/login",
                mapping: Setting.issuerMapping
            )
        }
    }

    /// Returns login requests of the users in turns, to the applications in turns.
    ///
    /// Each user logs in to as many applications as there are turns for.
    func logins(_ count: Int, to applications: [String]) -> [[UInt8]] {
        (0..<count).map { number in
            let person = (number + number / applications.count) % tokens.count
            return Self.login(tokens[person], as: "accessToken", to: applications[number % applications.count])
        }
    }

    private static func login(
        _ token: String,
        as member: String,
        to application: String,
        at path: String = "users/loginWithFacebook",
        mapping: String = Setting.clientMapping
    ) -> [UInt8] {
        let body = #"{"\#(member)":"\#(token)","fieldsMapping":\#(mapping)}"#
        let head = """
            POST /\(application)/\(Setting.apiKey)/\(path) HTTP/1.1\r
            Host: 127.0.0.1\r
            Content-Type: application/json\r
            Content-Length: \(body.utf8.count)\r
            \r

            """
        return Array((head + body).utf8)
    }
}

struct ControlRefused: Error, CustomStringConvertible {
    let path: String
    let reply: String
    var description: String { "the simulator refused \(path): \(reply)" }
}
