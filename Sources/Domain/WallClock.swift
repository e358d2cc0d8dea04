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

    /// The current time in milliseconds since 1970 UTC.
    package var milliseconds: Int64 { read() }

    /// Milliseconds by which two machines' clocks may differ before operators are warned.
    ///
    /// When the service checks the times in a signed token of a provider, it tolerates a minute, which is more.
    package static let tolerance: Int64 = 10_000

    /// The current time in seconds since 1970 UTC.
    package var seconds: Int64 { read() / 1000 }

    /// The clock of the operating system.
    package static let system = WallClock { Int64(Date().timeIntervalSince1970 * 1000) }
}
