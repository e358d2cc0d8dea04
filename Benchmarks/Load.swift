import Foundation
import Histogram
import NIOConcurrencyHelpers

/// A list of requests, prepared as bytes; calls take them in order, again and again.
struct Load: Sendable {
    /// The ports of the listeners; connections are spread evenly over them.
    let ports: [Int]
    let requests: [[UInt8]]

    init(ports: [Int], requests: [[UInt8]]) { (self.ports, self.requests) = (ports, requests) }

    init(port: Int, requests: [[UInt8]]) { self.init(ports: [port], requests: requests) }

    /// The outcome of a run.
    struct Outcome: Sendable {
        var replies: [Int: Int] = [:]
        /// Microseconds from the moment when a call was due to the last byte of its response.
        var latency = Histogram<UInt32>(highestTrackableValue: 60_000_000, numberOfSignificantValueDigits: .three)
        /// Microseconds from the sending of a call to the last byte of its response, by status.
        var service: [Int: Histogram<UInt32>] = [:]
        var seconds = 0.0

        var count: Int { replies.values.reduce(0, +) }

        mutating func note(_ status: Int, sinceDue: Duration, sinceSent: Duration) {
            replies[status, default: 0] += 1
            latency.record(UInt64(max(0, sinceDue / .microseconds(1))))
            service[status, default: Self.emptyHistogram].record(UInt64(max(0, sinceSent / .microseconds(1))))
        }

        private static let emptyHistogram = Histogram<UInt32>(
            highestTrackableValue: 60_000_000,
            numberOfSignificantValueDigits: .three
        )
    }

    /// Runs a closed loop: each connection sends the next request as soon as it has a response.
    func closedLoop(connections: Int, seconds: Double) async -> Outcome {
        let end = ContinuousClock.now + .seconds(seconds)
        return await run(connections: connections) { _ in .now < end ? .now : nil }
    }

    /// Sends each request once; each connection sends the next one as soon as it has a response.
    func once(connections: Int) async -> Outcome {
        await run(connections: connections) { [count = requests.count] in $0 < count ? .now : nil }
    }

    /// Runs an open loop: calls are due at a fixed rate, whatever happens to earlier calls.
    ///
    /// The latency includes a call's wait for a free connection. Calls that had no connection until the end are sent
    /// later, or not at all with `cutOff`.
    func openLoop(rate: Double, connections: Int, seconds: Double, cutOff: Bool = false) async -> Outcome {
        let start = ContinuousClock.now
        let (total, end) = (Int(rate * seconds), start + .seconds(seconds))
        return await run(connections: connections) { index in
            index < total && !(cutOff && .now > end) ? start + .seconds(Double(index) / rate) : nil
        }
    }

    private func run(
        connections: Int,
        due: @Sendable @escaping (Int) -> ContinuousClock.Instant?
    ) async -> Outcome {
        let next = NIOLockedValueBox(0)
        let outcome = NIOLockedValueBox(Outcome())
        let started = ContinuousClock.now
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<connections {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        let port = ports[number % ports.count]
                        let thread = Thread {
                            work(port, next, due, outcome)
                            continuation.resume()
                        }
                        thread.stackSize = 512 * 1024
                        thread.start()
                    }
                }
            }
        }
        let seconds = (ContinuousClock.now - started) / .seconds(1)
        return outcome.withLockedValue { outcome in
            outcome.seconds = seconds
            return outcome
        }
    }

    private func work(
        _ port: Int,
        _ next: NIOLockedValueBox<Int>,
        _ due: (Int) -> ContinuousClock.Instant?,
        _ outcome: NIOLockedValueBox<Outcome>
    ) {
        var connection = try? Connection(port: port)
        while true {
            let index = next.withLockedValue { value in
                defer { value += 1 }
                return value
            }
            guard let moment = due(index) else { return }
            let wait = (moment - .now) / .seconds(1)
            if wait > 0 { Thread.sleep(forTimeInterval: wait) }
            let sent = ContinuousClock.now
            let status = (try? connection?.exchange(requests[index % requests.count])) ?? 0
            // Status 0 counts calls without a response.
            if status == 0 { connection = try? Connection(port: port) }
            let now = ContinuousClock.now
            outcome.withLockedValue { $0.note(status, sinceDue: now - moment, sinceSent: now - sent) }
        }
    }
}
