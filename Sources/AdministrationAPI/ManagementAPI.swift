package import Accounts
package import Administration
import Encodings
import HTTP
import HTTPTypes
package import Hummingbird

/// The management listener: health for all clients, the administration for operators, and metrics for all or operators.
package enum ManagementAPI {
    /// Adds pages, such as those of the console, to the router of the management listener.
    ///
    /// The pages call the routes of the administration within the process.
    package typealias Pages = @Sendable (Router<ManagementContext>, AdministrationCalls) -> Void

    /// Creates the router of the management listener.
    ///
    /// `pages` adds pages that are served without an operator token. Their calls of the administration need one.
    package static func router(
        useCases: UseCases,
        administration: Administration,
        metrics: MetricsPage,
        pages: Pages? = nil
    ) -> Router<ManagementContext> {
        // Both routers share one gate. They therefore share its known tokens and its count of concurrent requests.
        let gate = OperatorGate(
            administration: administration,
            pseudonyms: useCases.pseudonyms,
            rateLimiter: useCases.rateLimiter
        )
        let router = Router(context: ManagementContext.self)
        router.add(middleware: RequestMetrics<ManagementContext>(listener: "management"))
        // An operator's source is the address of the connection. No header can replace it.
        router.add(middleware: PeerMiddleware<ManagementContext>(trustedProxies: 0))
        router.add(middleware: ReplyMiddleware<ManagementContext> { _ in OperatorProblem() })
        router.add(middleware: RequestCheck<ManagementContext>())
        // This check never queries the database: load or an outage must not make a supervisor restart the process.
        router.get("/health/live") { _, _ in health("live") }
        router.get("/health/ready") { _, _ in
            let readiness = await useCases.health.readiness()
            guard readiness.reason != nil else {
                return health(readiness.errors.isEmpty ? "ready" : "degraded", readiness)
            }
            return health("not ready", readiness, status: .serviceUnavailable)
        }
        if metrics.access == .open { metrics.mount(on: router) }
        if let pages {
            let inner = Router(context: ManagementContext.self)
            inner.add(middleware: ReplyMiddleware<ManagementContext> { _ in OperatorProblem() })
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
