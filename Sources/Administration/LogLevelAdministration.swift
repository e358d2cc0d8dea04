import Description
package import Domain
package import Encodings
import Logging
import Observability
import Secrets
import Store

/// Shows the log level of this instance, and changes it for a limited time.
package struct LogLevelAdministration: Sendable {
    let store: Store
    let level: LogLevel
    let clock: WallClock

    /// The default time in seconds after which the instance returns from a changed log level to the configured one.
    private static let usualSeconds: Int64 = 600
    /// The maximum time in seconds for which a changed log level is in force.
    ///
    /// The limit is for an operator who forgets to reset a verbose level.
    private static let maxSeconds: Int64 = 86_400

    /// Returns the log level of this instance: `{"level", "configured", "until"}`.
    ///
    /// `level` is the level in force, and `configured` the level of the configuration. `until` is the time in Unix
    /// milliseconds until which `level` is in force. `until` is null while the configured level is in force.
    package func show() -> JSONValue {
        let state = level.state
        return .object([
            "level": .string(state.level.rawValue), "configured": .string(level.configured.rawValue),
            "until": state.until.map(JSONValue.integer) ?? .null,
        ])
    }

    /// Changes the log level of this instance for a limited time.
    ///
    /// - Parameters:
    ///   - document: `{"level", "seconds"?}`. `seconds` is 600 by default, and a day at most.
    ///   - actor: The operator.
    /// - Returns: The same as `show`.
    /// - Throws: `document_invalid`; `store_unavailable` and similar errors. After an error, the level is unchanged.
    package func change(_ document: JSONValue, by actor: ChangeAuthor) async throws(Failure) -> JSONValue {
        var problems = DocumentProblems()
        var wanted: Logger.Level?
        var seconds = Self.usualSeconds
        let levels = Logger.Level.allCases.map(\.rawValue)
        guard let members = document.object?.members else {
            throw Failure(.documentInvalid, "The body must be an object, such as {\"level\": \"debug\"}.")
        }
        for member in members {
            let place = JSONPointer() / member.key
            switch member.key {
            case "level":
                wanted = member.value.string.flatMap(Logger.Level.init(rawValue:))
                if wanted == nil { problems.add(place, "must be one of \(levels.joined(separator: ", "))") }
            case "seconds":
                seconds = member.value.integer ?? 0
                if !(1...Self.maxSeconds).contains(seconds) {
                    problems.add(place, "must be a whole number from 1 to \(Self.maxSeconds)")
                }
            default: problems.add(unknown: member.key, at: place, among: ["level", "seconds"])
            }
        }
        if wanted == nil, problems.isEmpty {
            problems.add(JSONPointer() / "level", "is missing: one of \(levels.joined(separator: ", "))")
        }
        guard problems.isEmpty, let wanted else { throw problems.failure }
        try await store.recordLogLevel(
            from: level.state.level.rawValue,
            to: wanted.rawValue,
            seconds: seconds,
            by: actor
        )
        level.set(wanted, for: seconds * 1000, now: clock.seconds * 1000)
        return show()
    }
}
