import Logging
import Metrics
import Observability
import Secrets
import Tracing

/// What this process says of itself: its log, its metrics and its traces.
struct Telemetry: Sendable {
    let level: LogLevel
    let output = LineOutput.standard
    let notices: NoticeLimit
    let metrics = MetricRegistry(MetricFamily.all)
    /// Nil where no trace is exported.
    let spans: SpanQueue?
    private let tracer: W3CTracer

    init(_ configuration: ServerConfiguration) {
        level = LogLevel(configuration.logLevel)
        notices = NoticeLimit(output: output)
        spans = configuration.traces.map { _ in SpanQueue() }
        tracer = W3CTracer(queue: spans, percent: configuration.traces?.percent ?? 0, random: .system)
    }

    /// Has all loggers, instruments and spans that are made from now on; once in a process, and before anything counts.
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
