import Curl
import Vocabulary
import Upstream

/// A request to Graph that is ready but for its limits of time.
struct GraphQuestion {
    let url: HTTPURL
    /// The token that goes into the `Authorization` header, which no log of a proxy keeps, unlike a URL; nil where the form says
    /// who asks.
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
        do throws(CurlError) {
            reply = GraphReply(try await curl.send(try request(timeout: timeout, configuration: configuration)))
        } catch {
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
