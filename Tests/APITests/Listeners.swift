import API
import Administration
import Applications
import Backendless
import Curl
import Federation
import HTTP
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import Postgres
import Providers
import Secrets
import Store
import Testing
import Upstream
import Vocabulary

@testable import Server

/// Both listeners in this process, wired as the service wires them, without sockets in front.
struct Listeners: Sendable {
    let publicAPI: RouterResponder<APIContext>
    let management: RouterResponder<ManagementContext>
    let parts: Parts

    /// On a database; without one nothing answers there, and whatever asks for it fails.
    ///
    /// - Parameters:
    ///   - url: The database.
    ///   - trustedProxies: How many proxies stand in front.
    ///   - further: Kinds of providers beside the usual ones.
    ///   - others: Makes what stands beside Backendless.
    /// - Throws: What makes a client of libcurl fail.
    init(
        database url: String = Parts.nowhere,
        trustedProxies: Int = 0,
        knowing further: [any ProviderKind] = [],
        beside others: (Parts) -> [any ClientProtocol] = { _ in [] }
    ) throws {
        parts = try Parts(database: url, trustedProxies: trustedProxies, knowing: further)
        publicAPI = parts.publicRouter(beside: others(parts)).buildResponder()
        management = parts.managementRouter.buildResponder()
    }

    /// Lends listeners on a database, whose connections live as long, with kinds of providers beside those of the
    /// service.
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

    /// Sends a request to the management listener.
    func manage(
        _ method: HTTPRequest.Method,
        _ path: String,
        headers: HTTPFields = [:],
        body: String = "",
        from address: String = "192.0.2.1"
    ) async throws -> Reply {
        try await Self.send(to: management, method, path, headers: headers, body: body, from: address)
    }

    /// Sends a request to the public listener.
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

/// What stands behind the listeners.
struct Parts: Sendable {
    let postgres: PostgresClient
    let directory: ApplicationDirectory
    let administration: Administration
    let federation: Federation
    /// What `Federation` has told of logins.
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
        // No test is about these, and a busy machine takes its time.
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
        federation = Federation(
            store: store,
            directory: directory,
            masterKeys: MasterKeys(current: key),
            limits: Limits(),
            clock: .system,
            random: .system,
            observer: { [logins] in logins.hear($0) },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    private var backendless: Backendless { Backendless(federation: federation, directory: directory) }

    func publicRouter(beside others: [any ClientProtocol] = []) -> Router<APIContext> {
        PublicAPI.router(
            of: ClientProtocols(backendless, beside: others),
            federation: federation,
            directory: directory,
            trustedProxies: trustedProxies
        )
    }

    var managementRouter: Router<ManagementContext> {
        ManagementAPI.router(
            federation: federation,
            administration: administration,
            metrics: MetricsPage(access: .open, contentType: "text/plain") { [] },
            errors: backendless.errors
        )
    }
}

/// What came back.
struct Reply: Sendable {
    let status: Int
    let headers: HTTPFields
    let text: String

    var json: JSONObject? { (try? JSONParser.parse(text, limits: .stored))?.object }

    /// The reason of a failure.
    var reason: String? { json?["errorData"]?.object?["reason"]?.string }
}

/// Gathers the body of a response.
private final class Content: ResponseBodyWriter {
    private(set) var bytes = ByteBuffer()

    func write(_ buffer: ByteBuffer) async throws {
        bytes.writeImmutableBuffer(buffer)
    }

    func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
