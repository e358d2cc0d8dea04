internal import Upstream
internal import Vocabulary

/// The meaning of Twitter's errors in our reasons (docs/protocols/twitter.md §2).
///
/// The code decides; the HTTP status where there is none, or one that the table does not know, since Twitter's newer
/// errors (problem details) have no code.
struct TwitterErrorTable {
    /// Whose credentials an error speaks of.
    enum Subject {
        /// The person's token, with ours.
        case userToken
        /// Ours alone: the operator's to repair.
        case consumer
    }

    let subject: Subject
    /// Seconds that Twitter asked us to wait.
    let retryAfter: Int?

    /// Reads an error that came with an HTTP status.
    func fault(code: Int64?, status: Int) -> ProviderFault {
        let error = Occurrence(code: code, status: status)
        return switch code {
        // Where a person is asked about, Twitter counts per person: it says nothing about the others.
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
        // 402: the credits of the app are used up.
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

    /// Twitter's words for a wrong signature (32), a token that is not or no longer good with our consumer key (89),
    /// and credentials that it cannot read (215) do not tell our part from the person's.
    private func refused(_ error: Occurrence) -> ProviderFault {
        guard subject == .userToken else { return ProviderFault(misconfigured(error), .answered) }
        let failure = error.failure(
            .credentialInvalid,
            """
            Twitter does not accept this access token with its secret: it was withdrawn, made for another app, or changed on its \
            way. Log in with Twitter again. If nobody can log in, the operator has to check consumer key and consumer secret.
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
            "Twitter finds the time of the request wrong. The operator has to set the clock of the server right.",
            retryAfter: 60
        )
    }

    private func misconfigured(_ error: Occurrence) -> Failure {
        error.failure(
            .providerMisconfigured,
            """
            Twitter does not accept the settings of the app. The operator has to check consumer key and consumer secret, and at \
            developer.x.com that the app is active and may use account/verify_credentials of API 1.1.
            """,
            retryAfter: 60
        )
    }
}

/// One error, as far as it may be told.
private struct Occurrence {
    let code: Int64?
    let status: Int

    /// What a program may know of it: the members of `errorData`.
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
