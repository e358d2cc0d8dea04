/// A table of token buckets, which count the requests of sources, networks and applications against rate limits.
///
/// Each bucket is stored as the time at which it will be full again; a full bucket is not stored. This is the generic
/// cell rate algorithm (ITU-T I.371).
///
/// The number of buckets is limited. When the table is full, all sources without a bucket share one bucket per rate
/// limit. This bucket admits as many requests as the buckets of several sources together. An attacker with many
/// addresses thus neither grows the table nor keeps out sources that have a bucket.
///
/// This type reads no clock: the caller passes the time in nanoseconds of a monotonic clock.
package struct TokenBuckets: Sendable {
    /// The key of a bucket: a hash of the rate limit, the application, and the source or network.
    ///
    /// A secret of the process goes into the hash.
    package typealias Key = Int

    /// The time at which each bucket will be full again, in nanoseconds of a monotonic clock.
    private var full: [Key: Int64] = [:]
    private var lastSweep: Int64 = .min
    private let max: Int

    /// The shared bucket of a rate limit admits this many times as many requests as the bucket of one source.
    ///
    /// All sources without a bucket use the shared bucket.
    static let newcomersShare: Int64 = 16
    /// The minimum time between two removals of full buckets from the table, in nanoseconds.
    static let sweepInterval: Int64 = 1_000_000_000
    /// Returns the key of a rate limit's shared bucket, which all sources without a bucket use.
    ///
    /// The key is negative, so that no source has this key.
    static func newcomers(of policy: Int) -> Key { -1 - policy }

    /// Creates an empty table.
    ///
    /// - Parameter max: The maximum number of stored buckets.
    package init(max: Int = 65_536) {
        self.max = max
    }

    package var count: Int { full.count }

    /// Takes one token from a bucket.
    ///
    /// - Parameters:
    ///   - key: The key of the bucket.
    ///   - policy: The index of the rate limit. If the table has no room for a new bucket, the token comes from the
    ///     shared bucket of this rate limit.
    ///   - rate: The rate at which the bucket fills, and its capacity.
    ///   - now: The current time.
    /// - Returns: Nil if there was a token; otherwise the nanoseconds until there is one.
    package mutating func take(from key: Key, policy: Int, by rate: Rate, at now: Int64) -> Int64? {
        let key = key >= 0 ? key : ~key
        if full[key] == nil, full.count >= max {
            sweep(at: now)
            if full.count >= max {
                let shared = Self.newcomers(of: policy)
                return take(
                    shared,
                    interval: Swift.max(rate.interval / Self.newcomersShare, 1),
                    burst: rate.burst * Self.newcomersShare,
                    at: now
                )
            }
        }
        return take(key, interval: rate.interval, burst: rate.burst, at: now)
    }

    private mutating func take(_ key: Key, interval: Int64, burst: Int64, at now: Int64) -> Int64? {
        let moment = Swift.max(full[key] ?? now, now)
        // The largest rates overflow: 16 · 10⁶ times the nanoseconds of an hour. An overflow counts as an infinite
        // time.
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
    /// The time in nanoseconds in which a token bucket with this rate gains one token.
    var interval: Int64 { Swift.max(unit.nanoseconds / permits, 1) }
}
