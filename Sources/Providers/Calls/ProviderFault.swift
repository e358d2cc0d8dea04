package import Curl
package import Domain
package import Encodings

/// The failure of a request to a provider, and what it shows about the provider's health.
package struct ProviderFault: Error {
    /// The failure to report to the client.
    package let failure: Failure
    package let signal: HealthSignal

    package init(_ failure: Failure, _ signal: HealthSignal) {
        self.failure = failure
        self.signal = signal
    }

    /// Whether the provider's response settles the request, so that no retry is needed.
    ///
    /// The response could be parsed, and it is not about a rate limit.
    package var isVerdict: Bool {
        signal == .answered && failure.reason != .providerBadReply && failure.reason != .providerRateLimited
    }
}

extension ProviderFault {
    /// Creates the fault for a call that has no valid response.
    ///
    /// A timeout is not retried, since its time is spent. A failed name resolution or TLS handshake is not retried
    /// either, since it does not pass in a moment.
    package init(_ error: CurlError, of service: UpstreamService) {
        let cause = "\(service.api): \(error)"
        switch error {
        case .timeout:
            self.init(.timeout(service, cause: cause), .failed)
        case .connect, .reset:
            self.init(.unavailable(service, cause: cause), .transient)
        case .resolve, .tls, .library:
            self.init(.unavailable(service, cause: cause), .failed)
        case .replyTooLarge, .badReply:
            self.init(.badReply(service, cause: cause), .answered)
        case .overloaded, .shutDown, .cancelled:
            self.init(
                Failure(.overloaded, "The service is busy. Repeat the request.", retryAfter: 1, cause: cause),
                .untold
            )
        case .invalidRequest:
            self.init(
                Failure(
                    .providerMisconfigured,
                    "The settings of the \(service.name) app are not usable. The operator must check them.",
                    retryAfter: 60,
                    cause: cause
                ),
                .untold
            )
        }
    }
}

extension Failure {
    package static func timeout(_ service: UpstreamService, cause: String) -> Failure {
        Failure(
            .providerTimeout,
            "\(service.name) did not respond in time. Try again in a moment.",
            retryAfter: 2,
            cause: cause
        )
    }

    package static func unavailable(
        _ service: UpstreamService,
        details: JSONObject = JSONObject(),
        retryAfter: Int = 2,
        cause: String
    ) -> Failure {
        Failure(
            .providerUnavailable,
            "\(service.name) cannot be reached or has a problem. Try again in a moment.",
            details: details,
            retryAfter: retryAfter,
            cause: cause
        )
    }

    /// Returns the failure for a response that cannot be parsed.
    ///
    /// The circuit breaker counts this failure as a response of the provider. The cause may be the data of one user,
    /// such as a response that is too large, and must not stop the logins of other users.
    package static func badReply(_ service: UpstreamService, details: JSONObject = JSONObject(), cause: String)
        -> Failure
    {
        Failure(
            .providerBadReply,
            "The response of \(service.name) cannot be read. Try again later.",
            details: details,
            retryAfter: 5,
            cause: cause
        )
    }

    package static func limited(
        _ service: UpstreamService,
        details: JSONObject = JSONObject(),
        retryAfter: Int,
        cause: String
    ) -> Failure {
        Failure(
            .providerRateLimited,
            "\(service.name) has limited the rate of requests. Try again after the time in Retry-After.",
            details: details,
            retryAfter: retryAfter,
            cause: cause
        )
    }
}
