/// Decides how many lanes (pipelined connections) the statements of an ``Affinity`` may use.
///
/// An affinity is a group of statements about the same tables. The more of the latest statements belong to an affinity,
/// the more lanes it may use. A rare affinity may use one lane. An affinity with at least a quarter of the latest
/// statements may use all lanes. So the server caches the plans of a rare affinity on a single connection only, even if
/// there are a thousand rare affinities. The statements of a frequent affinity wait no longer than if all statements
/// used all lanes.
struct LaneShares {
    private let lanes: Int
    /// The affinities of the latest statements; statements without an affinity are left out.
    ///
    /// The array is a ring buffer, with nil for elements that were never used. `counts` has the number of times that
    /// each affinity occurs in it.
    private var latest: [Affinity?]
    private var next = 0
    private var counts: [Affinity: Int] = [:]
    /// The index of each affinity's first lane.
    ///
    /// `population` has, for each lane, the number of affinities whose first lane it is.
    private var homes: [Affinity: Int] = [:]
    private var population: [Int]

    /// An affinity gets one more lane for each fraction `1 / (lanes × lanesPerShare)` of the latest statements that it
    /// has.
    private static let lanesPerShare = 4
    /// An affinity gets one more lane for this many statements of its own among the latest ones.
    private static let step = 16

    init(lanes: Int) {
        self.lanes = lanes
        latest = Array(repeating: nil, count: lanes * Self.lanesPerShare * Self.step)
        population = Array(repeating: 0, count: lanes)
    }

    /// Records a new statement of the affinity.
    ///
    /// If the affinity is new, it gets a first lane: the one that is the first lane of the fewest other affinities.
    mutating func note(_ affinity: Affinity) {
        if homes[affinity] == nil, let home = population.indices.min(by: { population[$0] < population[$1] }) {
            homes[affinity] = home
            population[home] += 1
        }
        if let oldest = latest[next], let count = counts[oldest] { counts[oldest] = count > 1 ? count - 1 : nil }
        latest[next] = affinity
        counts[affinity, default: 0] += 1
        next = (next + 1) % latest.count
    }

    /// Returns the distance of a lane from the affinity's first lane.
    ///
    /// The affinity may use the lanes whose distance is less than `width`.
    func distance(of lane: Int, from affinity: Affinity) -> Int {
        (lane + lanes - (homes[affinity] ?? 0)) % lanes
    }

    /// Returns the number of lanes that the affinity may use.
    func width(of affinity: Affinity) -> Int { min(lanes, 1 + (counts[affinity] ?? 0) / Self.step) }
}
