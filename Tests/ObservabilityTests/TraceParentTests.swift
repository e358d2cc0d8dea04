import Curl
import Domain
import Logging
@testable import Observability
import Testing
import Tracing

@Suite("Where in a trace a request is: W3C Trace Context")
struct TraceParentTests {
    private static let trace = "0af7651916cd43dd8448eb211c80319c"
    private static let span = "b7ad6b7169203331"
    private static let random = RandomSource { count in (0..<count).map { _ in .random(in: 0...255) } }

    @Test(
        "a traceparent is taken for what it says",
        arguments: [
            ("00-\(trace)-\(span)-01", true), ("00-\(trace)-\(span)-00", false), ("00-\(trace)-\(span)-03", true),
            ("00-\(trace)-\(span)-fe", false), ("01-\(trace)-\(span)-01", true), ("cc-\(trace)-\(span)-01-what", true),
        ]
    )
    func parents(_ text: String, _ isSampled: Bool) throws {
        let parent = try #require(TraceParent(text))
        #expect(parent == TraceParent(traceID: Self.trace, spanID: Self.span, isSampled: isSampled))
    }

    @Test(
        "one that breaks a rule is none",
        arguments: [
            "", "00", "00-\(trace)-\(span)", "00-\(trace)-\(span)-1", "00-\(trace)-\(span)-01-what",
            "00-\(trace)-\(span)-01 ", " 00-\(trace)-\(span)-01", "ff-\(trace)-\(span)-01", "0-\(trace)-\(span)-01",
            "00-\(trace.uppercased())-\(span)-01", "00-\(trace)-\(span)-0g", "00-\(trace)-\(span)-0A",
            "00-00000000000000000000000000000000-\(span)-01", "00-\(trace)-0000000000000000-01",
            "00_\(trace)_\(span)_01", "00-\(trace)\(span)--01", "00-\(trace)-\(span)-01,00-\(trace)-\(span)-01",
            "cc-\(trace)-\(span)-01.what", "00-\(trace.dropLast())é\(span)-01",
        ]
    )
    func refused(_ text: String) { #expect(TraceParent(text) == nil) }

    @Test(
        "a tracestate is kept as it came, or not at all",
        arguments: [
            ("a=1", true), ("a=1,b=2", true), ("a=1 , b=2", true), ("a=1,,b=2", true), ("tenant@system=x y", true),
            ("1tenant@system=x", true), ("a_-*/=~", true), ("a= ", false), ("", false), (",", false), ("a", false),
            ("A=1", false), ("1=1", false), ("a=1=2", false), ("a=é", false), ("a=1,a=2", false), ("@a=1", false),
            ("a@=1", false), ("a@b@c=1", false), ("a@1b=1", false), ("a=\u{7}", false),
            ("a=" + String(repeating: "x", count: 256), true), ("a=" + String(repeating: "x", count: 257), false),
            ((0..<32).map { "k\($0)=1" }.joined(separator: ","), true),
            ((0..<33).map { "k\($0)=1" }.joined(separator: ","), false),
            (String(repeating: "a", count: 257) + "=1", false),
        ]
    )
    func states(_ state: String, _ isKept: Bool) throws {
        let parent = try #require(TraceParent("00-\(Self.trace)-\(Self.span)-01", state: state))
        #expect(parent.state == (isKept ? state : nil))
    }

    private struct Headers: Extractor {
        func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }
    }

    private func started(_ tracer: W3CTracer, _ headers: [String: String]) -> TraceSpan {
        var context = InstrumentationContext.topLevel
        tracer.extract(headers, into: &context, using: Headers())
        return tracer.startSpan("request", context: context, ofKind: .server)
    }

    @Test("a span goes on with the trace that came, or begins one; the caller's flag says whether it is exported")
    func spans() throws {
        let queue = SpanQueue()
        let tracer = W3CTracer(queue: queue, percent: 100, random: Self.random)
        let parent = "00-\(Self.trace)-\(Self.span)-"
        for headers in [["traceparent": parent + "01", "tracestate": "a=1"], ["traceparent": parent + "00"], [:]] {
            started(tracer, headers).end()
        }
        let spans = queue.take()
        try #require(spans.count == 2)
        #expect(spans[0].position.traceID == Self.trace && spans[0].parentID == Self.span)
        #expect(spans[0].position.state == "a=1" && spans[0].position.spanID != Self.span)
        #expect(spans[1].parentID == nil && spans[1].position.traceID != Self.trace)
        #expect(TraceParent("00-\(spans[1].position.traceID)-\(spans[1].position.spanID)-01") != nil)
    }

