internal import Vocabulary

/// What a fault says about the provider itself: it decides about asking again and feeds the circuit breaker.
package enum HealthSignal: Sendable, Equatable {
    /// The provider is in order; the fault is the token's, the app's or the request's (F-11), or one person's who
    /// asks too often: a limit that is counted per person says nothing about the others, and must not shut them out.
    case answered
    /// The provider failed, and the same question may succeed a moment later.
    case transient
    /// The provider failed, and asking again at once would only add to what it or the network suffers from.
    case failed
    /// The provider refuses to answer the app for a while, whoever asks.
    case limited(RateLimit)
    /// Nothing: the provider was not asked, or nobody waited for the answer.
    case untold
}

/// A refusal because of too many questions of an app.
package struct RateLimit: Sendable, Comparable {
    /// How long it lasts, if the provider said so.
    package let seconds: Int?

    package init(seconds: Int?) {
        self.seconds = seconds
    }

    /// By the time that they last.
    package static func < (one: RateLimit, other: RateLimit) -> Bool {
        one.seconds ?? defaultSeconds < other.seconds ?? defaultSeconds
    }

    /// What we tell clients when the provider names no time.
    package static let defaultSeconds = 60
    /// No limit of a provider's lasts longer.
    package static let longest = 86_400

    /// Reads the number form of `Retry-After`; nobody whom we ask uses the other, which is a date.
    package static func seconds(retryAfter header: String) -> Int? {
        guard (1...9).contains(header.utf8.count), header.utf8.allSatisfy(\.isASCIIDigit), let seconds = Int(header)
        else {
            return nil
        }
        return min(max(seconds, 1), longest)
    }
}
