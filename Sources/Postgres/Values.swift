/// A point in time: microseconds since 1970-01-01 00:00:00 UTC.
///
/// SQL type `timestamptz`.
package struct Timestamp: Sendable, Hashable, Comparable {
    package var microseconds: Int64

    package init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    /// SQL's `infinity`.
    package static let infinity = Timestamp(microseconds: .max)
    /// SQL's `-infinity`.
    package static let negativeInfinity = Timestamp(microseconds: .min)

    package static func < (left: Timestamp, right: Timestamp) -> Bool { left.microseconds < right.microseconds }
}

/// A day of the Gregorian calendar: days since 1970-01-01.
///
/// SQL type `date`.
package struct Day: Sendable, Hashable, Comparable {
    package var daysSince1970: Int32

    package init(daysSince1970: Int32) {
        self.daysSince1970 = daysSince1970
    }

    /// SQL's `infinity`.
    package static let infinity = Day(daysSince1970: .max)
    /// SQL's `-infinity`.
    package static let negativeInfinity = Day(daysSince1970: .min)

    package static func < (left: Day, right: Day) -> Bool { left.daysSince1970 < right.daysSince1970 }
}

/// A JSON text, which only PostgreSQL validates.
///
/// SQL type `jsonb`.
package struct JSONText: Sendable, Hashable {
    package var text: String

    package init(_ text: String) {
        self.text = text
    }
}
