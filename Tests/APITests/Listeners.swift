import Accounts
import Administration
import AdministrationAPI
import Applications
import Backendless
import Curl
import Domain
import Encodings
import HTTP
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import Postgres
import Providers
import PublicAPI
import Secrets
@testable import Server
import Store
import Testing

/// Both listeners in this process, wired as in the service, but without sockets.
struct Listeners: Sendable {
    let publicAPI: RouterResponder<APIContext>
    let management: RouterResponder<ManagementContext>
    let parts: Parts

    /// Creates both listeners on a database.
    ///
    /// Without a database, every request that needs one fails.
    ///
    /// - Parameters:
    ///   - url: The URL of the database.
    ///   - trustedProxies: How many proxies stand in front of the service.
    ///   - further: Provider kinds beside those of the service.
    ///   - others: Creates the client protocols beside Backendless.
    /// - Throws: The error with which libcurl refuses to make a client.
    init(
        database url: String = Parts.nowhere,
        trustedProxies: Int = 0,
        knowing further: [any ProviderKind] = [],
        beside others: (Parts) -> [any ClientProtocol] = { _ in [] }
    ) throws {
        parts = try Parts(database: url, trustedProxies: trustedProxies, knowing: further)
        publicAPI = parts.publicListener(beside: others(parts)).router.buildResponder()
        management = parts.managementRouter.buildResponder()
    }

    /// Lends listeners on a database, with provider kinds beside those of the service.
    ///
    /// The database connections close when `body` returns.
    static func onDatabase(
        _ url: String,
        trustedProxies: Int = 0,
        knowing further: [any ProviderKind] = [],
        beside others: (Parts) -> [any ClientProtocol] = { _ in [] },
        _ body: @escaping @Sendable (Listeners) async throws -> Void
    ) async throws {
        let listeners = try Listeners(
            database: url,
            trustedProxies: trustedProxies,
            knowing: further,
            beside: others
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await listeners.parts.postgres.run() }
            defer { listeners.parts.postgres.shutdown() }
            try await body(listeners)
        }
    }

    func manage(
        _ method: HTTPRequest.Method,
        _ path: String,
        headers: HTTPFields = [:],
        body: String = "",
        from address: String = "192.0.2.1"
    ) async throws -> Reply {
        try await Self.send(to: management, method, path, headers: headers, body: body, from: address)
    }

    func call(
        _ method: HTTPRequest.Method,
        _ path: String,
        host: String? = "users.example.com",
        headers: HTTPFields = [:],
        body: String = ""
    ) async throws -> Reply {
        try await Self.send(to: publicAPI, method, path, host: host, headers: headers, body: body, from: "192.0.2.1")
    }

    private static func send(
        to responder: RouterResponder<some HTTPContext>,
        _ method: HTTPRequest.Method,
        _ path: String,
        host: String? = nil,
        headers: HTTPFields,
        body: String,
        from address: String
    ) async throws -> Reply {
        let channel = NIOAsyncTestingChannel()
        channel.remoteAddress = try SocketAddress(ipAddress: address, port: 4711)
        let head = HTTPRequest(method: method, scheme: "http", authority: host, path: path, headerFields: headers)
        let source = ApplicationRequestContextSource(
            channel: channel,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let response = try await responder.respond(
            to: Request(head: head, body: RequestBody(buffer: ByteBuffer(string: body))),
            context: .init(source: source)
        )
        let content = Content()
        try await response.body.write(content)
        return Reply(status: response.status.code, headers: response.headers, text: String(buffer: content.bytes))
    }
}

/// The objects behind the listeners.
struct Parts: Sendable {
    let postgres: PostgresClient
    let directory: ApplicationDirectory
    let administration: Administration
    let useCases: UseCases
    /// The login outcomes that `UseCases` has reported.
    let logins: HeardLogins
    private let trustedProxies: Int

    static let nowhere = "postgres://nobody@127.0.0.1:1/nothing"

    init(
        database url: String = nowhere,
        trustedProxies: Int = 0,
        knowing further: [any ProviderKind] = []
    ) throws {
        self.trustedProxies = trustedProxies
        logins = HeardLogins()
        var configuration = try PostgresConfiguration(url: url)
        // No test is about these limits, and a busy machine is slow.
        (configuration.lockTimeout, configuration.statementTimeout) = (.seconds(60), .seconds(60))
        (configuration.leaseTimeout, configuration.idleInTransactionTimeout) = (.seconds(60), .seconds(60))
        configuration.connectTimeout = .seconds(60)
        postgres = PostgresClient(configuration: configuration)
        let store = Store(postgres: postgres)
        let curl = try CurlClient()
        let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        var settings = NoSettings()
        let usual = ProviderKinds(ProviderKinds.setups(from: &settings), curl: curl, logger: silent)
        let kinds = ProviderKinds(usual.all + further)
        let key = try MasterKey(base64: Secret("a2V5IGtleSBrZXkga2V5IGtleSBrZXkga2V5IGtleTE="))
        directory = ApplicationDirectory(
            store: store,
            masterKeys: MasterKeys(current: key),
            kinds: kinds,
            clock: .system,
            random: .system,
            logger: silent
        )
        administration = Administration(
            store: store,
            kinds: kinds,
            masterKeys: MasterKeys(current: key),
            clock: .system,
            random: .system
        )
        useCases = UseCases(
            store: store,
            directory: directory,
            masterKeys: MasterKeys(current: key),
            // No test is about this limit either.
            limits: Limits(login: .seconds(60)),
            clock: .system,
            random: .system,
            observer: { [logins] in logins.hear($0) },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    private var backendless: Backendless { Backendless(useCases: useCases, directory: directory) }

    func publicListener(beside others: [any ClientProtocol] = []) -> PublicListener {
        PublicListener(
            of: ClientProtocols(backendless, beside: others),
            useCases: useCases,
            directory: directory,
            trustedProxies: trustedProxies
        )
    }

    var managementRouter: Router<ManagementContext> {
        ManagementAPI.router(
            useCases: useCases,
            administration: administration,
            metrics: MetricsPage(access: .open, contentType: "text/plain") { [] }
        )
    }
}

/// A response of a listener.
struct Reply: Sendable {
    let status: Int
    let headers: HTTPFields
    let text: String

    var json: JSONObject? { (try? JSONParser.parse(text, limits: .stored))?.object }

    /// The reason of a failure, from `errorData`.
    var reason: String? { json?["errorData"]?.object?["reason"]?.string }
}

/// A writer that collects the body of a response.
private final class Content: ResponseBodyWriter {
    private(set) var bytes = ByteBuffer()

    func write(_ buffer: ByteBuffer) async throws {
        bytes.writeImmutableBuffer(buffer)
    }

    func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
