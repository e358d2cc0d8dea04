internal import Curl
internal import Identity

/// A question to Graph that got no usable answer.
struct GraphFault: Error {
    /// What to tell whoever wanted to log in.
    let failure: Failure
    let significance: Significance

    init(_ failure: Failure, _ significance: Significance) {
        self.failure = failure
        self.significance = significance
    }
}

/// What a fault says about Graph itself: it decides about asking again and feeds the circuit breaker.
enum Significance: Sendable, Equatable {
    /// Graph is in order; the fault is the token's, the app's or the request's (security.md F-11).
    case answered
    /// Graph failed, and the same question may succeed a moment later.
    case transient
    /// Graph failed, and asking again at once would only add to what it or the network suffers from.
    case failed
    /// Graph refuses to answer for a while.
    case limited(RateLimit)
    /// Nothing: Graph was not asked, or nobody waited for the answer.
    case untold
}

/// A refusal because of too many questions.
struct RateLimit: Sendable, Equatable {
    /// Whose questions were too many.
    enum Scope: Sendable {
        case app, user
    }

    let scope: Scope
    /// How long it lasts, if Graph said so.
    let seconds: Int?
}

extension GraphFault {
    /// What a call without a reply means.
    ///
    /// A time-out is not asked again: its time is spent. Neither is a failed resolution or handshake, which no moment heals.
    init(_ error: CurlError) {
        let cause = "Graph: \(error)"
        switch error {
        case .timeout:
            self.init(.timeout(cause: cause), .failed)
        case .connect, .reset:
            self.init(.unavailable(cause: cause), .transient)
        case .resolve, .tls, .library:
            self.init(.unavailable(cause: cause), .failed)
        case .replyTooLarge, .badReply:
            self.init(.badReply(cause: cause), .answered)
        case .overloaded, .shutDown, .cancelled:
            self.init(
                Failure(.overloaded, "The service is busy. Repeat the request.", retryAfter: 1, cause: cause),
                .untold
            )
        case .invalidRequest:
            self.init(
                Failure(
                    .providerMisconfigured,
                    "The settings of the Facebook app do not make a request. The operator has to check them.",
                    retryAfter: 60,
                    cause: cause
                ),
                .untold
            )
        }
    }
}

extension Failure {
    static func timeout(cause: String) -> Failure {
        Failure(
            .providerTimeout,
            "Facebook did not answer in time. Try again in a moment.",
            retryAfter: 2,
            cause: cause
        )
    }

    static func unavailable(details: JSONObject = JSONObject(), retryAfter: Int = 2, cause: String) -> Failure {
        Failure(
            .providerUnavailable,
            "Facebook cannot be reached or has a problem of its own. Try again in a moment.",
            details: details,
            retryAfter: retryAfter,
            cause: cause
        )
    }

    /// A reply that cannot be read counts as an answer, for the breaker: it may depend on one person's data (a reply that is too
    /// large), and that must not shut out everybody else.
    static func badReply(details: JSONObject = JSONObject(), cause: String) -> Failure {
        Failure(
            .providerBadReply,
            "Facebook's answer cannot be understood. Try again later.",
            details: details,
            retryAfter: 5,
            cause: cause
        )
    }

    static func limited(details: JSONObject = JSONObject(), retryAfter: Int, cause: String) -> Failure {
        Failure(
            .providerRateLimited,
            "Facebook limits the number of requests at the moment. Try again after the time in Retry-After.",
            details: details,
            retryAfter: retryAfter,
            cause: cause
        )
    }
}
