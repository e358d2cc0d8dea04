/// A five-character code by which PostgreSQL tells what went wrong, such as `23505`.
package struct SQLState: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The five bytes, the first one highest.
    private let packed: UInt64

    /// Takes the first five bytes of `bytes`; missing ones count as zero, which equals no code that a server sends.
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

    /// The five characters.
    package var description: String {
        String(decoding: (0..<5).map { UInt8(truncatingIfNeeded: packed >> (32 - 8 * UInt64($0))) }, as: UTF8.self)
    }

    /// Whether the code is of the class named by its first two characters.
    func isOfClass(_ first: Unicode.Scalar, _ second: Unicode.Scalar) -> Bool {
        packed >> 24 == UInt64(first.value) << 8 | UInt64(second.value)
    }
}

/// What a code asks of the one who gets it.
package enum Handling: Sendable, Hashable {
    /// Nothing was kept; the whole transaction may be run again (40001, 40P01).
    case retryTransaction
    /// The connection is of no use any more (class 08, 57P01, 57P02, 57P03, 25006).
    case dropConnection
    /// The database is short of something, later may be better (53300, 53100, 53200, 55P03, 57014).
    case wait
    /// What the caller sent cannot be taken (22021, 22P02, 22P05, 54000, 54011).
    case clientFault
    /// A constraint refused the row (class 23).
    case constraintViolation
    /// All others: a fault of the statement or of the set-up.
    case other
}

extension SQLState {
    /// What the code asks for.
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

    /// The server itself has ended the session, so that what the statement did before is unknown.
    var endsSession: Bool {
        switch self {
        case "57P01", "57P02", "57P03", "57P05", "25P03": true
        default: isOfClass("0", "8")
        }
    }
}
