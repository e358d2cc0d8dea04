import Domain
import Logging
import Metrics
import Observability
import Secrets
import Tracing

/// The log, the metrics and the traces of this process.
struct Telemetry: Sendable {
    let level: LogLevel
    let output = LineOutput.standard
    let notices: NoticeLimit
    let metrics = MetricRegistry(MetricFamily.all)
    /// The queue of trace spans to export; nil if no trace is exported.
    let spans: SpanQueue?
    private let tracer: W3CTracer

    init(_ configuration: ServerConfiguration) {
        level = LogLevel(configuration.logLevel)
        notices = NoticeLimit(output: output)
        spans = configuration.traces.map { _ in SpanQueue() }
        tracer = W3CTracer(queue: spans, percent: configuration.traces?.percent ?? 0, random: .system)
    }

    /// Installs the process-wide log, metrics and tracer.
    ///
    /// This method must be called once, before any code logs or counts.
    func start() {
        LoggingSystem.bootstrap(
            { _, provider in
                var handler = JSONLogHandler(level: level, output: output, notices: notices)
                handler.metadataProvider = provider
                return handler
            },
            metadataProvider: W3CTracer.metadataProvider
        )
        MetricsSystem.bootstrap(metrics)
        InstrumentationSystem.bootstrap(tracer)
    }
}
