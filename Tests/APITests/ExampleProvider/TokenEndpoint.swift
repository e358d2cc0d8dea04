import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle
import TestSupport

/// The server of the provider Example: an HTTP server on this machine that introspects tokens for known clients.
struct TokenEndpoint: Sendable {
    /// Client secrets by client id.
    let clients: [String: String]
    /// Responses, as JSON text, by token; any other token is reported as not active.
    let answers: [String: String]

    private struct Form: Decodable {
        let clientID: String
        let clientSecret: String
        let token: String

        enum CodingKeys: String, CodingKey {
            case token
            case clientID = "client_id"
            case clientSecret = "client_secret"
        }
    }

    /// Runs the server and lends its URL.
    func lend(_ body: @escaping @Sendable (String) async throws -> Void) async throws {
        let router = Router()
        router.post("introspect") { request, _ in
            let bytes = try await request.body.collect(upTo: 65_536)
            let form = try URLEncodedFormDecoder().decode(Form.self, from: String(buffer: bytes))
            guard clients[form.clientID] == form.clientSecret else { return Response(status: .unauthorized) }
            let answer = answers[form.token] ?? #"{"active": false}"#
            return Response(status: .ok, body: ResponseBody(byteBuffer: ByteBuffer(string: answer)))
        }
        let port = try freePort()
        let (listening, listens) = AsyncStream.makeStream(of: Void.self)
        let server = Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { _ in listens.finish() },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { listens.finish() }
                try await server.run()
            }
            for await _ in listening {}
            try await body("http://127.0.0.1:\(port)/introspect")
            group.cancelAll()
        }
    }
}
