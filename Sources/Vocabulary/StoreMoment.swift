/// A moment by the database's clock, as exact as that keeps it.
///
/// Two events within one second have an order, so moments are compared unrounded.
package struct StoreMoment: Sendable, Equatable, ExpressibleByIntegerLiteral {
    /// Unix seconds.
    package let seconds: Int64
    /// Beyond the seconds, 0 to 999,999.
    package let microseconds: Int64

    package init(seconds: Int64, microseconds: Int64 = 0) {
        self.seconds = seconds
        self.microseconds = min(max(microseconds, 0), 999_999)
    }

    package init(integerLiteral seconds: Int64) { self.init(seconds: seconds) }

    /// Microseconds since 1970, bounded to what 64 bits hold without their extremes, which mean infinity to PostgreSQL.
    package var sinceEpoch: Int64 {
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        let (sum, carry) = whole.addingReportingOverflow(microseconds)
        return overflow || carry ? (seconds < 0 ? .min + 1 : .max - 1) : sum
    }

    /// The moment exactly one second before.
    package var earlierBySecond: StoreMoment {
        StoreMoment(seconds: seconds.subtractingReportingOverflow(1).partialValue, microseconds: microseconds)
    }

    /// The moment so long before, and up to a microsecond more.
    package func earlier(by duration: Duration) -> StoreMoment {
        let (back, fraction) = duration.components
        // Of a fraction of a microsecond a whole one is taken, so that whatever happened since counts as later.
        let micros = microseconds - (fraction / 1_000_000_000_000) - 1
        let borrow: Int64 = micros < 0 ? 1 : 0
        return StoreMoment(
            seconds: seconds.subtractingReportingOverflow(back).partialValue
                .subtractingReportingOverflow(borrow).partialValue,
            microseconds: micros + borrow * 1_000_000
        )
    }
}
