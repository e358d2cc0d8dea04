import ArgumentParser
import FoundationEssentials

/// A duration such as `30s`, `15m`, `12h` or `90d`.
struct Lifetime: ExpressibleByArgument, Sendable {
    let seconds: Int64

    init?(argument: String) {
        guard let unit = argument.utf8.last.flatMap({ Self.units[$0] }),
            (2...9).contains(argument.utf8.count),
            argument.utf8.dropLast().allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let count = Int64(argument.dropLast()), count > 0
        else { return nil }
        // Eight digits of days are no more than 10¹³ seconds.
        seconds = count * unit
    }

    /// Converts an argument to a point in time as the administration API expects it.
    ///
    /// A duration such as `12h` becomes the time that long ago, in milliseconds since 1970. Any other text is returned
    /// unchanged.
    static func moment(_ text: String) -> String {
        guard let ago = Lifetime(argument: text) else { return text }
        return String(Int64(max(0, Date().timeIntervalSince1970 - Double(ago.seconds))) * 1000)
    }

    private static let units: [UInt8: Int64] = [
        UInt8(ascii: "s"): 1, UInt8(ascii: "m"): 60, UInt8(ascii: "h"): 3600, UInt8(ascii: "d"): 86_400,
    ]
}
