/// The time between a question that failed and its repetition.
package enum Repetition {
    /// A call with less time left than this is not begun.
    package static let leastTime: Duration = .milliseconds(10)
    /// Milliseconds to wait; spread, so that logins that failed together do not return together.
    private static let pause = 20...80

    /// Lets a moment pass; false when it would end beyond the deadline or the login was given up.
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
