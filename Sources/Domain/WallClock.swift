import FoundationEssentials

/// The clock for the time of day, which tests replace to set the time.
///
/// Durations are measured by `ContinuousClock`.
package struct WallClock: Sendable {
    private let read: @Sendable () -> Int64

    /// - Parameter read: Returns the milliseconds since 1970 UTC.
    package init(_ read: @escaping @Sendable () -> Int64) {
        self.read = read
    }

    /// Milliseconds since 1970 UTC.
    package var milliseconds: Int64 { read() }

    /// Milliseconds by which two machines' clocks may differ before operators are warned.
    ///
    /// The service accepts a provider's signed times for a minute more or less.
    package static let tolerance: Int64 = 10_000

    /// Seconds since 1970 UTC.
    package var seconds: Int64 { read() / 1000 }

    /// The operating system's clock.
    package static let system = WallClock { Int64(Date().timeIntervalSince1970 * 1000) }
}
