import Logging
import NIOConcurrencyHelpers

/// Keeps what is logged, a line each: level, message, and what goes with it.
final class Log: LogHandler {
    private let kept = NIOLockedValueBox<[String]>([])
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    var logLevel: Logger.Level {
        get { .trace }
        set {}
    }
    var lines: [String] { kept.withLockedValue { $0 } }

    subscript(metadataKey _: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) {
        let members = (event.metadata ?? [:]).map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " ")
        let line = ["\(event.level)", "\(event.message)", members].filter { !$0.isEmpty }.joined(separator: " ")
        kept.withLockedValue { $0.append(line) }
    }
}
