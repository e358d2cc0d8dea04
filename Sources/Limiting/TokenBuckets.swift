/// Token buckets, each stored as the time at which it will be full again; a full bucket is not stored.
///
/// This is the generic cell rate algorithm (ITU-T I.371). Pure; times are nanoseconds of a monotonic clock. The number
/// of buckets is bounded. When all are in use, sources without a bucket share the newcomers' bucket of their policy,
/// which admits as much as many sources together. So strangers with many addresses neither grow the table nor keep
/// known sources out.
package struct TokenBuckets: Sendable {
    /// The key of a bucket: a hash of the counted subject, keyed with a secret of the process.
    package typealias Key = Int

    /// The time at which each bucket will be full again.
    private var full: [Key: Int64] = [:]
    private var lastSweep: Int64 = .min
    private let most: Int

    /// The rate of all newcomers together, as a multiple of one source's rate, if there is no room for their buckets.
    static let newcomersShare: Int64 = 16
    /// The nanoseconds between two searches for full buckets.
    static let sweepInterval: Int64 = 1_000_000_000
    /// Returns the key of a policy's bucket of newcomers: derived from the policy's position, without a source's hash.
    static func newcomers(of policy: Int) -> Key { -1 - policy }

    /// - Parameter most: The most buckets stored.
    package init(most: Int = 65_536) {
        self.most = most
    }

    package var count: Int { full.count }

    /// Takes one token from a bucket.
    ///
    /// - Parameters:
    ///   - key: The key of the bucket.
    ///   - policy: The position of the policy, for the bucket of newcomers.
    ///   - rate: The fill rate and capacity of the bucket.
    ///   - now: The current time.
    /// - Returns: Nil if there was a token; otherwise the nanoseconds until there is one.
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
        // The largest rates overflow: 16 · 10⁶ times an hour in nanoseconds. An overflow counts as forever.
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
    /// The nanoseconds in which a bucket gains one token.
    var interval: Int64 { max(unit.nanoseconds / permits, 1) }
}
