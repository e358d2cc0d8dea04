import Curl
import Domain
import Encodings
import Providers

/// A request to Facebook's Graph API, without its timeout.
///
/// The method `ask` sets the timeout when it sends the request.
struct GraphQuestion {
    let call: ProviderCall
    let url: HTTPURL
    /// The token for the `Authorization` header; nil if the form contains the app's id and secret.
    ///
    /// Proxies log URLs but not this header.
    let bearer: Secret?
    /// The version of the Graph API that the request names, such as `v25.0`.
    let version: String
    /// The form to post.
    ///
    /// Without a form, the request is a `GET`.
    var form: Parameters?

    /// Sends the request and records the headers of the response.
    ///
    /// The timeout of a call and the deadline apply.
    func ask(
        _ curl: CurlClient,
        _ configuration: GraphConfiguration,
        until deadline: ContinuousClock.Instant,
        of link: AppLink
    ) async throws(ProviderFault) -> GraphReply {
        let timeout = min(configuration.callTimeout, deadline - .now)
        guard timeout >= RetryBackoff.leastTime else {
            throw ProviderFault(.timeout(.facebook, cause: "no time was left to ask Graph"), .untold)
        }
        let reply: GraphReply
        let running = call.begin()
        do throws(CurlError) {
            reply = GraphReply(try await curl.send(try request(timeout: timeout, configuration: configuration)))
            running.end()
        } catch {
            running.end(error)
            throw ProviderFault(error, of: .facebook)
        }
        link.note(reply, asked: version)
        return reply
    }

    private func request(
        timeout: Duration,
        configuration: GraphConfiguration
    ) throws(CurlError) -> HTTPRequest {
        try HTTPRequest(
            method: form == nil ? .get : .post,
            url: url,
            headers: bearer.map { [("Authorization", "Bearer " + $0.reveal())] } ?? [],
            body: form?.bytes,
            timeout: timeout,
            connectTimeout: min(timeout, configuration.connectTimeout),
            maxReplyBytes: configuration.maxReplyBytes,
            // A form must never be sent twice, since the server may have acted on the first (decision D13). On a kept
            // connection, libcurl might send it twice.
            reusesConnection: form == nil
        )
    }
}

/// A response of Graph, not parsed yet.
struct GraphReply {
    let status: Int
    let body: [UInt8]
    private let header: (String) -> String?

    init(_ reply: HTTPReply) {
        self.init(status: reply.status, body: reply.body, header: reply.header)
    }

    init(status: Int, body: [UInt8], header: @escaping (String) -> String?) {
        self.status = status
        self.body = body
        self.header = header
    }

    /// The usage of the app's rate limit, if Graph sent it (`GraphUsage`).
    var usageHeader: String? { header("X-App-Usage") }

    /// The usage of a business's rate limits.
    ///
    /// Usually, responses to logins do not have it.
    var businessUsageHeader: String? { header("X-Business-Use-Case-Usage") }

    /// The Graph version that responded, as Graph wrote it; nil if the header is absent.
    var versionHeader: String? { header("facebook-api-version") }

    /// The Graph version that responded, if the header has the form of a version.
    var version: String? { versionHeader.flatMap { GraphVersions.isVersion($0) ? $0 : nil } }

    /// The parsed content of a response.
    enum Content {
        case object(JSONObject)
        case error(GraphError)
    }

    /// Parses the body.
    ///
    /// The content type is ignored, since Graph sometimes labels JSON as JavaScript. An error in the body counts with
    /// any HTTP status.
    ///
    /// - Throws: `ProviderFault` for a response that is neither an object with status 200 nor an error of Graph.
    func content() throws(ProviderFault) -> Content {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONParser.parse(body, limits: .profile)
        } catch {
            throw unreadable(cause: "the reply \(error)")
        }
        guard let object = value.object else { throw unreadable(cause: "the reply is \(value.kind)") }
        if let error = GraphError(envelope: object) { return .error(error) }
        guard status == 200 else { throw unreadable(cause: "a reply without an error") }
        return .object(object)
    }

    /// Returns the failure to report for an error in this response, with what the error shows about Graph's health.
    func fault(_ error: GraphError, of subject: GraphErrorTable.Subject, isGraphToken: Bool) -> ProviderFault {
        GraphErrorTable(subject: subject, isGraphToken: isGraphToken, retryAfter: retryAfter).fault(
            error,
            status: status
        )
    }

    /// Returns the fault for a response whose JSON has an unexpected structure.
    func misshapen(_ what: StaticString) -> ProviderFault {
        ProviderFault(.badReply(.facebook, cause: "Graph: \(what)"), .answered)
    }

    private func unreadable(cause: String) -> ProviderFault {
        let cause = "Graph: \(cause), HTTP status \(status)"
        switch status {
        case 429:
            let failure = Failure.limited(.facebook, retryAfter: retryAfter ?? RateLimit.defaultSeconds, cause: cause)
            return ProviderFault(failure, .limited(RateLimit(seconds: retryAfter)))
        case 500...:
            return ProviderFault(.unavailable(.facebook, cause: cause), .transient)
        default:
            return ProviderFault(.badReply(.facebook, cause: cause), .answered)
        }
    }

    /// The seconds until a retry, as Graph requests.
    ///
    /// They come from the standard header, or else from Graph's own header, which has minutes.
    private var retryAfter: Int? {
        if let header = header("Retry-After") { return RateLimit.seconds(retryAfter: header) }
        return businessUsageHeader.flatMap(RateLimit.seconds(businessUsage:))
    }
}

extension RateLimit {
    private static let headerLimits = JSONLimits(bytes: 16_384, depth: 8, members: 512, keyBytes: 128, asciiKeys: true)

    /// Reads `{"<business>":[{"estimated_time_to_regain_access":minutes}]}` and returns the longest time in seconds.
    static func seconds(businessUsage header: String) -> Int? {
        guard let businesses = try? JSONParser.parse(header, limits: headerLimits).object else { return nil }
        let minutes = businesses.members
            .flatMap { $0.value.array ?? [] }
            .compactMap { $0.object?["estimated_time_to_regain_access"]?.integer }
            .max()
        guard let minutes, minutes > 0 else { return nil }
        return minutes > Int64(longest / 60) ? longest : Int(minutes) * 60
    }
}
