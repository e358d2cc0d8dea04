/// Token buckets, each kept as the one moment at which it will be full again (the generic cell rate algorithm, ITU-T
/// I.371): a bucket that is full is not kept at all.
///
/// Pure; moments are nanoseconds of a monotonic clock. The number of buckets is bounded. Where all are in use, whoever
/// has none shares the one of newcomers, which lets through what many sources may bring: strangers with many addresses
/// neither grow it nor keep those out that it knows.
package struct TokenBuckets: Sendable {
    /// A bucket's name: a hash of what it counts for, under a key that nobody outside has.
    package typealias Key = Int

    /// When each bucket will be full again.
    private var full: [Key: Int64] = [:]
    private var lastSweep: Int64 = .min
    private let most: Int

    /// How much more newcomers together may do than one source, when there is no room for buckets of theirs.
    static let newcomersShare: Int64 = 16
    /// Nanoseconds between two looks through all buckets for those that have become full.
    static let sweepInterval: Int64 = 1_000_000_000
    /// The bucket of newcomers of a policy: the policy's position, which no hash of a source is mixed into.
    static func newcomers(of policy: Int) -> Key { -1 - policy }

    /// - Parameter most: How many buckets are kept.
    package init(most: Int = 65_536) {
        self.most = most
    }

    /// How many buckets are kept.
    package var count: Int { full.count }

    /// Takes one out of a bucket.
    ///
    /// - Parameters:
    ///   - key: The bucket.
    ///   - policy: The position of its policy, for the bucket of newcomers.
    ///   - rate: How fast it fills, and how much it holds.
    ///   - now: The moment.
    /// - Returns: Nil when there was one; otherwise the nanoseconds until there is.
    package mutating func take(from key: Key, policy: Int, by rate: Rate, at now: Int64) -> Int64? {
        let key = key >= 0 ? key : ~key
        if full[key] == nil, full.count >= most {
            sweep(at: now)
            if full.count >= most {
                let shared = Self.newcomers(of: policy)
                return take(
                    shared,
                    interval: max(rate.interval / Self.newcomersShare, 1),
                    burst: rate.burst * Self.newcomersShare,
                    at: now
                )
            }
        }
        return take(key, interval: rate.interval, burst: rate.burst, at: now)
    }

    private mutating func take(_ key: Key, interval: Int64, burst: Int64, at now: Int64) -> Int64? {
        let moment = max(full[key] ?? now, now)
        // The largest rates do not fit: 16 · 10⁶ times an hour in nanoseconds. What does not is as good as for ever.
        let (tolerance, isLong) = interval.multipliedReportingOverflow(by: burst - 1)
        let wait = moment - now - (isLong ? .max : tolerance)
        guard wait <= 0 else { return wait }
        let (next, isFar) = moment.addingReportingOverflow(interval)
        full[key] = isFar ? .max : next
        return nil
    }

    private mutating func sweep(at now: Int64) {
        guard lastSweep == .min || now - lastSweep >= Self.sweepInterval else { return }
        lastSweep = now
        full = full.filter { $0.value > now }
    }
}

extension Rate {
    /// Nanoseconds in which a bucket gains one.
    var interval: Int64 { max(unit.nanoseconds / permits, 1) }
}
