import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

/// A collector of traces in a process of its own, which accepts OTLP over HTTP and prints each body on a line.
private struct Collector {
    let process: ManagedProcess
    let port: Int

    private static let program = """
        import http.server, sys
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                ok = self.path == "/v1/traces" and self.headers["Content-Type"] == "application/json"
                self.send_response(200 if ok else 404)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")
                if ok: print(body.decode(), flush=True)
            def log_message(self, *words): pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
        print("listening", flush=True)
        server.serve_forever()
        """

    static func start() async throws -> Collector {
        let port = try freePort()
        let process = try await ManagedProcess.start("/usr/bin/env", ["python3", "-c", program, "\(port)"])
        try await process.waitUntilReady(within: .seconds(30)) { process.standardOutput.contains("listening\n") }
        return Collector(process: process, port: port)
    }

    /// The spans received so far.
    var spans: [JSONObject] {
        let lines = process.standardOutput.split(separator: "\n").dropFirst()
        let documents = lines.compactMap { try? JSONParser.parse(Array($0.utf8), limits: .stored).object }
        let resources = documents.flatMap { $0["resourceSpans"]?.array ?? [] }.compactMap(\.object)
        let scopes = resources.flatMap { $0["scopeSpans"]?.array ?? [] }.compactMap(\.object)
        return scopes.flatMap { $0["spans"]?.array ?? [] }.compactMap(\.object)
    }
}

@Suite("Traces", .serialized, .deployed(Document(mapping: #"{"email": "email"}"#)))
struct TracingTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private static let trace = "0af7651916cd43dd8448eb211c80319c"
    private static let parent = "00-\(trace)-b7ad6b7169203331-01"

    private func withTracing(
        _ environment: [String: String] = [:],
        _ body: (ServiceProcess, Collector) async throws -> Void
    ) async throws {
        let collector = try await Collector.start()
        let service = try await ServiceProcess.start(
            environment: deployment.commandEnvironment
                .merging(["FEDERATION_OTLP_ENDPOINT": "http://127.0.0.1:\(collector.port)/"]) { _, new in new }
                .merging(environment) { _, new in new }
        )
        try await body(service, collector)
        #expect(try await service.process.terminate() == .exited(0))
        try await collector.process.kill()
    }

    private func logIn(_ visitor: Visitor, at service: ServiceProcess, _ headers: [(String, String)]) async throws {
        let path = deployment.path("users/loginWithFacebook")
        let reply = try await service.client.post(
            path,
            json: #"{"accessToken": "\#(visitor.token)"}"#,
            headers: headers
        )
        try #require(reply.status == 200, "\(reply.text)")
    }

    @Test("a login is a span with its parts, calls and statement below it, in the caller's trace, without a value")
    func login() async throws {
        let ann = try await deployment.newcomer(#"{"email": "ann.canary@example.com"}"#)
        try await withTracing { service, collector in
            try await logIn(ann, at: service, [("traceparent", Self.parent), ("tracestate", "vendor=x")])
            try await eventually("the spans have come") { collector.spans.contains { $0["kind"]?.integer == 2 } }
            let spans = collector.spans.filter { $0["traceId"]?.string == Self.trace }
            let names = spans.compactMap { $0["name"]?.string }
            let servers = spans.filter { $0["kind"]?.integer == 2 }
            let root = try #require(servers.first)
            #expect(servers.count == 1)
            #expect(root["name"]?.string == "POST /{applicationId}/{apiKey}/users/loginWithFacebook")
            #expect(root["parentSpanId"]?.string == "b7ad6b7169203331" && root["traceState"]?.string == "vendor=x")
            for name in [
                "login provider", "login mapping", "login write", "facebook debug_token", "facebook me",
                "postgresql statement",
            ] {
                #expect(names.contains(name), "\(names)")
            }
            for span in spans where span["kind"]?.integer != 2 {
                #expect(span["parentSpanId"]?.string == root["spanId"]?.string, "\(span)")
            }
            let text = collector.process.standardOutput
            #expect(!text.lowercased().contains(Canary.mark))
            for value in [ann.token, ann.id] { #expect(!text.contains(value)) }
            let logged = try await eventually("the login is in the log") {
                service.process.standardOutput.split(separator: "\n")
                    .first { $0.contains(#""message":"login""#) }
                    .flatMap { JSON.object(String($0)) }
            }
            #expect(logged["trace_id"]?.string == Self.trace && logged["span_id"] == root["spanId"])
            #expect(root["attributes"]?.text.contains(logged["request"]?.string ?? "-") == true)
        }
    }

    @Test("a traceparent that is none begins a trace anew; one that is not to be recorded is not; health is in none")
    func others() async throws {
        let ann = try await deployment.newcomer()
        try await withTracing { service, collector in
            try await logIn(ann, at: service, [("traceparent", Self.parent.replacing("00-", with: "ff-"))])
            try await logIn(ann, at: service, [("traceparent", Self.parent), ("traceparent", Self.parent)])
            try await logIn(ann, at: service, [("traceparent", Self.parent.dropLast(2) + "00")])
            _ = try await service.management.get("/health/ready")
            try await logIn(ann, at: service, [])
            func roots() -> [JSONObject] { collector.spans.filter { $0["kind"]?.integer == 2 } }
            try await eventually("three have come") { roots().count >= 3 }
            #expect(roots().count == 3)
            #expect(roots().allSatisfy { $0["parentSpanId"] == nil && $0["traceId"]?.string != Self.trace })
            #expect(Set(roots().compactMap { $0["traceId"]?.string }).count == 3)
            let page = try await service.management.get("/metrics").text
            #expect(page.contains(#"federation_trace_spans_total{outcome="dropped"} 0"#))
        }
    }

    @Test("callers cannot have more recorded than the operator wants")
    func percent() async throws {
        let ann = try await deployment.newcomer()
        try await withTracing(["FEDERATION_TRACES_PERCENT": "0"]) { service, _ in
            try await logIn(ann, at: service, [("traceparent", Self.parent)])
            let page = try await service.management.get("/metrics").text
            for sample in [#"total{outcome="exported"}"#, #"total{outcome="dropped"}"#, "waiting"] {
                #expect(page.contains("federation_trace_spans_\(sample) 0\n"))
            }
            try await eventually("the log has its id all the same") {
                service.process.standardOutput.contains(#""trace_id":"\#(Self.trace)""#)
            }
        }
    }

    @Test("a collector that is not there keeps nobody waiting, and what it does not take is counted")
    func absent() async throws {
        let ann = try await deployment.newcomer()
        try await withTracing(["FEDERATION_OTLP_ENDPOINT": "http://127.0.0.1:1"]) { service, _ in
            try await logIn(ann, at: service, [])
            try await eventually("the spans are dropped, and the log says why", within: .seconds(60)) {
                let page = try await service.management.get("/metrics").text
                return !page.contains(#"federation_trace_spans_total{outcome="dropped"} 0"#)
                    && service.process.standardOutput.contains("traces could not be exported")
            }
        }
    }

    @Test("without a collector the ids of a trace are in the log all the same")
    func logOnly() async throws {
        let ann = try await deployment.newcomer()
        try await logIn(ann, at: deployment.service, [("traceparent", Self.parent)])
        try await eventually("the line is there") {
            deployment.service.process.standardOutput.contains(
                #""span_id":"b7ad6b7169203331""#
            ) && deployment.service.process.standardOutput.contains(#""trace_id":"\#(Self.trace)""#)
        }
    }
}
