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

    /// The time in microseconds since 1970, as a 64-bit integer.
    ///
    /// A time that is out of range becomes the nearest integer, but never the least or the greatest one: PostgreSQL
    /// reads these two as infinity.
    package var sinceEpoch: Int64 {
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        let (sum, carry) = whole.addingReportingOverflow(microseconds)
        return overflow || carry ? (seconds < 0 ? .min + 1 : .max - 1) : sum
    }

    /// The time exactly one second earlier.
    package var earlierBySecond: StoreMoment {
        StoreMoment(seconds: seconds.subtractingReportingOverflow(1).partialValue, microseconds: microseconds)
    }

    /// The time exactly one second later.
    package var laterBySecond: StoreMoment {
        StoreMoment(seconds: seconds.addingReportingOverflow(1).partialValue, microseconds: microseconds)
    }

    /// Returns the time that is earlier by this duration, and by up to a microsecond more.
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
