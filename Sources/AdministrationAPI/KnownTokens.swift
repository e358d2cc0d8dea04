/// Remembers operator tokens that were accepted recently, by the SHA-256 of their text.
///
/// A source that sends invalid tokens must wait before it may send another token. A recently accepted token is exempt
/// from this wait. An attacker at the operator's network address thus cannot make the operator wait. The exemption
/// concerns only the wait: the database checks each token at each request.
struct KnownTokens: Sendable {
    typealias Instant = ContinuousClock.Instant

    static let memory: Duration = .seconds(600)
    static let max = 1024

    private var seen: [[UInt8]: Instant] = [:]

    var count: Int { seen.count }

    func contains(_ hash: [UInt8], at now: Instant) -> Bool {
        seen[hash].map { now - $0 < Self.memory } ?? false
    }

    mutating func insert(_ hash: [UInt8], at now: Instant) {
        if seen[hash] == nil, seen.count >= Self.max, let oldest = seen.min(by: { $0.value < $1.value }) {
            seen[oldest.key] = nil
        }
        seen[hash] = now
    }

    mutating func remove(_ hash: [UInt8]) {
        seen[hash] = nil
    }
}
