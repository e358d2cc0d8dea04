import Domain
import Encodings
import Glibc
package import Logging

/// A log handler that writes one line of JSON for each log event.
///
/// An example is `{"time":"…","level":"info","message":"login",…}`. Further members contain the metadata of the event.
package struct JSONLogHandler: LogHandler {
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?
    package var logLevel: Logger.Level {
        get { own ?? level.current }
        set { own = newValue }
    }
    /// The level that was set for this logger alone; nil if the level of the process applies.
    private var own: Logger.Level?
    private let level: LogLevel
    private let output: LineOutput
    private let notices: NoticeLimit?

    /// Creates a log handler that writes to the given output.
    ///
    /// - Parameters:
    ///   - level: The lowest level that is written.
    ///   - output: The output for the lines.
    ///   - notices: Limits the number of lines of the level `notice`, since clients can cause any number of them; nil
    ///     for no limit.
    package init(level: LogLevel, output: LineOutput, notices: NoticeLimit? = nil) {
        self.level = level
        self.output = output
        self.notices = notices
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        if event.level == .notice, let notices {
            let outcome = (event.metadata?["outcome"] ?? event.metadata?["reason"])?.description
            guard notices.admits(.init(message: event.message.description, outcome: outcome)) else { return }
        }
        var members = event.metadata.map(Array.init) ?? []
        for member in metadata where event.metadata?[member.key] == nil { members.append(member) }
        // The provided metadata is the position in a trace.
        if let provided = metadataProvider?.get() { members += provided }
        var texts = members.sorted { $0.key < $1.key }.map { key, value in
            (key == Self.requestKey ? "request" : key, value.description)
        }
        if let error = event.error { texts.append(("error", "\(type(of: error))")) }
        output.write(Self.line(level: event.level, message: event.message.description, members: texts))
        if event.level == .critical { output.flush() }
    }

    /// Returns one event of the log as a line of JSON, with a line break at its end.
    static func line(level: Logger.Level, message: String, members: [(name: String, text: String)]) -> [UInt8] {
        var writer = JSONWriter(capacity: 320)
        writer.object { writer in
            writer.member("time", utcText())
            writer.member("level", level.rawValue)
            writer.member("message", bounded(message))
            for (name, text) in members { writer.member(name, bounded(text)) }
        }
        return writer.bytes + [UInt8(ascii: "\n")]
    }

    /// The key under which the HTTP library keeps the id of the request.
    private static let requestKey = "hb.request.id"

    /// Returns the first 1024 bytes of a text, so that no value makes a line of the log too long to read.
    private static func bounded(_ text: String) -> String {
        text.utf8.count <= 1024 ? text : String(decoding: text.utf8.prefix(1024), as: UTF8.self) + "…"
    }
}

/// Returns the current time as `2026-11-21T09:37:00.123Z`.
private func utcText() -> String {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    let (days, second) = time.tv_sec.quotientAndRemainder(dividingBy: 86_400)
    let date = CalendarDate(daysSince1970: days)?.description ?? "0000-00-00"
    func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
    return "\(date)T\(padded(second / 3600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))"
        + ".\(padded(time.tv_nsec / 1_000_000, 3))Z"
}
