import Encodings

/// The usage of an app's hourly rate limit at Graph in percent (docs/protocols/facebook.md §3.4, `X-App-Usage`).
///
/// Graph sends the header once an app has made enough calls, and not always with all members.
package struct GraphUsage: Sendable, Equatable {
    /// The number of calls.
    package let callCount: Int?
    /// Time that Graph spent on them.
    package let totalTime: Int?
    /// CPU time that Graph spent on them.
    package let totalCPUTime: Int?

    /// The highest share; nil when Graph sent none.
    package var highest: Int? {
        [callCount, totalTime, totalCPUTime].compactMap(\.self).max()
    }

    private static let limits = JSONLimits(bytes: 1024, depth: 4, members: 32, keyBytes: 64, asciiKeys: true)

    /// Parses the header; nil when it is not a JSON object.
    init?(header: String) {
        guard let object = try? JSONParser.parse(header, limits: Self.limits).object else { return nil }
        func percent(_ key: String) -> Int? {
            object[key]?.integer.flatMap { (0...1_000_000).contains($0) ? Int($0) : nil }
        }
        callCount = percent("call_count")
        totalTime = percent("total_time")
        totalCPUTime = percent("total_cputime")
    }
}
