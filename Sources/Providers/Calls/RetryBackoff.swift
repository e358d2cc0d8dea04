/// The backoff between a failed request and its retry.
package enum RetryBackoff {
    /// The minimum time that must remain for a request to a provider.
    ///
    /// If less time is left before the deadline, the request is not sent.
    package static let leastTime: Duration = .milliseconds(10)
    /// The range of milliseconds from which the backoff is chosen.
    ///
    /// The choice is random, so that logins that failed together do not retry together.
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
