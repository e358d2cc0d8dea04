/// Decides how many lanes (pipelined connections) the statements of each ``Affinity`` may use.
///
/// An affinity may use more lanes the larger its share of the latest statements is. A rare affinity may use one lane,
/// and an affinity with at least a quarter of the statements may use all lanes. So the plans of a rare affinity take
/// memory on a single connection, even if there are a thousand such affinities. A frequent affinity is served as fast
/// as if there were no affinities.
struct LaneShares {
    private let lanes: Int
    /// The affinities of the latest statements that have one; `counts` tells how often each affinity occurs here.
    private var latest: [Affinity?]
    private var next = 0
    private var counts: [Affinity: Int] = [:]
    /// The index of each affinity's first lane; `population` has the number of affinities that begin at each lane.
    private var homes: [Affinity: Int] = [:]
    private var population: [Int]

    /// Determines the share of the latest statements for which an affinity gets one more lane.
    ///
    /// The share is `1 / (lanes × lanesPerShare)`.
    private static let lanesPerShare = 4
    /// The number of statements, among the latest ones, for which their affinity gets one more lane.
    private static let step = 16

    init(lanes: Int) {
        self.lanes = lanes
        latest = Array(repeating: nil, count: lanes * Self.lanesPerShare * Self.step)
        population = Array(repeating: 0, count: lanes)
    }

    /// Counts a statement of the affinity.
    ///
    /// The first lane of a new affinity is the one at which the fewest other affinities begin.
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
