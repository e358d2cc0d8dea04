import NIOConcurrencyHelpers

/// What histograms have counted of late: what they hold now, less what they held up to an hour ago.
///
/// They only rise while a process lives, so two looks tell what came between.
package final class RecentTimes: Sendable {
    /// From one look to the next.
    package static let interval = Duration.seconds(300)
    /// Looks that are remembered: with them the oldest is from an hour before the newest.
    static let most = 13

    private struct Look: Sendable {
        /// Milliseconds since 1970.
        let moment: Int64
        /// By family and labels.
        let counts: [String: [[String: String]: [Int]]]
    }

    private let registry: MetricRegistry
    private let names: [String]
    private let looks: NIOLockedValueBox<[Look]>

    /// - Parameters:
    ///   - registry: Where they are.
    ///   - names: Families of histograms.
    ///   - now: Milliseconds since 1970; what was counted before is left out.
    package init(_ registry: MetricRegistry, of names: [String], at now: Int64) {
        self.registry = registry
        self.names = names
        looks = NIOLockedValueBox([Self.look(registry, names, now)])
    }

    /// Looks once more, and forgets what is older than an hour.
    package func look(at now: Int64) {
        let look = Self.look(registry, names, now)
        looks.withLockedValue { looks in
            looks.append(look)
            if looks.count > Self.most { looks.removeFirst() }
        }
    }

    /// Since when, in milliseconds since 1970, it tells.
    package var since: Int64 { looks.withLockedValue { $0.first?.moment ?? 0 } }

    /// What a family has counted since, by its labels; those without anything are left out.
    package func observations(of name: String) -> [(labels: [String: String], observations: Observations)] {
        guard case .histogram(let bounds)? = registry.family(name)?.kind else { return [] }
        let before = looks.withLockedValue { $0.first?.counts[name] ?? [:] }
        return Self.counts(registry, name).compactMap { labels, counts in
            let known = before[labels] ?? Array(repeating: 0, count: counts.count)
            let observations = Observations(bounds: bounds, counts: zip(counts, known).map { $0 - $1 })
            return observations.count > 0 ? (labels, observations) : nil
        }
    }

    private static func look(_ registry: MetricRegistry, _ names: [String], _ now: Int64) -> Look {
        Look(moment: now, counts: Dictionary(uniqueKeysWithValues: names.map { ($0, counts(registry, $0)) }))
    }

    private static func counts(_ registry: MetricRegistry, _ name: String) -> [[String: String]: [Int]] {
        registry.readings(of: name).reduce(into: [:]) { found, reading in
            if case .histogram(let counts, _) = reading.value, counts.contains(where: { $0 > 0 }) {
                found[reading.labels] = counts
            }
        }
    }
}

/// How many observations fell between bounds, by which it is estimated how large they were.
package struct Observations: Sendable, Equatable {
    /// They rise.
    package let bounds: [Double]
    /// Between each bound and the one before; those above all of them at the end.
    package let counts: [Int]

    package init(bounds: [Double], counts: [Int]) {
        self.bounds = bounds
        self.counts = counts
    }

    package var count: Int { counts.reduce(0, +) }

    /// The two together, of the same bounds.
    package static func + (left: Observations, right: Observations) -> Observations {
        Observations(bounds: left.bounds, counts: zip(left.counts, right.counts).map { $0 + $1 })
    }

    /// What a share of them is at most, as if those between two bounds were spread evenly, which is how Prometheus
    /// reckons.
    ///
    /// - Parameter share: From 0 to 1.
    /// - Returns: The highest bound for one that is above all of them; nil where there are none.
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
