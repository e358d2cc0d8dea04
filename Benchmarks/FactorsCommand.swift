import ArgumentParser
import Domain
import Foundation
import NIOConcurrencyHelpers
import OneTimeCodes
import TestSupport

/// A measurement of the cost of second factors: for users without one, for users with one, and of pending logins.
struct FactorsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "factors",
        abstract: "Logins where nobody is asked, one that a code finishes beside a change of the own user, and memory."
    )

    @OptionGroup var former: FormerOption
    @Option(help: "People who log in, each with an authenticator app in the second part.")
    var people = 1000
    @Option(help: "Seconds of each measurement of logins where nobody is asked.")
    var seconds = 5.0
    @Option(help: "Measurements of each kind, in turns; medians count.")
    var rounds = 3
    @Option(help: "Connections of the closed loop.")
    var connections = 16
    @Option(help: "Logins that are left waiting.")
    var waiting = 50_000
    @Option(help: "Wrong codes for one person's factor, from many sources, in 20 rounds whose waits are over at once.")
    var guesses = 20_000

    func run() async throws {
        let setting = try Setting()
        let world = try await People.make(people, control: HTTPClient(port: setting.controlPort))
        try await unasked(world, setting)
        try await asked(world, setting)
    }

    /// Measures logins of users without a factor, under each policy that accepts them.
    private func unasked(_ world: People, _ setting: Setting) async throws {
        var targets: [Target] = []
        for (name, policy, path) in former.programs.filter({ $0.path != nil }).map({ ($0.name, "", $0.path) })
            + [("off", "off", nil), ("optional", "optional", nil)]
        {
            let installation = try await Installation.make("factors_\(name)", setting, program: path)
            try await installation.apply(policy.isEmpty ? Setting.document : Self.document(policy))
            let service = try await installation.start()
            let load = Load(port: service.client.port, requests: world.logins())
            targets.append(Target(name: name, process: service.process, load: load))
        }
        for target in targets { try target.check(await target.load.closedLoop(connections: connections, seconds: 3)) }
        let costs = try await targets.inTurns(rounds, setting) {
            await $0.closedLoop(connections: connections, seconds: seconds)
        }
        Report().costs("Logins of people who are not asked", costs, order: targets.map(\.name))
        for target in targets { _ = try await target.process.terminate() }
    }

    /// Measures users with authenticator apps: the cost of finishing a login, and the memory of pending logins.
    private func asked(_ world: People, _ setting: Setting) async throws {
        // Every user has a source of its own, since wrong codes count for the source, too.
        let proxies = ["FEDERATION_TRUSTED_PROXIES": "1"]
        let installation = try await Installation.make("factors_asked", setting, program: nil, proxies)
        try await installation.apply(Self.document("optional"))
        let service = try await installation.start()
        let logins = world.logins()
        let enrolled = NIOLockedValueBox([Enrolled?](repeating: nil, count: logins.count))
        try await each(of: logins.indices, at: service.client) { connection, number in
            let person = try await Enrolled(by: logins[number], from: number, at: connection)
            enrolled.withLockedValue { $0[number] = person }
        }
        let everybody = enrolled.withLockedValue { $0.compactMap { $0 } }
        func target(_ name: String, _ requests: [[UInt8]], status: Int = 200) -> Target {
            let load = Load(port: service.client.port, requests: requests)
            return Target(name: name, process: service.process, load: load, status: status)
        }
        var costs: Costs = [:]
        for round in 0..<rounds {
            // The reset makes the current codes valid, even if a code of the same step was used in the round before.
            try await installation.database.rows(of: "update \(Setting.application).factors set step = -1")
            let finishes = NIOLockedValueBox([[UInt8]](repeating: [], count: logins.count))
            try await each(of: logins.indices, at: service.client) { connection, number in
                let waiting = try await Reply.of(logins[number], at: connection, status: 401)
                guard let pending = waiting.errorData?.pending else { throw UnexpectedReply(number: number) }
                let finish = everybody[number].finish(pending)
                finishes.withLockedValue { $0[number] = finish }
            }
            for (name, requests) in [
                ("change", everybody.map { $0.change(round) }), ("finish", finishes.withLockedValue { $0 }),
            ] {
                let cost = try await target(name, requests).cost(setting) {
                    await $0.once(connections: connections)
                }
                costs[name, default: []].append(cost)
            }
        }
        Report().costs(
            "A session check and a change of the own user, and a login that a code finishes",
            costs,
            order: ["change", "finish"]
        )
        var replies: [Int: Int] = [:]
        var pendings = [String](repeating: "", count: 500)
        for round in 0..<20 {
            try await installation.database.rows(
                of: "update \(Setting.application).attempts set blocked_until = to_timestamp(0)"
            )
            let connection = try Connection(port: service.client.port)
            for login in pendings.indices {
                pendings[login] = try await Reply.of(logins[0], at: connection, status: 401).errorData?.pending ?? ""
            }
            let part = guesses / 20
            let codes = (0..<part).map { everybody[0].guess(round * part + $0, pendings[$0 % pendings.count]) }
            let outcome = await target("guesses", codes).load.once(connections: connections)
            replies.merge(outcome.replies, uniquingKeysWith: +)
        }
        Report().guesses(replies)
        let put = target("waiting", (0..<waiting).map { logins[$0 % logins.count] }, status: 401)
        try put.check(await put.load.closedLoop(connections: connections, seconds: seconds))
        let before = try service.process.usage().residentBytes
        try put.check(await put.load.once(connections: connections))
        Report().waiting(waiting, before: before, after: try service.process.usage().residentBytes)
        _ = try await service.process.terminate()
    }

    /// Runs a closure for each number, spread over several connections.
    private func each(
        of numbers: Range<Int>,
        at client: HTTPClient,
        _ body: @Sendable @escaping (Connection, Int) async throws -> Void
    ) async throws {
        let lanes = connections
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<lanes {
                group.addTask {
                    let connection = try Connection(port: client.port)
                    for number in numbers where number % lanes == lane { try await body(connection, number) }
                }
            }
            try await group.waitForAll()
        }
    }

    private static func document(_ policy: String) -> String {
        Setting.document.replacing(
            #"{"application": "benchmark","#,
            with: #"{"application": "benchmark", "settings": {"secondFactor": {"policy": "\#(policy)"}},"#
        )
    }
}

