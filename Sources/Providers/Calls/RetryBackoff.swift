/// The backoff between a failed request and its retry.
package enum RetryBackoff {
    /// The minimum time for a call.
    ///
    /// If less time is left, the call is not begun.
    package static let leastTime: Duration = .milliseconds(10)
    /// The milliseconds to wait.
    ///
    /// They are random, so that logins that failed together do not retry together.
    private static let pause = 20...80

    /// Waits for the backoff.
    ///
    /// Returns false if the backoff would leave less than `leastTime` before the deadline, or if the login was
    /// cancelled.
    package static func pause(before deadline: ContinuousClock.Instant) async -> Bool {
        let end = ContinuousClock.now + .milliseconds(Int.random(in: pause))
        guard end + leastTime < deadline else { return false }
        do {
            try await Task.sleep(until: end, clock: .continuous)
            return true
        } catch {
            return false
        }
    }
}
