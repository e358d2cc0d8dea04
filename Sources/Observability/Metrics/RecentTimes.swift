import NIOConcurrencyHelpers

/// The observations that histograms have recorded in about the last hour.
///
/// The type takes snapshots of the histograms' counts. While a process runs, counts only increase. So the current
/// counts minus the counts of an hour-old snapshot are the observations of this hour.
package final class RecentTimes: Sendable {
    /// The interval between two snapshots.
    package static let interval = Duration.seconds(300)
    /// The maximum number of snapshots that are kept.
    ///
    /// With this number, the oldest snapshot is an hour older than the newest.
    static let max = 13

    private struct Snapshot: Sendable {
        /// The time of the snapshot, in milliseconds since 1970.
        let moment: Int64
        /// The counts of each histogram: by the name of the metric, and then by its labels.
        let counts: [String: [[String: String]: [Int]]]
    }

    private let registry: MetricRegistry
    private let names: [String]
    private let snapshots: NIOLockedValueBox<[Snapshot]>

    /// Takes the first snapshot of the histograms.
    ///
    /// - Parameters:
    ///   - registry: The registry with the histograms.
    ///   - names: The names of the histograms' metrics.
    ///   - now: The current time, in milliseconds since 1970. Earlier observations are never reported.
    package init(_ registry: MetricRegistry, of names: [String], at now: Int64) {
        self.registry = registry
        self.names = names
        snapshots = NIOLockedValueBox([Self.snapshot(registry, names, now)])
    }

    /// Takes a snapshot of the histograms, and drops the oldest one if there are more than ``max``.
    package func snapshot(at now: Int64) {
        let snapshot = Self.snapshot(registry, names, now)
        snapshots.withLockedValue { snapshots in
            snapshots.append(snapshot)
            if snapshots.count > Self.max { snapshots.removeFirst() }
        }
    }

    /// The start of the reported period, in milliseconds since 1970.
    package var since: Int64 { snapshots.withLockedValue { $0.first?.moment ?? 0 } }

    /// Returns the observations of the metric `name` since ``since``, separately for each set of labels.
    ///
    /// Label sets without observations are left out.
    package func observations(of name: String) -> [(labels: [String: String], observations: Observations)] {
        guard case .histogram(let bounds)? = registry.family(name)?.kind else { return [] }
        let before = snapshots.withLockedValue { $0.first?.counts[name] ?? [:] }
        return Self.counts(registry, name).compactMap { labels, counts in
            let known = before[labels] ?? Array(repeating: 0, count: counts.count)
            let observations = Observations(bounds: bounds, counts: zip(counts, known).map { $0 - $1 })
            return observations.count > 0 ? (labels, observations) : nil
        }
    }

    private static func snapshot(_ registry: MetricRegistry, _ names: [String], _ now: Int64) -> Snapshot {
        Snapshot(moment: now, counts: Dictionary(uniqueKeysWithValues: names.map { ($0, counts(registry, $0)) }))
    }

    private static func counts(_ registry: MetricRegistry, _ name: String) -> [[String: String]: [Int]] {
        registry.readings(of: name).reduce(into: [:]) { found, reading in
            if case .histogram(let counts, _) = reading.value, counts.contains(where: { $0 > 0 }) {
                found[reading.labels] = counts
            }
        }
    }
}

/// The number of observations between bounds, from which quantiles are estimated.
package struct Observations: Sendable, Equatable {
    /// The bounds, in ascending order.
    package let bounds: [Double]
    /// The number of observations for each bound: those up to this bound and above the previous one.
    ///
    /// The last number counts the observations above all bounds.
    package let counts: [Int]

    package var count: Int { counts.reduce(0, +) }

    /// Adds the counts.
    ///
    /// Both values must have the same bounds.
    package static func + (left: Observations, right: Observations) -> Observations {
        Observations(bounds: left.bounds, counts: zip(left.counts, right.counts).map { $0 + $1 })
    }

    /// Returns an estimate of a quantile.
    ///
    /// As in Prometheus, the estimate assumes that the observations between two bounds are spread evenly.
    ///
    /// - Parameter share: The share of observations at or below the quantile, from 0 to 1.
    /// - Returns: The quantile, at most the highest bound; nil if there are no observations.
    package func quantile(_ share: Double) -> Double? {
        let rank = share * Double(count)
        guard count > 0 else { return nil }
        var below = 0
        for (index, bound) in bounds.enumerated() where counts.indices.contains(index) {
            let inside = counts[index]
            if Double(below + inside) >= rank, inside > 0 {
                let lower = index > 0 ? bounds[index - 1] : 0
                return lower + (bound - lower) * (rank - Double(below)) / Double(inside)
            }
            below += inside
        }
        return bounds.last
    }
}
