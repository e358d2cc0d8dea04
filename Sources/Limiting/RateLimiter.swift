package import Domain
import Encodings
import NIOConcurrencyHelpers

/// The source of a request, as rate limits identify it.
package struct LimitedSource: Sendable, Hashable {
    /// An IPv4 address, or the /64 of an IPv6 address.
    package let address: UInt64
    /// The /48 of an IPv6 address; nil for an IPv4 address.
    package let network: UInt64?

    package init(address: UInt64, network: UInt64?) {
        self.address = address
        self.network = network
    }
}

/// Counts requests in the memory of this instance, and refuses requests beyond the rate limits.
package final class RateLimiter: Sendable {
    private struct Row: Sendable {
        let policy: LimitPolicy
        let rate: Rate
        let position: Int
    }

    private let rows: [LimitedOperation: [Row]]
    private let buckets: NIOLockedValueBox<TokenBuckets>
    private let start = ContinuousClock.now
    private let refusals: NIOLockedValueBox<[LimitPolicy: Int]> = .init([:])

    package init(_ policies: LimitPolicies, max: Int = 65_536) {
        buckets = NIOLockedValueBox(TokenBuckets(max: max))
        rows = LimitPolicy.all.enumerated().reduce(into: [:]) { rows, entry in
            guard let rate = policies[entry.element] else { return }
            rows[entry.element.operation, default: []].append(
                Row(policy: entry.element, rate: rate, position: entry.offset)
            )
        }
    }

    /// The number of requests that each rate limit has refused since the start of the process.
    package var refused: [LimitPolicy: Int] { refusals.withLockedValue { $0 } }

    /// Counts a request, or refuses it.
    ///
    /// - Parameters:
    ///   - operation: The kind of the request.
    ///   - application: The application of the request; nil for the administration.
    ///   - source: The source of the request. Nil if it is unknown, or if the request comes from the application's own
    ///     server. The request then counts only for the application.
    /// - Throws: `rate_limited`, with the name of the exceeded rate limit as `limit`, and the number of seconds to
    ///   wait.
    package func take(
        _ operation: LimitedOperation,
        of application: ApplicationID?,
        from source: LimitedSource?
    ) throws(Failure) {
        guard let rows = rows[operation] else { return }
        let now = (ContinuousClock.now - start).nanoseconds
        let refused = buckets.withLockedValue { buckets -> (LimitPolicy, Int64)? in
            for row in rows {
                let subject: UInt64?
                switch row.policy.subject {
                case .source: subject = source?.address
                case .network: subject = source?.network
                case .application: subject = 0
                }
                guard let subject else { continue }
                var hasher = Hasher()
                hasher.combine(row.position)
                hasher.combine(application)
                hasher.combine(subject)
                let key = hasher.finalize()
                if let wait = buckets.take(from: key, policy: row.position, by: row.rate, at: now) {
                    return (row.policy, wait)
                }
            }
            return nil
        }
        guard let (policy, wait) = refused else { return }
        refusals.withLockedValue { $0[policy, default: 0] += 1 }
        throw Failure(
            .rateLimited,
            policy.subject == .application
                ? "This application has reached its rate limit. Try again after the time in Retry-After."
                : "Too many requests from this source. Try again after the time in Retry-After.",
            details: ["limit": .string(policy.name)],
            retryAfter: Int(clamping: (wait - 1) / 1_000_000_000 + 1)
        )
    }
}

extension Duration {
    /// The duration in whole nanoseconds.
    ///
    /// It must be shorter than 292 years.
    var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
