import ArgumentParser
import Crypto
import Curl
import FoundationEssentials
import HTTP
import HTTPTypes
import Hummingbird
import NIOConcurrencyHelpers
import NIOCore
import Postgres
import Store

/// The floor: the unavoidable parts of a login and nothing else.
///
/// The same HTTP server reads the same request and writes a response of as many bytes. The same client sends Graph the
/// same two requests, or one signature is verified for an ID token. The same statement is written, with as many
/// parameters. Everything is prepared before the first call: nothing is routed, parsed, checked, mapped, verified or
/// logged, no session token is made, and the database's result is not read. All of that is the cost of the service
/// beyond the floor. The check of a session is one lookup by the hash of its token.
struct FloorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "floor", shouldDisplay: false)

    @Option var port: Int
    @Option var tokens: String
    @Option var credential: Credential

    /// The credential of the calls.
    enum Credential: String, ExpressibleByArgument {
        case accessToken
        case idToken
        /// A session token: no login, but the check of a session.
        case session
    }

    func run() async throws {
        let setting = try Setting()
        let people = try JSONDecoder().decode(People.self, from: Data(contentsOf: URL(filePath: tokens)))
        let postgres = PostgresClient(configuration: try PostgresConfiguration(url: setting.databaseURL))
        let curl = try CurlClient(configuration: CurlConfiguration(userAgent: "floor"))
        let reply = ByteBuffer(bytes: credential == .session ? Array("true".utf8) : FloorPlan.reply)
        let login: @Sendable (_ number: Int, _ run: Int64) async throws -> Statement
        switch credential {
        case .accessToken:
            let plan = try FloorPlan(use: .repeated)
            let logins = try people.tokens.enumerated().map {
                try FloorLogin(number: $0.offset, token: $0.element, setting: setting, plan: plan)
            }
            login = { number, run in
                let login = logins[number % logins.count]
                async let inspection = curl.send(login.inspection)
                async let profile = curl.send(login.profile)
                _ = try await (inspection, profile)
                return login.statement(run: run, number: number)
            }
        case .idToken:
            let plan = try FloorPlan(use: .once)
            let key = try await FloorIDLogin.key(of: setting, for: people.tokens, curl: curl)
            let logins = try people.tokens.map { try FloorIDLogin(token: $0, plan: plan) }
            login = { number, run in
                let login = logins[number % logins.count]
                guard login.isSigned(by: key) else { throw WrongSignature() }
                return login.statement(run: run, number: number)
            }
        case .session:
            let sql = "select object_id from \(Setting.application).sessions where token_hash = $1 and expires > now()"
            let checks = people.tokens.map {
                Statement(sql: sql, binds: [.bytes(Array(SHA256.hash(data: Data($0.utf8))))])
            }
            login = { number, _ in checks[number % checks.count] }
        }
        let counter = NIOLockedValueBox(0)
        let started = Int64(Date().timeIntervalSince1970 * 1000)
        let application = Application(
            responder: CallbackResponder { (request: Request, _: BasicRequestContext) in
                _ = try await request.body.collect(upTo: 65_536)
                let number = counter.withLockedValue { value in
                    value += 1
                    return value
                }
                let rows = try await postgres.query(try await login(number, started))
                return Response(
                    status: rows.first == nil ? .notFound : .ok,
                    headers: [
                        .contentType: "application/json", .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
                        .eTag: "Federation-User-Created: false, X-Request-Id: 0123456789abc",
                    ],
                    body: ResponseBody(byteBuffer: reply)
                )
            },
            server: .connections(
                ConnectionLimits(
                    read: .seconds(10),
                    write: .seconds(10),
                    idle: .seconds(60),
                    connections: 8192,
                    connectionsOfSource: 8192,
                    waitingBytes: 16 << 20
                )
            ),
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port), backlog: 4096)
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await postgres.run() }
            group.addTask { try await application.run() }
            try await group.next()
        }
    }
}
