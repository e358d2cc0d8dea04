import Encodings

/// What a failed request shows about the provider's health.
///
/// Retries and the circuit breaker depend on this signal.
package enum HealthSignal: Sendable, Equatable {
    /// The provider is healthy. The fault is in the token, the app or the request (F-11).
    ///
    /// A rate limit for one user counts as healthy: it says nothing about other users and must not stop their logins.
    case answered
    /// The provider failed. A retry may succeed a moment later.
    case transient
    /// The provider failed. An immediate retry would only add to the load of the provider or of the network.
    case failed
    /// The provider refuses all requests of the app for a while.
    case limited(RateLimit)
    /// Nothing is known about the provider's health, since no request was sent or the client did not wait for the
    /// response.
    case untold
}

/// A provider's rate limit on the requests of an app.
package struct RateLimit: Sendable, Comparable {
    /// The seconds until the limit ends; nil if the provider does not say.
    package let seconds: Int?

    package init(seconds: Int?) {
        self.seconds = seconds
    }

    /// Returns whether the first rate limit ends before the second.
    package static func < (one: RateLimit, other: RateLimit) -> Bool {
        one.seconds ?? defaultSeconds < other.seconds ?? defaultSeconds
    }

    /// The seconds until a rate limit ends, if the provider does not say when.
    ///
    /// Clients are told to wait for this time.
    package static let defaultSeconds = 60
    /// The maximum number of seconds that the service accepts as the duration of a provider's rate limit.
    package static let longest = 86_400

    /// Parses the header `Retry-After` if it is a number of seconds; nil otherwise.
    ///
    /// The other form is a date, which no provider uses.
    package static func seconds(retryAfter header: String) -> Int? {
        guard (1...9).contains(header.utf8.count), header.utf8.allSatisfy(\.isASCIIDigit), let seconds = Int(header)
        else {
            return nil
        }
        return min(max(seconds, 1), longest)
    }
}
