import Curl
import Domain
import Encodings
import Providers

/// The response of a former system to a login.
struct FormerReply {
    private let status: Int
    private let body: JSONObject?
    private let retryAfter: Int?

    init(_ reply: HTTPReply) {
        status = reply.status
        body = (try? JSONParser.parse(reply.body, limits: .profile))?.object
        retryAfter = reply.header("Retry-After").flatMap(RateLimit.seconds(retryAfter:))
    }

    /// The codes by which Backendless refuses a login for a reason that lies in the user or the password.
    ///
    /// 3000: logins of the account are off. 3003: wrong login or password. 3036: locked after failed logins. 3087: the
    /// e-mail address is not confirmed. 3090, 3091: the account is disabled.
    private static let refusals: Set<Int64> = [3000, 3003, 3036, 3087, 3090, 3091]
    /// The code of Backendless for too many requests per second.
    private static let tooManyRequests: Int64 = 999

    /// Returns the `objectId` of the user who has login name and password; nil if the former system refuses them.
    ///
    /// - Throws: The fault for every other response.
    func objectID(from kind: PasswordSource.Kind) throws(ProviderFault) -> String? {
        let code = kind == .backendless ? body?["code"]?.integer : nil
        if status == 200 {
            guard let id = body?["objectId"]?.string else { throw misshapen("has no objectId") }
            return id
        }
        if status == 429 && code == nil || code == Self.tooManyRequests {
            let limit = RateLimit(seconds: retryAfter)
            throw ProviderFault(
                .limited(.formerSystem, retryAfter: limit.seconds ?? RateLimit.defaultSeconds, cause: cause(code)),
                .limited(limit)
            )
        }
        switch (kind, status) {
        case (.backendless, 400..<500):
            if let code, Self.refusals.contains(code) { return nil }
            throw .unusable(cause(code), .answered)
        case (_, 401), (_, 403):
            return nil
        case (_, 400..<500):
            throw .unusable(cause(code), .answered)
        case (_, 500...):
            throw ProviderFault(.unavailable(.formerSystem, cause: cause(code)), .failed)
        default:
            throw misshapen("has an unexpected status")
        }
    }

    private func cause(_ code: Int64?) -> String {
        "the password source answered \(status)" + (code.map { " with the code \($0)" } ?? "")
    }

    private func misshapen(_ what: String) -> ProviderFault {
        ProviderFault(.badReply(.formerSystem, cause: "the answer \(status) of the password source \(what)"), .answered)
    }
}
