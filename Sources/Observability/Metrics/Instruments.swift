import Metrics
import NIOConcurrencyHelpers
import Synchronization

/// An object that holds the current value of a metric for one set of labels.
///
/// The code that measures keeps the value up to date.
protocol Instrument: Sendable {
    var value: MetricSample.Value { get }
}

/// The instrument of a counter, which only increases.
///
/// It ignores decrements.
final class CounterInstrument: Instrument, CounterHandler {
    private let count = Synchronization.Atomic<Int>(0)

    var value: MetricSample.Value { .number(Double(count.load(ordering: .relaxed))) }

    func increment(by amount: Int64) {
        guard amount > 0 else { return }
        count.wrappingAdd(Int(amount), ordering: .relaxed)
    }

    /// Sets the counter to 0.
    ///
    /// For a program that reads the metrics regularly, a lower value means that the process has restarted.
    func reset() { count.store(0, ordering: .relaxed) }
}

/// The instrument of a gauge, which can be set, incremented and decremented.
final class GaugeInstrument: Instrument, RecorderHandler, MeterHandler {
    private let bits = Synchronization.Atomic<UInt64>(0)

    var value: MetricSample.Value { .number(Double(bitPattern: bits.load(ordering: .relaxed))) }

    func record(_ value: Int64) { record(Double(value)) }
    func record(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }
    func set(_ value: Int64) { record(Double(value)) }
    func set(_ value: Double) { record(value) }
    func increment(by amount: Double) { add(amount) }
    func decrement(by amount: Double) { add(-amount) }

    private func add(_ amount: Double) {
        var known = bits.load(ordering: .relaxed)
        while true {
            let wanted = (Double(bitPattern: known) + amount).bitPattern
            let (exchanged, original) = bits.compareExchange(expected: known, desired: wanted, ordering: .relaxed)
            if exchanged { return }
            known = original
        }
    }
}

/// The instrument of a histogram, which counts observations between bounds.
///
/// Durations are recorded in seconds.
final class HistogramInstrument: Instrument, RecorderHandler, TimerHandler {
    private struct State {
        var counts: [Int]
        var sum = 0.0
    }

    private let bounds: [Double]
    /// The counts and the sum, under one lock, so that they always fit together.
    ///
    /// The lock is held for some nanoseconds.
    private let state: NIOLockedValueBox<State>

    init(bounds: [Double]) {
        self.bounds = bounds
        state = NIOLockedValueBox(State(counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    var value: MetricSample.Value {
        let state = state.withLockedValue { $0 }
        return .histogram(counts: state.counts, sum: state.sum)
    }

    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        guard !value.isNaN else { return }
        let index = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLockedValue { state in
            state.counts[index] += 1
            state.sum += value
        }
    }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1_000_000_000) }
}