/// A user with an authenticator app.
private struct Enrolled {
    let objectID: String
    let token: String
    let factor: String
    let app: TOTP
    /// The network address of the user.
    let source: String

    /// Logs the user in and enrols the app.
    init(by login: [UInt8], from number: Int, at connection: Connection) async throws {
        source = "10.\(number / 62_500).\(number / 250 % 250).\(number % 250)"
        let user = try await Reply.of(login, at: connection, status: 200)
        guard let id = user.objectId, let token = user.token else { throw UnexpectedReply(number: 0) }
        let begin = Self.request("POST", "users/factors", #"{"kind":"totp"}"#, token: token, from: source)
        let begun = try await Reply.of(begin, at: connection, status: 200)
        let secret = begun.otpauth?.split(separator: "secret=").last?.prefix { $0 != "&" }
        guard let draft = begun.id, let app = secret.flatMap({ TOTP(base32: Secret(String($0))) }) else {
            throw UnexpectedReply(number: 1)
        }
        self.app = app
        let confirm = Self.request(
            "POST",
            "users/factors/\(draft)/confirm",
            #"{"code":"\#(Self.code(of: app))"}"#,
            token: token,
            from: source
        )
        guard let factor = try await Reply.of(confirm, at: connection, status: 200).id else {
            throw UnexpectedReply(number: 2)
        }
        (objectID, self.token, self.factor) = (id, token, factor)
    }

    /// Returns the request that finishes a pending login.
    func finish(_ pending: String) -> [UInt8] {
        let body = #"{"pending":"\#(pending)","factorId":"\#(factor)","code":"\#(Self.code(of: app))"}"#
        return Self.request("POST", "users/secondFactor/finish", body, token: nil, from: source)
    }

    /// Returns a request with a wrong code, from a source of its own.
    func guess(_ number: Int, _ pending: String) -> [UInt8] {
        let wrong = app.code(step: TOTP.step(at: Int64(Date().timeIntervalSince1970)) + 10 + Int64(number))
        let body = #"{"pending":"\#(pending)","factorId":"\#(factor)","code":"\#(wrong)"}"#
        let source = "11.\(number / 65_536 % 256).\(number / 256 % 256).\(number % 256)"
        return Self.request("POST", "users/secondFactor/finish", body, token: nil, from: source)
    }

    /// Returns a request that changes the user's own record.
    func change(_ round: Int) -> [UInt8] {
        let body = #"{"givenName":"Changed \#(round)"}"#
        return Self.request("PUT", "users/\(objectID)", body, token: token, from: source)
    }

    private static func code(of app: TOTP) -> String {
        app.code(step: TOTP.step(at: Int64(Date().timeIntervalSince1970)))
    }

    private static func request(
        _ method: String,
        _ path: String,
        _ body: String,
        token: String?,
        from source: String
    ) -> [UInt8] {
        let head = """
            \(method) /\(Setting.application)/\(Setting.apiKey)/\(path) HTTP/1.1\r
            Host: 127.0.0.1\r
            X-Forwarded-For: \(source)\r
            Content-Type: application/json\r
            Content-Length: \(body.utf8.count)\r
            \(token.map { "user-token: \($0)\r\n" } ?? "")\r

            """
        return Array((head + body).utf8)
    }
}
