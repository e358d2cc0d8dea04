/// The backoff between a failed request and its retry.
package enum Repetition {
    /// The least time for a call; with less time left, the call is not begun.
    package static let leastTime: Duration = .milliseconds(10)
    /// Milliseconds to wait; random, so that logins that failed together do not retry together.
    private static let pause = 20...80

    /// Waits for the backoff; returns false when it would end beyond the deadline or the login was cancelled.
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
