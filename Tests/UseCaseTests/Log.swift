import Logging
import NIOConcurrencyHelpers

/// A log handler that keeps a line for each event: level, message and metadata.
final class Log: LogHandler {
    private let kept = NIOLockedValueBox<[String]>([])
    private let own = NIOLockedValueBox<Logger.Metadata>([:])
    var metadata: Logger.Metadata {
        get { own.withLockedValue { $0 } }
        set { own.withLockedValue { $0 = newValue } }
    }
    var logLevel: Logger.Level {
        get { .trace }
        set {}
    }
    var lines: [String] { kept.withLockedValue { $0 } }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { own.withLockedValue { $0[key] } }
        set { own.withLockedValue { $0[key] = newValue } }
    }

    func log(event: LogEvent) {
        let members = (event.metadata ?? [:]).map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " ")
        let line = ["\(event.level)", "\(event.message)", members].filter { !$0.isEmpty }.joined(separator: " ")
        kept.withLockedValue { $0.append(line) }
    }
}
