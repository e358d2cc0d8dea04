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
    @Option(help: "Requests in a second. A request costs less at a higher rate, so all have the same.")
    var rate = 300.0
    @Option(help: "Measurements of each, in turns; medians count.")
    var rounds = 3
    @Option(help: "Connections of the client.")
    var connections = 16
    @Option(help: "Only the measurement of this name, again and again until the command is stopped: for profilers.")
    var only: String?

    private static let names = ["Backendless login", "Firebase login", "session check", "lookup", "refresh"]

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
        let seconds = Double(requests) / rate
        var costs: Costs = [:]
        var signatures: [Double] = []
        for round in 0...max(rounds, 1) {
            for name in Self.names where only == nil || only == name {
                repeat {
                    let requests =
                        switch name {
                        case "Backendless login": logins
                        case "Firebase login": firebaseLogins
                        case "session check": checks
                        case "lookup": lookups
                        // A refresh token is used once, so each measurement needs others.
                        default:
                            try await Self.tokens(by: firebaseLogins, at: port, connections: connections)
                                .map { Self.refresh($0.refreshToken) }
                        }
                    let target = Target(
                        name: name,
                        process: service.process,
                        load: Load(port: port, requests: requests)
                    )
                    let cost = try await target.cost(setting) { load in
                        await load.openLoop(rate: rate, connections: connections, seconds: seconds)
                    }
                    // The first round only warms up.
                    if round > 0 { costs[name, default: []].append(cost) }
                } while only != nil
            }
            let load = Load(port: port, requests: logins)
            let signature = try await Self.signatureMicroseconds(beside: load, rate: rate, connections: connections)
            if round > 0 { signatures.append(signature) }
        }
        let report = Report()
        report.costs(
            "Clients of Firebase; \(connections) connections; \(rounds) rounds of \(requests) requests, \(Int(rate))/s",
            costs,
            order: Self.names
        )
        let shown = signatures.map { String(format: "%.0f", $0) }.joined(separator: ", ")
        print("One signature by RS256, in each round: \(shown) microseconds\n")
        func ratios(_ name: String, _ other: String, lessSignature: Bool) -> [Double] {
            costs.ratios(of: name, to: other) { $0.process }.enumerated().map { round, ratio in
                lessSignature ? ratio - signatures[round] / (costs[other]?[round].process ?? 1) : ratio
            }
        }
        report.aim(
            "CPU of a Firebase login without its signature over the same Backendless login",
            ratios("Firebase login", "Backendless login", lessSignature: true),
            atMost: 1.1
        )
        report.aim(
            "CPU of a refresh without its signature over a session check",
            ratios("refresh", "session check", lessSignature: true),
            atMost: 1.3
        )
        report.aim(
            "CPU of a lookup over a session check",
            ratios("lookup", "session check", lessSignature: false),
            atMost: 1.3
        )
        _ = try await service.process.terminate()
    }

    func validate() throws {
        guard people > 0, requests > 0, rate > 0, rounds > 0, connections > 0 else {
            throw ValidationError("Every number must be at least 1.")
        }
        guard only.map(Self.names.contains) ?? true else {
            throw ValidationError("--only must be one of: \(Self.names.joined(separator: ", ")).")
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
    ///
    /// The service signs in between other work, which drives the signature's code and data out of the caches. So there
    /// are as many signatures in a second as requests, and a load runs beside.
    private static func signatureMicroseconds(
        beside load: Load,
        rate: Double,
        connections: Int
    ) async throws -> Double {
        let loading = Task {
            while !Task.isCancelled { _ = await load.openLoop(rate: rate, connections: connections, seconds: 1) }
        }
        let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let data = Data(repeating: 7, count: 900)
        var times: [Duration] = []
        for _ in 0..<500 {
            try await Task.sleep(for: .seconds(1 / rate))
            times.append(try processorTime { try key.signature(for: data, padding: .insecurePKCS1v1_5) }.time)
        }
        loading.cancel()
        await loading.value
        return times.sorted()[times.count / 2] / .microseconds(1)
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