    @Test("none is recorded at 0 percent, whoever wants it, and without a collector none is begun")
    func unrecorded() {
        for tracer in [
            W3CTracer(queue: SpanQueue(), percent: 0, random: Self.random),
            W3CTracer(queue: nil, percent: 100, random: Self.random),
        ] {
            let span = started(tracer, [:])
            #expect(!span.isRecording && span.context.isEmpty)
            #expect(!started(tracer, ["traceparent": "00-\(Self.trace)-\(Self.span)-01"]).isRecording)
        }
        let traced = started(
            W3CTracer(queue: nil, percent: 100, random: Self.random),
            ["traceparent": "00-\(Self.trace)-\(Self.span)-01"]
        )
        #expect(!traced.isRecording)
        InstrumentationContext.$current.withValue(traced.context) {
            #expect(
                W3CTracer.metadataProvider.get() == ["trace_id": "\(Self.trace)", "span_id": "\(Self.span)"]
            )
        }
        #expect(W3CTracer.metadataProvider.get().isEmpty)
    }

    @Test("a span ends once; a full queue drops what comes and counts it")
    func queue() {
        let queue = SpanQueue(capacity: 3, batch: 2)
        let tracer = W3CTracer(queue: queue, percent: 100, random: Self.random)
        let span = started(tracer, [:])
        span.end()
        span.end()
        for _ in 0..<4 { started(tracer, [:]).end() }
        #expect(queue.statistics == (exported: 0, dropped: 2, waiting: 3))
        #expect(queue.take().count == 2 && queue.take().count == 1 && queue.take().isEmpty)
    }

    @Test("what is left at the end is counted, however much it is, when the collector is away")
    func end() async throws {
        let queue = SpanQueue()
        let tracer = W3CTracer(queue: queue, percent: 100, random: Self.random)
        for _ in 0..<1300 { started(tracer, [:]).end() }
        let exporter = OTLPExporter(
            url: try HTTPURL("http://127.0.0.1:1/v1/traces"),
            queue: queue,
            client: try CurlClient(),
            resource: [],
            logger: Logger(label: "tracing") { _ in SwiftLogNoOpLogHandler() }
        )
        let running = Task { await exporter.run() }
        running.cancel()
        await running.value
        #expect(queue.statistics == (exported: 0, dropped: 1300, waiting: 0))
    }

    @Test("spans are written as OTLP has them in JSON: ids in hexadecimal, 64-bit numbers as texts")
    func document() throws {
        let queue = SpanQueue()
        let tracer = W3CTracer(queue: queue, percent: 100, random: Self.random)
        let span = started(tracer, ["traceparent": "00-\(Self.trace)-\(Self.span)-01", "tracestate": "a=1"])
        span.operationName = "GET /{id}"
        span.attributes = SpanAttributes(["b": .int64(404), "a": .string("x\"y"), "c": .bool(true)])
        span.setStatus(SpanStatus(code: .error))
        span.end()
        let spans = queue.take()
        let bytes = OTLPDocument.bytes(of: spans, resource: [("service.name", "federation")])
        let first = try #require(spans.first)
        let expected = """
            {"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"federation"}}]},\
            "scopeSpans":[{"scope":{"name":"federation"},"spans":[{"traceId":"\(Self.trace)",\
            "spanId":"\(first.position.spanID)","name":"GET /{id}","kind":2,"startTimeUnixNano":"\(first.began)",\
            "endTimeUnixNano":"\(first.ended)","parentSpanId":"\(Self.span)","traceState":"a=1","attributes":[\
            {"key":"a","value":{"stringValue":"x\\"y"}},{"key":"b","value":{"intValue":"404"}},\
            {"key":"c","value":{"boolValue":true}}],"status":{"code":2}}]}]}]}
            """
        #expect(String(decoding: bytes, as: UTF8.self) == expected)
    }
}
