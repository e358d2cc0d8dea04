import HTTPTypes
package import Hummingbird
import Tracing

/// Traces the requests of a listener: those that continue a client's trace, and those that the tracer chooses.
///
/// The middleware starts a span for the request, so each log line has the ids of the trace and the span. The name of a
/// span is the method and the route's template. It contains no path, query, header or body of the request. A request
/// that is not traced costs nothing.
package struct RequestSpans<Context: HTTPContext>: RouterMiddleware {
    private let listener: String

    /// - Parameter listener: The name of the listener: `public`, `management`.
    package init(listener: String) {
        self.listener = listener
    }

    package func handle(
        _ request: Request,
        context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        var position = InstrumentationContext.topLevel
        InstrumentationSystem.instrument.extract(request.headers, into: &position, using: TraceHeaders())
        let span = startSpan("request", context: position, ofKind: .server)
        guard !span.context.isEmpty else { return try await next(request, context) }
        defer { span.end() }
        return try await InstrumentationContext.$current.withValue(span.context) {
            let response = try await next(request, context)
            if span.isRecording { describe(request, context, response, in: span) }
            return response
        }
    }

    private func describe(_ request: Request, _ context: Context, _ response: Response, in span: any Span) {
        var attributes: SpanAttributes = [
            "federation.listener": .string(listener), "federation.request": .string(context.requestID),
            "http.response.status_code": .int64(Int64(response.status.code)),
        ]
        if let route = context.endpointPath {
            // The client chooses the method of a request that matches no route.
            span.operationName = "\(request.method.rawValue) \(route)"
            attributes["http.request.method"] = request.method.rawValue
            attributes["http.route"] = route
        }
        span.attributes = attributes
        if response.status.kind == .serverError { span.setStatus(SpanStatus(code: .error)) }
    }
}

/// Reads the tracing headers of a request: `traceparent` and `tracestate`.
///
/// The values of a repeated `tracestate` are joined. Any other repeated header counts as absent.
private struct TraceHeaders: Extractor {
    func extract(key: String, from headers: HTTPFields) -> String? {
        guard let name = HTTPField.Name(key) else { return nil }
        let values = headers[values: name]
        return key == "tracestate" && !values.isEmpty
            ? values.joined(separator: ",") : (values.count == 1 ? values[0] : nil)
    }
}
