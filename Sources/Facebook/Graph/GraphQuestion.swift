import Curl
import Upstream
import Vocabulary

/// A request to Graph that is ready but for its limits of time.
struct GraphQuestion {
    let call: ProviderCall
    let url: HTTPURL
    /// The token that goes into the `Authorization` header, which no log of a proxy keeps, unlike a URL; nil where the
    /// form says who asks.
    let bearer: Secret?
    /// The version of Graph that is asked for.
    let version: String
    /// What is posted; a question without a form is a `GET`.
    var form: Parameters?

    /// Asks, within the limit of a call and before the deadline, and takes in what the reply says beside its answer.
    func ask(
        _ curl: CurlClient,
        _ configuration: GraphConfiguration,
        until deadline: ContinuousClock.Instant,
        of link: AppLink
    ) async throws(ProviderFault) -> GraphReply {
        let timeout = min(configuration.callTimeout, deadline - .now)
        guard timeout >= Repetition.leastTime else {
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
            // What a form asks for may be done by the first sending already, so it is sent once (decision D13).
            reusesConnection: form == nil
        )
    }
}

/// What Graph answered, before anybody has looked into it.
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

    /// How much of the app's allowance is used, if Graph said so; see `GraphUsage`.
    var usageHeader: String? { header("X-App-Usage") }

    /// What Graph says of the allowances of a business, which no reply to a login has as a rule.
    var businessUsageHeader: String? { header("X-Business-Use-Case-Usage") }

    /// The version that answered, as Graph wrote it, if it did.
    var versionHeader: String? { header("facebook-api-version") }

    /// The version that answered, if Graph said so in the form of one.
    var version: String? { versionHeader.flatMap { GraphVersions.isVersion($0) ? $0 : nil } }

    /// What a reply turns out to be.
    enum Content {
        case object(JSONObject)
        case error(GraphError)
    }

    /// Reads the body.
    ///
    /// The content type is not asked, since Graph labels JSON as JavaScript at times. The body is read whatever the
    /// status is, because Graph's errors are in the body; and an error counts whatever the status is.
    ///
    /// - Throws: `ProviderFault` for everything that is neither a successful object nor an error of Graph's.
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

    /// What an error in this reply means.
    func fault(_ error: GraphError, of subject: GraphErrorTable.Subject, isGraphToken: Bool) -> ProviderFault {
        GraphErrorTable(subject: subject, isGraphToken: isGraphToken, retryAfter: retryAfter).fault(
            error,
            status: status
        )
    }

    /// A reply that has the form of JSON and not that of an answer.
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

    /// Seconds that Graph asks us to wait: the standard header, or else its own, which counts minutes.
    private var retryAfter: Int? {
        if let header = header("Retry-After") { return RateLimit.seconds(retryAfter: header) }
        return businessUsageHeader.flatMap(RateLimit.seconds(businessUsage:))
    }
}

extension RateLimit {
    private static let headerLimits = JSONLimits(bytes: 16_384, depth: 8, members: 512, keyBytes: 128, asciiKeys: true)

    /// Reads `{"<business>":[{"estimated_time_to_regain_access":minutes}]}`: the longest of the times.
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
