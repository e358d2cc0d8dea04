import Foundation
import Histogram
import NIOConcurrencyHelpers

/// Calls on one listener, prepared as bytes; the n-th call takes the n-th request, round and round.
struct Load: Sendable {
    let port: Int
    let requests: [[UInt8]]

    /// The outcome of a run.
    struct Outcome: Sendable {
        var replies: [Int: Int] = [:]
        /// Microseconds from when a call was due to its last byte.
        var latency = Histogram<UInt32>(highestTrackableValue: 60_000_000, numberOfSignificantValueDigits: .three)
        /// Microseconds from when a call was sent to its last byte, by its status.
        var service: [Int: Histogram<UInt32>] = [:]
        var seconds = 0.0

        var count: Int { replies.values.reduce(0, +) }

        /// Adds a call.
        mutating func note(_ status: Int, sinceDue: Duration, sinceSent: Duration) {
            replies[status, default: 0] += 1
            latency.record(UInt64(max(0, sinceDue / .microseconds(1))))
            service[status, default: Self.emptyHistogram].record(UInt64(max(0, sinceSent / .microseconds(1))))
        }

        /// Adds what came of another part of the run.
        mutating func add(_ part: Outcome) {
            replies.merge(part.replies, uniquingKeysWith: +)
            Self.add(part.latency, to: &latency)
            for (status, times) in part.service { Self.add(times, to: &service[status, default: Self.emptyHistogram]) }
        }

        private static let emptyHistogram = Histogram<UInt32>(
            highestTrackableValue: 60_000_000,
            numberOfSignificantValueDigits: .three
        )

        private static func add(_ part: Histogram<UInt32>, to all: inout Histogram<UInt32>) {
            for value in part.recordedValues() { all.record(UInt64(value.value), count: value.count) }
        }
    }

    /// Each connection calls again as soon as it has its reply.
    func closedLoop(connections: Int, seconds: Double) async -> Outcome {
        let end = ContinuousClock.now + .seconds(seconds)
        return await run(connections: connections) { _ in .now < end ? .now : nil }
    }

    /// Each request once; each connection sends the next one as soon as it has its reply.
    func once(connections: Int) async -> Outcome {
        await run(connections: connections) { [count = requests.count] in $0 < count ? .now : nil }
    }

    /// Calls are due at a fixed rate whatever becomes of those before them; what a call waits for a free connection
    /// counts.
    func openLoop(rate: Double, connections: Int, seconds: Double) async -> Outcome {
        let start = ContinuousClock.now
        let total = Int(rate * seconds)
        return await run(connections: connections) { index in
            index < total ? start + .seconds(Double(index) / rate) : nil
        }
    }

    private func run(
        connections: Int,
        due: @Sendable @escaping (Int) -> ContinuousClock.Instant?
    ) async -> Outcome {
        let next = NIOLockedValueBox(0)
        let started = ContinuousClock.now
        var outcome = await withTaskGroup(of: Outcome.self) { group in
            for _ in 0..<connections {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        let thread = Thread { continuation.resume(returning: work(next, due)) }
                        thread.stackSize = 512 * 1024
                        thread.start()
                    }
                }
            }
            var total = Outcome()
            for await part in group { total.add(part) }
            return total
        }
        outcome.seconds = (ContinuousClock.now - started) / .seconds(1)
        return outcome
    }

    private func work(
        _ next: NIOLockedValueBox<Int>,
        _ due: (Int) -> ContinuousClock.Instant?
    ) -> Outcome {
        var outcome = Outcome()
        var connection = try? Connection(port: port)
        while true {
            let index = next.withLockedValue { value in
                defer { value += 1 }
                return value
            }
            guard let moment = due(index) else { return outcome }
            let wait = (moment - .now) / .seconds(1)
            if wait > 0 { Thread.sleep(forTimeInterval: wait) }
            let sent = ContinuousClock.now
            let status = (try? connection?.exchange(requests[index % requests.count])) ?? 0
            // Status 0 counts calls that got no reply.
            if status == 0 { connection = try? Connection(port: port) }
            let now = ContinuousClock.now
            outcome.note(status, sinceDue: now - moment, sinceSent: now - sent)
        }
    }
}
