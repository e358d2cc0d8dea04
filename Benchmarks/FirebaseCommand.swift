import ArgumentParser
import CryptoExtras
import Foundation
import TestSupport

/// A measurement of what clients of Firebase cost, beside the same work by Backendless' protocol.
struct FirebaseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "firebase",
        abstract: "Logins, lookups and refreshes of Firebase's clients, beside Backendless' logins and checks."
    )

    @Option(help: "People who log in again and again.")
    var people = 500
    @Option(help: "Requests of each measurement.")
    var requests = 4000
    @Option(help: "Measurements of each, in turns; medians count.")
    var rounds = 3
    @Option(help: "Connections of the closed loop.")
    var connections = 16

    func run() async throws {
        let setting = try Setting()
        let world = try await People.make(people, control: HTTPClient(port: setting.controlPort))
        let document = Setting.document.replacing(
            #"{"application": "benchmark","#,
            with: #"{"application": "benchmark", "settings": {"firebase": {"projectId": "benchmark"}},"#
        )
        let service = try await Programs.startService(setting, document: document)
        let port = service.client.port
        let logins = repeated(world.tokens.map(Self.backendless))
        let firebaseLogins = repeated(world.tokens.map(Self.login))
        let users = try await Self.tokens(by: world.tokens.map(Self.login), at: port)
        let sessions = try await Self.sessions(by: world.tokens.map(Self.backendless), at: port)
        let checks = repeated(sessions.map { Self.get("users/isvalidusertoken/\($0)") })
        let lookups = repeated(users.map { Self.post("accounts:lookup", #"{"idToken":"\#($0.idToken)"}"#) })
        func target(_ name: String, _ requests: [[UInt8]]) -> Target {
            Target(name: name, process: service.process, load: Load(port: port, requests: requests))
        }
        var costs: Costs = [:]
        for round in 0...max(rounds, 1) {
            // A refresh token is used once, so each round needs others.
            let fresh = try await Self.tokens(by: firebaseLogins, at: port, connections: connections)
            for target in [
                target("Backendless login", logins), target("Firebase login", firebaseLogins),
                target("session check", checks), target("lookup", lookups),
                target("refresh", fresh.map { Self.refresh($0.refreshToken) }),
            ] {
                let cost = try await target.cost(setting) { await $0.once(connections: connections) }
                // The first round only warms up.
                if round > 0 { costs[target.name, default: []].append(cost) }
            }
        }
        let signature = try Self.signatureMicroseconds()
        let report = Report()
        report.costs(
            "Clients of Firebase; \(connections) connections; \(rounds) rounds of \(requests) requests",
            costs,
            order: ["Backendless login", "Firebase login", "session check", "lookup", "refresh"]
        )
        print("One signature by RS256: \(String(format: "%.0f", signature)) microseconds\n")
        func ratios(_ name: String, _ other: String, less signature: Double) -> [Double] {
            costs.ratios(of: name, to: other) { $0.process }.enumerated().map { round, ratio in
                ratio - signature / (costs[other]?[round].process ?? 1)
            }
        }
        report.aim(
            "CPU of a Firebase login without its signature over the same Backendless login",
            ratios("Firebase login", "Backendless login", less: signature),
            atMost: 1.1
        )
        report.aim(
            "CPU of a refresh without its signature over a session check",
            ratios("refresh", "session check", less: signature),
            atMost: 1.3
        )
        report.aim("CPU of a lookup over a session check", ratios("lookup", "session check", less: 0), atMost: 1.3)
        _ = try await service.process.terminate()
    }

    func validate() throws {
        guard people > 0, requests > 0, rounds > 0, connections > 0 else {
            throw ValidationError("Every number must be at least 1.")
        }
    }

    private func repeated(_ once: [[UInt8]]) -> [[UInt8]] { (0..<requests).map { once[$0 % once.count] } }

    private struct Tokens: Decodable {
        let idToken: String
        let refreshToken: String
    }

    /// Sends logins over one connection each, and returns the tokens of the responses.
    private static func tokens(by logins: [[UInt8]], at port: Int, connections: Int = 1) async throws -> [Tokens] {
        try await withThrowingTaskGroup(of: [Tokens].self) { group in
            for number in 0..<connections {
                group.addTask {
                    let connection = try Connection(port: port)
                    return try stride(from: number, to: logins.count, by: connections).map { index in
                        let reply = try connection.reply(to: logins[index])
                        guard reply.status == 200 else { throw UnexpectedReply(number: index) }
                        return try JSONDecoder().decode(Tokens.self, from: Data(reply.body.utf8))
                    }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }

    private static func sessions(by logins: [[UInt8]], at port: Int) async throws -> [String] {
        let connection = try Connection(port: port)
        var tokens: [String] = []
        for (number, login) in logins.enumerated() {
            guard let token = try await Reply.of(login, at: connection, status: 200).token else {
                throw UnexpectedReply(number: number)
            }
            tokens.append(token)
        }
        return tokens
    }

    /// Returns the processor time of a signature, in microseconds: the median of many.
    private static func signatureMicroseconds() throws -> Double {
        let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let data = Data(repeating: 7, count: 900)
        var times: [Double] = []
        for _ in 0..<500 {
            let began = ContinuousClock.now
            _ = try key.signature(for: data, padding: .insecurePKCS1v1_5)
            times.append((ContinuousClock.now - began) / .microseconds(1))
        }
        return times.sorted()[times.count / 2]
    }

    // MARK: Requests

    private static func backendless(_ token: String) -> [UInt8] {
        request(
            "POST",
            "/\(Setting.application)/\(Setting.apiKey)/users/loginWithFacebook",
            #"{"accessToken":"\#(token)"}"#
        )
    }

    private static func get(_ path: String) -> [UInt8] {
        request("GET", "/\(Setting.application)/\(Setting.apiKey)/\(path)", nil)
    }

    private static func login(_ token: String) -> [UInt8] {
        let body = #"{"requestUri":"http://localhost","returnSecureToken":true,"postBody":"&access_token=\#(token)"#
        return post("accounts:signInWithIdp", body + #"&providerId=facebook.com"}"#)
    }

    private static func post(_ call: String, _ body: String) -> [UInt8] {
        request("POST", "/identitytoolkit.googleapis.com/v1/\(call)?key=\(Setting.apiKey)", body)
    }

    private static func refresh(_ token: String) -> [UInt8] {
        let body = #"{"grantType":"refresh_token","refreshToken":"\#(token)"}"#
        return request("POST", "/securetoken.googleapis.com/v1/token?key=\(Setting.apiKey)", body)
    }

    private static func request(_ method: String, _ path: String, _ body: String?) -> [UInt8] {
        let lines =
            ["\(method) \(path) HTTP/1.1", "Host: 127.0.0.1"]
            + (body.map { ["Content-Type: application/json", "Content-Length: \($0.utf8.count)"] } ?? [])
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? "")).utf8)
    }
}
