package import Hummingbird
import Metrics
import NIOConcurrencyHelpers

/// Times every request of a listener by its route's template; a path, which a client writes, is in no label.
///
/// It stands around everything else. A reply counts as given when its head is known: how long a client takes to read it
/// is no matter of the route.
package struct RequestMetrics<Context: HTTPContext>: RouterMiddleware {
    private struct Key: Hashable {
        let route: String?
        let method: String
        let status: Int
    }

    private let listener: String
    private let inFlight: Meter
    /// Routes, methods and statuses are few, and their instruments are found once.
    private let timers = NIOLockedValueBox<[Key: Metrics.Timer]>([:])

    /// - Parameter listener: What the listener is called: `public`, `management`.
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
        // Of a request that fits no route the library says `NotFound` afterwards.
        let route = context.endpointPath
        inFlight.increment()
        defer { inFlight.decrement() }
        let response = try await next(request, context)
        // The method of a request that fits no route is the client's own word.
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
