import SignedTokens
import Providers
import API
import Curl
import Federation
import Facebook
import HTTPTypes
import Hummingbird
import Vocabulary
import Logging
import NIOCore
import NIOEmbedded
import Postgres
import Store
import Testing
import Twitter

/// Both listeners in this process, wired as the service wires them, without sockets in front.
struct Listeners: Sendable {
    let publicAPI: RouterResponder<APIContext>
    let management: RouterResponder<APIContext>
    let parts: Parts

    /// On a database; without one nothing answers there, and whatever asks for it fails.
    init(database url: String = Parts.nowhere, trustedProxies: Int = 0) throws {
        parts = try Parts(database: url, trustedProxies: trustedProxies)
        publicAPI = parts.publicRouter.buildResponder()
        management = parts.managementRouter.buildResponder()
    }

    /// Lends listeners on a database, whose connections live as long.
    static func onDatabase(
        _ url: String,
        trustedProxies: Int = 0,
        _ body: @escaping @Sendable (Listeners) async throws -> Void
    ) async throws {
        let listeners = try Listeners(database: url, trustedProxies: trustedProxies)
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
        to responder: RouterResponder<APIContext>,
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
        let response = try await responder.respond(
            to: Request(head: head, body: RequestBody(buffer: ByteBuffer(string: body))),
            context: APIContext(
                source: ApplicationRequestContextSource(
                    channel: channel,
                    logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
                )
            )
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
    private let federation: Federation
    private let trustedProxies: Int

    static let nowhere = "postgres://nobody@127.0.0.1:1/nothing"

    init(database url: String = nowhere, trustedProxies: Int = 0) throws {
        self.trustedProxies = trustedProxies
        var configuration = try PostgresConfiguration(url: url)
        // No test is about these, and a busy machine takes its time.
        (configuration.lockTimeout, configuration.statementTimeout) = (.seconds(60), .seconds(60))
        (configuration.leaseTimeout, configuration.idleInTransactionTimeout) = (.seconds(60), .seconds(60))
        configuration.connectTimeout = .seconds(60)
        postgres = PostgresClient(configuration: configuration)
        let store = Store(postgres: postgres)
        let curl = try CurlClient()
        let graph = GraphClient(curl: curl, configuration: try GraphConfiguration())
        let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let keys = SigningKeys(issuer: "Facebook", logger: silent) { (deadline) throws(Failure) in
            try await graph.signingKeys(deadline: deadline)
        }
        let kinds = ProviderKinds([
            FacebookKind(graph: graph, keys: keys, clock: { 0 }),
            TwitterKind(client: TwitterClient(curl: curl, configuration: try TwitterConfiguration())),
        ])
        let key = try MasterKey(base64: Secret("a2V5IGtleSBrZXkga2V5IGtleSBrZXkga2V5IGtleTE="))
        directory = ApplicationDirectory(
            store: store,
            masterKeys: MasterKeys(current: key),
            kinds: kinds,
            logger: silent
        )
        administration = Administration(store: store, kinds: kinds, masterKeys: MasterKeys(current: key))
        federation = Federation(
            store: store,
            directory: directory,
            masterKeys: MasterKeys(current: key),
            limits: Federation.Limits(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    var publicRouter: Router<APIContext> {
        PublicAPI.router(federation: federation, directory: directory, trustedProxies: trustedProxies)
    }

    var managementRouter: Router<APIContext> {
        ManagementAPI.router(federation: federation, administration: administration)
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
