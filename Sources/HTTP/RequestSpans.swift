import HTTPTypes
package import Hummingbird
import Tracing

/// Traces every request of a listener, as far as whoever calls or the operator wants that: takes over where in a trace
/// it is, so that each line of the log that it leaves says so, and records a span of it.
///
/// A span is called by the route's template; no path, query, header or body is in it. Where nothing is to be traced
/// nothing is done.
package struct RequestSpans<Context: HTTPContext>: RouterMiddleware {
    private let listener: String

    /// - Parameter listener: What the listener is called: `public`, `management`.
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
            // The method of a request that fits no route is the client's own word.
            span.operationName = "\(request.method.rawValue) \(route)"
            attributes["http.request.method"] = request.method.rawValue
            attributes["http.route"] = route
        }
        span.attributes = attributes
        if response.status.kind == .serverError { span.setStatus(SpanStatus(code: .error)) }
    }
}

/// Reads the headers of a trace; one that is there several times, where there must be one, is none.
private struct TraceHeaders: Extractor {
    func extract(key: String, from headers: HTTPFields) -> String? {
        guard let name = HTTPField.Name(key) else { return nil }
        let values = headers[values: name]
        return key == "tracestate" && !values.isEmpty
            ? values.joined(separator: ",") : (values.count == 1 ? values[0] : nil)
    }
}
