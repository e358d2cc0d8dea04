internal import Domain
internal import Encodings
internal import Providers

/// Maps Twitter's errors to the failures of this service (docs/protocols/twitter.md §2).
///
/// Twitter's error code decides. If the code is missing or unknown, the HTTP status decides, since Twitter's newer
/// errors (problem details) have no code.
struct TwitterErrorTable {
    /// The credentials to which Twitter's error refers.
    enum Subject {
        /// The request has the user's token, and the app's consumer key and secret.
        ///
        /// Twitter may refuse any of them.
        case userToken
        /// The request has only the app's consumer key and secret.
        ///
        /// If Twitter refuses them, the operator must correct the configuration.
        case consumer
    }

    let subject: Subject
    /// The seconds until a retry, as Twitter requests.
    let retryAfter: Int?

    /// Returns the failure to report for an error in a response, with what the error shows about Twitter's health.
    func fault(code: Int64?, status: Int) -> ProviderFault {
        let error = Occurrence(code: code, status: status)
        return switch code {
        // If the request is about a user, Twitter's rate limit is for that user alone.
        case 88 where subject == .userToken: ProviderFault(limited(error), .answered)
        case 88: appIsLimited(error)
        case 130, 131: unavailable(error)
        case 32, 89, 215: refused(error)
        case 63, 64, 231, 326: ProviderFault(actionRequired(error), .answered)
        case 135: ProviderFault(clockWrong(error), .answered)
        case 34, 87, 220, 415, 416, 417, 453: ProviderFault(misconfigured(error), .answered)
        default: byStatus(error)
        }
    }

    private func byStatus(_ error: Occurrence) -> ProviderFault {
        switch error.status {
        case 429: appIsLimited(error)
        case 500...: unavailable(error)
        case 401: refused(error)
        // Status 402 means that the credits of the app are used up.
        case 402, 403, 404, 410: ProviderFault(misconfigured(error), .answered)
        default: ProviderFault(.badReply(.twitter, details: error.details, cause: error.cause), .answered)
        }
    }

    private func appIsLimited(_ error: Occurrence) -> ProviderFault {
        ProviderFault(limited(error), .limited(RateLimit(seconds: retryAfter)))
    }

    private func limited(_ error: Occurrence) -> Failure {
        .limited(
            .twitter,
            details: error.details,
            retryAfter: retryAfter ?? RateLimit.defaultSeconds,
            cause: error.cause
        )
    }

    private func unavailable(_ error: Occurrence) -> ProviderFault {
        ProviderFault(.unavailable(.twitter, details: error.details, cause: error.cause), .transient)
    }

    /// Returns the fault for credentials that Twitter refuses.
    ///
    /// Three errors do not show whether the app's or the user's credentials are wrong: a wrong signature (32), a token
    /// that is not valid for the app's consumer key (89), and credentials that Twitter cannot read (215).
    private func refused(_ error: Occurrence) -> ProviderFault {
        guard subject == .userToken else { return ProviderFault(misconfigured(error), .answered) }
        let failure = error.failure(
            .credentialInvalid,
            """
            Twitter refuses this access token with its secret: it was revoked, issued for another app, or changed. Log \
            in with Twitter again. If no user can log in, the operator must check the consumer key and the consumer \
            secret.
            """
        )
        return ProviderFault(failure, .answered)
    }

    private func actionRequired(_ error: Occurrence) -> Failure {
        error.failure(
            .userActionRequired,
            """
            Twitter has locked or suspended the account. Open twitter.com, log in there and follow the instructions, then log in \
            here again.
            """
        )
    }

    private func clockWrong(_ error: Occurrence) -> Failure {
        error.failure(
            .providerMisconfigured,
            "Twitter refuses the time of the request. The operator must correct the clock of the server.",
            retryAfter: 60
        )
    }

    private func misconfigured(_ error: Occurrence) -> Failure {
        error.failure(
            .providerMisconfigured,
            """
            Twitter refuses the settings of the app. The operator must check the consumer key and the consumer secret, \
            and at developer.x.com that the app is active and may use account/verify_credentials of API 1.1.
            """,
            retryAfter: 60
        )
    }
}

/// An error of Twitter, with only those parts that may be reported.
private struct Occurrence {
    let code: Int64?
    let status: Int

    /// Twitter's code for the error, for `errorData` of the service's response, which programs read.
    var details: JSONObject {
        var details = JSONObject()
        if let code { details.append("twitterCode", .integer(code)) }
        return details
    }

    var cause: String { "Twitter error \(code.map(String.init) ?? "without code"), HTTP status \(status)" }

    func failure(_ reason: Failure.Reason, _ message: String, retryAfter: Int? = nil) -> Failure {
        Failure(reason, message, details: details, retryAfter: retryAfter, cause: cause)
    }
}
