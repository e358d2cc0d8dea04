import Encodings

/// The usage of an app's hourly rate limit at Graph, in percent (docs/protocols/facebook.md §3.4, `X-App-Usage`).
///
/// Graph sends the header only after an app has made enough calls. The header may lack some of the percentages.
package struct GraphUsage: Sendable, Equatable {
    /// The used percentage of the allowed number of calls; nil if Graph did not send it.
    package let callCount: Int?
    /// The used percentage of the allowed time for all calls; nil if Graph did not send it.
    package let totalTime: Int?
    /// The used percentage of the allowed CPU time for all calls; nil if Graph did not send it.
    package let totalCPUTime: Int?

    /// The highest of the three percentages; nil if Graph sent none.
    package var highest: Int? {
        [callCount, totalTime, totalCPUTime].compactMap(\.self).max()
    }

    private static let limits = JSONLimits(bytes: 1024, depth: 4, members: 32, keyBytes: 64, asciiKeys: true)

    /// Parses the header; nil if the header is not a JSON object.
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
