/// A condition did not come true, or an operation did not end, before its deadline.
package struct DeadlinePassed: Error, CustomStringConvertible {
    /// What was waited for.
    package let what: String
    /// How long.
    package let limit: Duration
    /// The last error on the way, when attempts ended in errors.
    package let lastError: (any Error)?

    package var description: String {
        let cause = lastError.map { "; last error: \($0)" } ?? ""
        return "not within \(limit): \(what)\(cause)"
    }
}

/// Polls until a condition holds.
///
/// An error thrown by the condition counts as "not yet", so that a server that is just restarting may be asked.
///
/// - Parameters:
///   - what: Said in the error.
///   - limit: The deadline from now on.
///   - interval: Pause between two looks.
///   - isolation: The caller's, where the closure runs too.
///   - condition: What must come true.
/// - Throws: ``DeadlinePassed``, or `CancellationError` when the task is cancelled.
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

/// Polls until an attempt gives a value, and returns it.
///
/// - Parameters:
///   - what: Said in the error.
///   - limit: The deadline from now on.
///   - interval: Pause between two attempts.
///   - isolation: The caller's, where the closure runs too.
///   - attempt: Gives `nil` or throws as long as there is no value yet.
/// - Returns: The first value that is not `nil`.
/// - Throws: ``DeadlinePassed``, or `CancellationError` when the task is cancelled.
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

/// Runs an operation and cancels it when the deadline passes first.
///
/// - Throws: ``DeadlinePassed`` in that case, else what the operation throws.
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
