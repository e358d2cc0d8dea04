package import Administration
package import Federation
package import HTTP
import HTTPTypes
package import Hummingbird
import Vocabulary

/// The management listener: health for everybody, administration for operators, and metrics for either.
package enum ManagementAPI {
    /// The routes, wired to the use cases; failures are told by the table.
    package static func router(
        federation: Federation,
        administration: Administration,
        metrics: MetricsPage,
        errors: any ErrorTable
    ) -> Router<ManagementContext> {
        let router = Router(context: ManagementContext.self)
        router.add(middleware: RequestMetrics<ManagementContext>(listener: "management"))
        // Operators' sources are those of their connections: nobody writes an address into a header and is another.
        router.add(middleware: PeerMiddleware<ManagementContext>(trustedProxies: 0))
        router.add(middleware: ReplyMiddleware<ManagementContext> { _ in errors })
        router.add(middleware: RequestCheck<ManagementContext>())
        // Never asks the database: load or an outage must not make a supervisor restart the process.
        router.get("/health/live") { _, _ in health("live") }
        router.get("/health/ready") { _, _ in
            let readiness = await federation.health.readiness()
            guard readiness.reason != nil else { return health("ready", readiness) }
            return health("not ready", readiness, status: .serviceUnavailable)
        }
        if metrics.access == .open { metrics.mount(on: router) }
        router.add(middleware: RequestSpans<ManagementContext>(listener: "management"))
        router.add(
            middleware: OperatorGate(
                administration: administration,
                pseudonyms: federation.pseudonyms,
                rateLimiter: federation.rateLimiter
            )
        )
        if metrics.access == .operator { metrics.mount(on: router) }
        for route in AdministrationRoute.all { route.mount(on: router, administration: administration) }
        router.add(middleware: MethodNotAllowed(router))
        return router
    }

    @Sendable private static func health(
        _ status: String,
        _ readiness: Readiness? = nil,
        status code: HTTPResponse.Status = .ok
    ) -> Response {
        var writer = JSONWriter(capacity: 64)
        writer.object { writer in
            writer.member("status", status)
            if let reason = readiness?.reason { writer.member("reason", reason) }
            guard let warnings = readiness?.warnings, !warnings.isEmpty else { return }
            writer.member("warnings", .array(warnings.map { .string($0) }))
        }
        return .json(writer, status: code)
    }
}
