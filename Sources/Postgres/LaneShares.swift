/// How many of the lanes the statements of one affinity may use: one as long as they are few among many others, more
/// with their part of the latest statements, and all from a quarter on.
///
/// So a thousand that are used a little are each known to one connection alone, while one that is used a lot is served
/// as if there were no such thing.
struct LaneShares {
    private let lanes: Int
    /// The latest statements that have an affinity, and how many there are of each.
    private var latest: [Affinity?]
    private var next = 0
    private var counts: [Affinity: Int] = [:]
    /// The first lane of each affinity, and of how many each lane is the first one.
    private var homes: [Affinity: Int] = [:]
    private var population: [Int]

    /// A part of `1 / (lanes × this)` of the latest statements brings one more lane.
    private static let lanesPerShare = 4
    /// So many of the latest statements bring one more lane.
    private static let step = 16

    init(lanes: Int) {
        self.lanes = lanes
        latest = Array(repeating: nil, count: lanes * Self.lanesPerShare * Self.step)
        population = Array(repeating: 0, count: lanes)
    }

    /// Counts a statement.
    ///
    /// A new affinity is at home where the fewest others are.
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

    /// How far the lane is from the first one of the affinity; its own are those nearer than its `width`.
    func distance(of lane: Int, from affinity: Affinity) -> Int {
        (lane + lanes - (homes[affinity] ?? 0)) % lanes
    }

    /// How many lanes the affinity may use.
    func width(of affinity: Affinity) -> Int { min(lanes, 1 + (counts[affinity] ?? 0) / Self.step) }
}
