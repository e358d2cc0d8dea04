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
        var seconds = 0.0

        var count: Int { replies.values.reduce(0, +) }
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
            for await part in group {
                total.replies.merge(part.replies, uniquingKeysWith: +)
                for value in part.latency.recordedValues() {
                    total.latency.record(UInt64(value.value), count: value.count)
                }
            }
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
            let status = (try? connection?.exchange(requests[index % requests.count])) ?? 0
            // Status 0 counts calls that got no reply.
            if status == 0 { connection = try? Connection(port: port) }
            outcome.replies[status, default: 0] += 1
            outcome.latency.record(UInt64(max(0, (ContinuousClock.now - moment) / .microseconds(1))))
        }
    }
}
