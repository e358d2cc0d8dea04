package import Curl
import Encodings
package import Logging
import Tracing

/// Exports spans to a collector: OTLP over HTTP with JSON (opentelemetry.io/docs/specs/otlp).
///
/// Spans are exported in batches, in the background. If the collector does not accept a batch, the exporter tries it a
/// few more times. Then it drops the spans of the batch and counts them.
package struct OTLPExporter: Sendable {
    private let url: HTTPURL
    private let queue: SpanQueue
    private let client: CurlClient
    private let resource: [(name: String, value: String)]
    private let logger: Logger

    /// The maximum time for which a finished span waits until the export of its batch begins.
    private static let interval = Duration.seconds(1)
    private static let timeout = Duration.seconds(5)
    private static let attempts = 3

    /// Stores the configuration of an exporter.
    ///
    /// - Parameters:
    ///   - url: The collector's URL for traces, such as `http://127.0.0.1:4318/v1/traces`.
    ///   - queue: The queue of spans to export.
    ///   - client: The HTTP client. Logins must not use the same one, so that a collector that hangs delays no login.
    ///   - resource: Attributes of the process, such as `service.name`.
    ///   - logger: Gets a line when exports begin to fail, and no further one until an export succeeds again.
    package init(
        url: HTTPURL,
        queue: SpanQueue,
        client: CurlClient,
        resource: [(name: String, value: String)],
        logger: Logger
    ) {
        self.url = url
        self.queue = queue
        self.client = client
        self.resource = resource
        self.logger = logger
    }

    /// Exports spans until the task is cancelled.
    ///
    /// After the cancellation, the method exports the remaining spans, with one attempt for each batch.
    package func run() async {
        let (turns, turn) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in queue.isFull { turn.yield() } }
            group.addTask {
                while !Task.isCancelled {
                    try? await Task.sleep(for: Self.interval)
                    turn.yield()
                }
                turn.finish()
            }
            group.addTask {
                var isTaken = true
                for await _ in turns { await exportAll(&isTaken) }
            }
        }
        // The cancellation of this task does not cancel the new one.
        await Task { [self] in
            while case let spans = queue.take(), !spans.isEmpty {
                if await export(spans, attempts: 1) != nil { break }
            }
            // After a failed batch, the rest would also fail.
            while case let rest = queue.take(), !rest.isEmpty { queue.note(dropped: rest.count) }
        }.value
    }

    private func exportAll(_ isTaken: inout Bool) async {
        while !Task.isCancelled {
            let spans = queue.take()
            guard !spans.isEmpty else { return }
            let problem = await export(spans, attempts: Self.attempts)
            if isTaken, let problem {
                logger.warning("traces could not be exported", metadata: ["cause": "\(problem)"])
            }
            isTaken = problem == nil
        }
    }

    /// Sends one batch of spans to the collector, with the given maximum number of attempts.
    ///
    /// - Returns: The reason why the spans were not accepted; nil on success.
    @discardableResult
    private func export(_ spans: [FinishedSpan], attempts: Int) async -> String? {
        var problem = "nothing was tried"
        for attempt in 1...attempts {
            do throws(CurlError) {
                let request = try HTTPRequest(
                    method: .post,
                    url: url,
                    headers: [("Content-Type", "application/json")],
                    body: OTLPDocument.bytes(of: spans, resource: resource),
                    timeout: Self.timeout,
                    connectTimeout: Self.timeout,
                    maxReplyBytes: 65_536
                )
                let reply = try await client.send(request)
                if (200..<300).contains(reply.status) {
                    queue.note(exported: spans.count)
                    return nil
                }
                problem = "status \(reply.status)"
                // Only these status codes allow a retry (OTLP/HTTP, failures).
                guard [429, 502, 503, 504].contains(reply.status) else { break }
            } catch {
                problem = "\(error)"
            }
            guard attempt < attempts, (try? await Task.sleep(for: Self.interval * attempt)) != nil else { break }
        }
        queue.note(dropped: spans.count)
        return problem
    }
}

/// The body of an export request: `ExportTraceServiceRequest` as JSON.
///
/// Ids are hexadecimal, and 64-bit numbers are text.
enum OTLPDocument {
    static func bytes(of spans: [FinishedSpan], resource: [(name: String, value: String)]) -> [UInt8] {
        let attributes = JSONValue.array(resource.map { attribute($0.name, ["stringValue": .string($0.value)]) })
        let document: JSONObject = [
            "resourceSpans": .array([
                .object([
                    "resource": .object(["attributes": attributes]),
                    "scopeSpans": .array([
                        .object([
                            "scope": .object(["name": .string("federation")]),
                            "spans": .array(spans.map { .object(object($0)) }),
                        ])
                    ]),
                ])
            ])
        ]
        return JSONValue.object(document).bytes
    }

    private static func object(_ span: FinishedSpan) -> JSONObject {
        var object: JSONObject = [
            "traceId": .string(span.position.traceID), "spanId": .string(span.position.spanID),
            "name": .string(span.name), "kind": .integer(number(of: span.kind)),
            "startTimeUnixNano": .string(String(span.began)), "endTimeUnixNano": .string(String(span.ended)),
        ]
        if let parent = span.parentID { object.append("parentSpanId", .string(parent)) }
        if let state = span.position.state { object.append("traceState", .string(state)) }
        var attributes: [(String, JSONValue)] = []
        span.attributes.forEach { name, value in attributes.append((name, Self.attribute(name, text(of: value)))) }
        if !attributes.isEmpty {
            object.append("attributes", .array(attributes.sorted { $0.0 < $1.0 }.map(\.1)))
        }
        // 2 is `STATUS_CODE_ERROR`. Without this member, the status is unset.
        if span.hasFailed { object.append("status", .object(["code": .integer(2)])) }
        return object
    }

    private static func attribute(_ name: String, _ value: JSONObject) -> JSONValue {
        .object(["key": .string(name), "value": .object(value)])
    }

    private static func text(of attribute: SpanAttribute) -> JSONObject {
        switch attribute {
        case .int32(let number): ["intValue": .string(String(number))]
        case .int64(let number): ["intValue": .string(String(number))]
        case .bool(let bool): ["boolValue": .bool(bool)]
        case .string(let text): ["stringValue": .string(text)]
        default: ["stringValue": .string("\(attribute)")]
        }
    }

    private static func number(of kind: SpanKind) -> Int64 {
        switch kind {
        case .internal: 1
        case .server: 2
        case .client: 3
        case .producer: 4
        case .consumer: 5
        }
    }
}
