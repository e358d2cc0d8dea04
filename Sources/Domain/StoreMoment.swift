/// A time by the database's clock, at the clock's full precision.
///
/// Times are compared unrounded, since events within one second have an order, too.
package struct StoreMoment: Sendable, Equatable, ExpressibleByIntegerLiteral {
    /// The whole seconds since 1970 UTC.
    package let seconds: Int64
    /// Microseconds beyond the seconds, 0 to 999,999.
    package let microseconds: Int64

    package init(seconds: Int64, microseconds: Int64 = 0) {
        self.seconds = seconds
        self.microseconds = min(max(microseconds, 0), 999_999)
    }

    package init(integerLiteral seconds: Int64) { self.init(seconds: seconds) }

    /// Microseconds since 1970, limited to 64 bits without the two extremes, which PostgreSQL reads as infinity.
    package var sinceEpoch: Int64 {
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        let (sum, carry) = whole.addingReportingOverflow(microseconds)
        return overflow || carry ? (seconds < 0 ? .min + 1 : .max - 1) : sum
    }

    /// The time exactly one second earlier.
    package var earlierBySecond: StoreMoment {
        StoreMoment(seconds: seconds.subtractingReportingOverflow(1).partialValue, microseconds: microseconds)
    }

    /// Returns the time earlier by a duration, or by up to a microsecond more.
    package func earlier(by duration: Duration) -> StoreMoment {
        let (back, fraction) = duration.components
        // A fraction of a microsecond is rounded up, so that all later events count as later.
        let micros = microseconds - (fraction / 1_000_000_000_000) - 1
        let borrow: Int64 = micros < 0 ? 1 : 0
        return StoreMoment(
            seconds: seconds.subtractingReportingOverflow(back).partialValue
                .subtractingReportingOverflow(borrow).partialValue,
            microseconds: micros + borrow * 1_000_000
        )
    }
}
