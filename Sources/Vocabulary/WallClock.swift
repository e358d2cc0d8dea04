/// The time of day: handed in, so that tests set it.
///
/// What is measured by durations has `ContinuousClock`.
package struct WallClock: Sendable {
    private let read: @Sendable () -> Int64

    /// - Parameter read: Gives the milliseconds since 1970 UTC.
    package init(_ read: @escaping @Sendable () -> Int64) {
        self.read = read
    }

    /// Milliseconds since 1970 UTC.
    package var milliseconds: Int64 { read() }

    /// Milliseconds by which two machines' clocks may differ before operators are told: what a provider signs counts
    /// for a minute more or less.
    package static let tolerance: Int64 = 10_000

    /// Seconds since 1970 UTC.
    package var seconds: Int64 { read() / 1000 }
}
