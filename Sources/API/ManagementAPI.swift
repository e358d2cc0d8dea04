package import Federation
import HTTPTypes
package import Hummingbird
import Identity

/// The management listener: health for everybody, administration for operators.
package enum ManagementAPI {
    /// The routes, wired to the use cases.
    package static func router(federation: Federation, administration: Administration) -> Router<APIContext> {
        let router = Router(context: APIContext.self)
        router.add(middleware: ReplyMiddleware())
        // Never asks the database: load or an outage must not make a supervisor restart the process.
        router.get("/health/live") { _, _ in health("live") }
        router.get("/health/ready") { _, _ in
            guard let reason = await federation.reasonNotReady() else { return health("ready") }
            return health("not ready", reason: reason, status: .serviceUnavailable)
        }
        router.add(middleware: OperatorGate(administration: administration))
        for route in AdministrationRoute.all { route.mount(on: router, administration: administration) }
        router.add(middleware: MethodNotAllowed(router))
        return router
    }

    @Sendable private static func health(
        _ status: String,
        reason: String? = nil,
        status code: HTTPResponse.Status = .ok
    ) -> Response {
        var writer = JSONWriter(capacity: 64)
        writer.object { writer in
            writer.member("status", status)
            if let reason { writer.member("reason", reason) }
        }
        return .json(writer, status: code)
    }
}
