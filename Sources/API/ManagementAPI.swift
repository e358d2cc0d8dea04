package import Administration
package import Federation
package import HTTP
import HTTPTypes
package import Hummingbird
import Vocabulary

/// The management listener: health for everybody, administration for operators, and metrics for either.
package enum ManagementAPI {
    /// Mounts pages that call the administration.
    package typealias Pages = @Sendable (Router<ManagementContext>, AdministrationCalls) -> Void

    /// The routes, wired to the use cases; failures are told by the table.
    ///
    /// `pages` mounts what stands in front of the gate and calls the administration by it.
    package static func router(
        federation: Federation,
        administration: Administration,
        metrics: MetricsPage,
        errors: any ErrorTable,
        pages: Pages? = nil
    ) -> Router<ManagementContext> {
        // One gate for both ways: what it knows of sources, and how many requests are under way.
        let gate = OperatorGate(
            administration: administration,
            pseudonyms: federation.pseudonyms,
            rateLimiter: federation.rateLimiter
        )
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
            guard readiness.reason != nil else {
                return health(readiness.errors.isEmpty ? "ready" : "degraded", readiness)
            }
            return health("not ready", readiness, status: .serviceUnavailable)
        }
        if metrics.access == .open { metrics.mount(on: router) }
        if let pages {
            let inner = Router(context: ManagementContext.self)
            inner.add(middleware: ReplyMiddleware<ManagementContext> { _ in errors })
            inner.add(middleware: gate)
            for route in AdministrationRoute.all { route.mount(on: inner, administration: administration) }
            pages(router, AdministrationCalls(inner))
        }
        router.add(middleware: RequestSpans<ManagementContext>(listener: "management"))
        router.add(middleware: gate)
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
            if let errors = readiness?.errors, !errors.isEmpty {
                writer.member("errors", .array(errors.map { .string($0) }))
            }
            guard let warnings = readiness?.warnings, !warnings.isEmpty else { return }
            writer.member("warnings", .array(warnings.map { .string($0) }))
        }
        return .json(writer, status: code)
    }
}
