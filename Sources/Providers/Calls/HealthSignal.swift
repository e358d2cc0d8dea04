import Encodings

/// What a fault says about the provider's health; decides about retries and feeds the circuit breaker.
package enum HealthSignal: Sendable, Equatable {
    /// The provider is healthy; the fault is the token's, the app's or the request's (F-11).
    ///
    /// The rate limit of one user counts as healthy: it says nothing about other users, and must not shut them out.
    case answered
    /// The provider failed, and a retry may succeed a moment later.
    case transient
    /// The provider failed, and an immediate retry would only add to the load of the provider or the network.
    case failed
    /// The provider refuses all requests of the app for a while.
    case limited(RateLimit)
    /// Nothing is known: no request was sent, or the client did not wait for the response.
    case untold
}

/// A provider's rate limit on the requests of an app.
package struct RateLimit: Sendable, Comparable {
    /// The seconds until the limit ends; nil when the provider names none.
    package let seconds: Int?

    package init(seconds: Int?) {
        self.seconds = seconds
    }

    /// Compares by duration.
    package static func < (one: RateLimit, other: RateLimit) -> Bool {
        one.seconds ?? defaultSeconds < other.seconds ?? defaultSeconds
    }

    /// The duration that clients are told when the provider names none.
    package static let defaultSeconds = 60
    /// The longest duration in seconds that is taken from a provider.
    package static let longest = 86_400

    /// Parses the number form of `Retry-After`; no provider uses the other form, a date.
    package static func seconds(retryAfter header: String) -> Int? {
        guard (1...9).contains(header.utf8.count), header.utf8.allSatisfy(\.isASCIIDigit), let seconds = Int(header)
        else {
            return nil
        }
        return min(max(seconds, 1), longest)
    }
}
