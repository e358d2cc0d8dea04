import Logging
import Metrics
import Observability

/// What this process says of itself: its log and its metrics.
struct Telemetry: Sendable {
    let level: LogLevel
    let output = LineOutput.standard
    let notices: NoticeLimit
    let metrics = MetricRegistry(MetricFamily.all)

    init(_ configuration: ServerConfiguration) {
        level = LogLevel(configuration.logLevel)
        notices = NoticeLimit(output: output)
    }

    /// Has all loggers and instruments that are made from now on; once in a process, and before anything counts.
    func start() {
        LoggingSystem.bootstrap { _ in JSONLogHandler(level: level, output: output, notices: notices) }
        MetricsSystem.bootstrap(metrics)
    }
}
