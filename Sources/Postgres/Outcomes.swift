/// The number of requests for each way in which a request can end, since the start of the client.
package struct Outcomes: Sendable, Hashable {
    /// The number of requests that succeeded.
    package private(set) var done = 0
    /// The number of requests that the server refused, that could not be sent, or whose result could not be read or was
    /// too large.
    package private(set) var failed = 0
    /// The number of requests whose connection broke.
    package private(set) var lost = 0
    /// The number of requests for which no connection came free, or none could be opened, within `leaseTimeout`.
    package private(set) var timedOut = 0
    /// The number of requests that failed immediately because the queue was full.
    package private(set) var overloaded = 0
    /// The number of requests that were cancelled, that failed because the client was shut down, or that the program
    /// itself refused to send.
    package private(set) var abandoned = 0

    mutating func note<Success>(_ outcome: Result<Success, PostgresError>) {
        guard case .failure(let error) = outcome else {
            done += 1
            return
        }
        switch error {
        case .server, .tooLarge, .decoding, .invalidStatement, .leaseEnded: failed += 1
        case .connectionLost: lost += 1
        case .unavailable, .leaseTimeout: timedOut += 1
        case .overloaded: overloaded += 1
        case .cancelled, .withheld, .shutDown: abandoned += 1
        }
    }

    mutating func add(_ other: Outcomes) {
        done += other.done
        failed += other.failed
        lost += other.lost
        timedOut += other.timedOut
        overloaded += other.overloaded
        abandoned += other.abandoned
    }
}

/// A histogram of the durations of statements, since the start of the client.
package struct DurationCounts: Sendable, Hashable {
    /// The upper bounds of the buckets, in seconds.
    package static let bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

    /// The number of durations in each bucket; the last bucket holds those beyond all bounds.
    package private(set) var counts = Array(repeating: 0, count: bounds.count + 1)
    /// The sum of all durations.
    package private(set) var sum = Duration.zero

    mutating func note(_ duration: Duration) {
        let seconds = duration / .seconds(1)
        counts[Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count] += 1
        sum += duration
    }

    mutating func add(_ other: DurationCounts) {
        counts = zip(counts, other.counts).map(+)
        sum += other.sum
    }
}
