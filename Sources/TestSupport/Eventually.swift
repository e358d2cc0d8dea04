/// An error for a condition or an operation that missed its deadline.
package struct DeadlinePassed: Error, CustomStringConvertible {
    /// A description of the condition or the operation that the caller waited for.
    package let what: String
    /// The time allowed.
    package let limit: Duration
    /// The error of the last attempt, if that attempt failed.
    package let lastError: (any Error)?

    package var description: String {
        let cause = lastError.map { "; last error: \($0)" } ?? ""
        return "not within \(limit): \(what)\(cause)"
    }
}

/// Polls until a condition holds.
///
/// If the condition throws an error, it does not hold yet. So the condition may query a server that is restarting.
///
/// - Parameters:
///   - what: The condition's description, for the error.
///   - limit: The time allowed.
///   - interval: The pause between two attempts.
///   - isolation: The caller's isolation. The closure runs in it, too.
///   - condition: The condition.
/// - Throws: ``DeadlinePassed``, or `CancellationError` if the task is cancelled.
package func eventually(
    _ what: String,
    within limit: Duration = .seconds(30),
    every interval: Duration = .milliseconds(10),
    isolation: isolated (any Actor)? = #isolation,
    _ condition: () async throws -> Bool
) async throws {
    _ = try await eventually(what, within: limit, every: interval, isolation: isolation) { () -> Void? in
        try await condition() ? () : nil
    }
}

/// Polls until an attempt returns a value, and returns that value.
///
/// - Parameters:
///   - what: The value's description, for the error.
///   - limit: The time allowed.
///   - interval: The pause between two attempts.
///   - isolation: The caller's isolation. The closure runs in it, too.
///   - attempt: Returns `nil` or throws as long as there is no value.
/// - Returns: The first value that is not `nil`.
/// - Throws: ``DeadlinePassed``, or `CancellationError` if the task is cancelled.
package func eventually<Value>(
    _ what: String,
    within limit: Duration = .seconds(30),
    every interval: Duration = .milliseconds(10),
    isolation: isolated (any Actor)? = #isolation,
    _ attempt: () async throws -> Value?
) async throws -> Value {
    let deadline = ContinuousClock.now + limit
    var lastError: (any Error)?
    while true {
        do {
            if let value = try await attempt() { return value }
            lastError = nil
        } catch {
            lastError = error
        }
        guard ContinuousClock.now < deadline else {
            throw DeadlinePassed(what: what, limit: limit, lastError: lastError)
        }
        try await Task.sleep(for: interval)
    }
}

/// Runs an operation and cancels it at the deadline.
///
/// - Throws: ``DeadlinePassed`` at the deadline; otherwise the operation's error.
func withDeadline<Value: Sendable>(
    _ limit: Duration,
    _ what: String,
    _ operation: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value?.self) { group in
        group.addTask { try await operation() }
        group.addTask {
            try await Task.sleep(for: limit)
            return nil
        }
        defer { group.cancelAll() }
        guard let first = try await group.next(), let value = first else {
            throw DeadlinePassed(what: what, limit: limit, lastError: nil)
        }
        return value
    }
}
