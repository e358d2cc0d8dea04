/// Recently accepted tokens, by the SHA-256 of their text.
///
/// They are exempt from the waiting of their source, so that a stranger behind the same address cannot lock out a
/// working operator. They are exempt from nothing else: the database checks each token at each request.
struct KnownTokens: Sendable {
    typealias Instant = ContinuousClock.Instant

    static let memory: Duration = .seconds(600)
    static let most = 1024

    private var seen: [[UInt8]: Instant] = [:]

    var count: Int { seen.count }

    func contains(_ hash: [UInt8], at now: Instant) -> Bool {
        seen[hash].map { now - $0 < Self.memory } ?? false
    }

    mutating func insert(_ hash: [UInt8], at now: Instant) {
        if seen[hash] == nil, seen.count >= Self.most, let oldest = seen.min(by: { $0.value < $1.value }) {
            seen[oldest.key] = nil
        }
        seen[hash] = now
    }

    mutating func remove(_ hash: [UInt8]) {
        seen[hash] = nil
    }
}
