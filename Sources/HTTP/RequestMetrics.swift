package import Hummingbird
import Metrics
import NIOConcurrencyHelpers

/// Measures how long the requests of a listener take, for each route, method and status separately.
///
/// The metrics name a route by its template, never by a path that a client wrote.
///
/// The middleware is the outermost one. The measured time ends when the response's status and headers are known, so it
/// does not depend on how fast the client reads.
package struct RequestMetrics<Context: HTTPContext>: RouterMiddleware {
    private struct Key: Hashable {
        let route: String?
        let method: String
        let status: Int
    }

    private let listener: String
    private let inFlight: Meter
    /// The timers that record the metrics, by route, method and status; each is created at its first use.
    private let timers = NIOLockedValueBox<[Key: Metrics.Timer]>([:])

    /// - Parameter listener: The name of the listener: `public`, `management`.
    package init(listener: String) {
        self.listener = listener
        inFlight = Meter(label: "federation_http_requests_in_flight", dimensions: [("listener", listener)])
    }

    package func handle(
        _ request: Request,
        context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        let began = ContinuousClock.now
        // For a request that matches no route the library reports `NotFound` afterwards.
        let route = context.endpointPath
        inFlight.increment()
        defer { inFlight.decrement() }
        let response = try await next(request, context)
        // The client chooses the method of a request that matches no route.
        let key = Key(route: route, method: route == nil ? "" : request.method.rawValue, status: response.status.code)
        timer(key).record(duration: began.duration(to: .now))
        return response
    }

    private func timer(_ key: Key) -> Metrics.Timer {
        timers.withLockedValue { timers in
            if let timer = timers[key] { return timer }
            let timer = Metrics.Timer(
                label: "federation_http_requests_seconds",
                dimensions: [
                    ("listener", listener), ("method", key.method), ("route", key.route ?? ""),
                    ("status", String(key.status)),
                ]
            )
            timers[key] = timer
            return timer
        }
    }
}
