/// A SQLSTATE: the five-character code of a PostgreSQL error, such as `23505`.
package struct SQLState: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The five characters as bytes of one integer, the first character in the most significant byte.
    private let packed: UInt64

    /// Creates a code from the first five bytes of `bytes`.
    ///
    /// If there are fewer than five, zeros are added. The result then equals no code that a server sends.
    init(bytes: some Sequence<UInt8>) {
        var packed: UInt64 = 0
        var count = 0
        for byte in bytes.prefix(5) {
            packed = packed << 8 | UInt64(byte)
            count += 1
        }
        self.packed = packed << (8 * UInt64(5 - count))
    }

    package init(stringLiteral value: StaticString) {
        self = value.withUTF8Buffer { SQLState(bytes: $0) }
    }

    package var description: String {
        String(decoding: (0..<5).map { UInt8(truncatingIfNeeded: packed >> (32 - 8 * UInt64($0))) }, as: UTF8.self)
    }

    /// Whether the code begins with `first` and `second`, the two characters that name a class of codes.
    func isOfClass(_ first: Unicode.Scalar, _ second: Unicode.Scalar) -> Bool {
        packed >> 24 == UInt64(first.value) << 8 | UInt64(second.value)
    }
}

/// What the program should do about an error, by its SQLSTATE.
package enum Handling: Sendable, Hashable {
    /// Nothing was written; the whole transaction may be retried (40001, 40P01).
    case retryTransaction
    /// The connection is no longer usable (class 08, 57P01, 57P02, 57P03, 25006).
    case dropConnection
    /// The database lacks a resource; a later retry may succeed (53300, 53100, 53200, 55P03, 57014).
    case wait
    /// A value from the caller is not acceptable (22021, 22P02, 22P05, 54000, 54011).
    case clientFault
    /// A constraint refused the row (class 23).
    case constraintViolation
    /// All other codes: the statement is wrong, or the database is not set up correctly.
    case other
}

extension SQLState {
    /// What the program should do about an error with this code.
    package var handling: Handling {
        switch self {
        case "40001", "40P01": .retryTransaction
        case "57P01", "57P02", "57P03", "25006": .dropConnection
        case "53300", "53100", "53200", "55P03", "57014": .wait
        case "22021", "22P02", "22P05", "54000", "54011": .clientFault
        case _ where isOfClass("0", "8"): .dropConnection
        case _ where isOfClass("2", "3"): .constraintViolation
        default: .other
        }
    }

    /// Whether the server ends the session with this error.
    ///
    /// In this case it is unknown whether the statement had an effect.
    var endsSession: Bool {
        switch self {
        case "57P01", "57P02", "57P03", "57P05", "25P03": true
        default: isOfClass("0", "8")
        }
    }
}
