import Logging
import Observability
import Secrets
import Store
package import Vocabulary

/// What of this instance's log is written.
package struct LogLevelAdministration: Sendable {
    let store: Store
    let level: LogLevel
    let clock: WallClock

    /// Seconds for which another level is in force where nobody says.
    private static let usualSeconds: Int64 = 600
    /// Seconds for which it may be: nobody forgets a talkative log for longer than a day.
    private static let mostSeconds: Int64 = 86_400

    /// `{"level", "configured", "until"}`; `until` in Unix milliseconds, null while the configured level is in force.
    package func show() -> JSONValue {
        let state = level.state
        return .object([
            "level": .string(state.level.rawValue), "configured": .string(level.configured.rawValue),
            "until": state.until.map(JSONValue.integer) ?? .null,
        ])
    }

    /// Writes lines from another level on for a while, at this instance.
    ///
    /// - Parameters:
    ///   - document: `{"level", "seconds"?}`: 600 seconds without, a day at most.
    ///   - actor: Who asks.
    /// - Returns: As `show`.
    /// - Throws: `document_invalid`; `store_unavailable` and its like, nothing having changed.
    package func change(_ document: JSONValue, by actor: Actor) async throws(Failure) -> JSONValue {
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
                if !(1...Self.mostSeconds).contains(seconds) {
                    problems.add(place, "must be a whole number from 1 to \(Self.mostSeconds)")
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
