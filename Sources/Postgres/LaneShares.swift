/// The number of lanes (pipelined connections) that the statements of each ``Affinity`` may use.
///
/// An affinity may use more lanes the larger its share of the latest statements is: one lane if it is rare, all lanes
/// from a share of a quarter on. So a rare affinity takes memory on a single connection, even if there are a thousand
/// of them, and a frequent one is served as if there were no affinities.
struct LaneShares {
    private let lanes: Int
    /// The affinities of the latest statements that have one; `counts` has how often each affinity is among them.
    private var latest: [Affinity?]
    private var next = 0
    private var counts: [Affinity: Int] = [:]
    /// The first lane of each affinity; `population` has the number of affinities for each first lane.
    private var homes: [Affinity: Int] = [:]
    private var population: [Int]

    /// A share of `1 / (lanes × lanesPerShare)` of the latest statements gives an affinity one more lane.
    private static let lanesPerShare = 4
    /// The number of an affinity's statements, among the latest ones, that give the affinity one more lane.
    private static let step = 16

    init(lanes: Int) {
        self.lanes = lanes
        latest = Array(repeating: nil, count: lanes * Self.lanesPerShare * Self.step)
        population = Array(repeating: 0, count: lanes)
    }

    /// Counts a statement.
    ///
    /// A new affinity begins at the lane that is the first lane of the fewest other affinities.
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
