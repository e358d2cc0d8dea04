import Domain

internal import Curl
internal import Encodings
internal import Providers

/// A request to Twitter that is not signed yet.
struct TwitterRequest {
    let call: ProviderCall
    let method: Method
    let path: String
    /// The request's parameters, sent in the query of a GET or in the form of a POST.
    let parameters: [OAuthParameter]

    enum Method {
        case get, post

        /// The name of the HTTP method, as the OAuth signature covers it.
        var word: String {
            switch self {
            case .get: "GET"
            case .post: "POST"
            }
        }
    }
}

/// The kinds of requests to Twitter. Metrics have the same names.
extension ProviderCall {
    static let verifyCredentials = ProviderCall("twitter", "verify_credentials")
    static let requestToken = ProviderCall("twitter", "request_token")
}

extension TwitterClient {
    /// Signs a request and sends it.
    ///
    /// The timeout of a call and the deadline apply.
    func send(
        _ request: TwitterRequest,
        by consumer: Consumer,
        token: AccessToken?,
        deadline: ContinuousClock.Instant
    ) async throws(ProviderFault) -> TwitterReply {
        let timeout = min(configuration.callTimeout, deadline - .now)
        guard timeout >= RetryBackoff.leastTime else {
            throw ProviderFault(.timeout(.twitter, cause: "no time was left to ask Twitter"), .untold)
        }
        let running = request.call.begin()
        do throws(CurlError) {
            let signed = try sign(request, by: consumer, token: token, timestamp: clock.seconds, timeout: timeout)
            let reply = try await curl.send(signed)
            running.end()
            // The time to wait counts from the arrival of the response. The request may have taken seconds.
            return TwitterReply(reply, now: clock.seconds)
        } catch {
            running.end(error)
            throw ProviderFault(error, of: .twitter)
        }
    }

    private func sign(
        _ request: TwitterRequest,
        by consumer: Consumer,
        token: AccessToken?,
        timestamp: Int64,
        timeout: Duration
    ) throws(CurlError) -> HTTPRequest {
        let path = configuration.basePath + request.path
        let form = request.parameters.form
        let authorization = consumer.authorization(
            of: request,
            at: configuration.base.origin + path,
            token: token,
            // 128 bits.
            nonce: Hexadecimal.encode(random.bytes(16)),
            timestamp: timestamp
        )
        let isGet = request.method == .get
        return try HTTPRequest(
            method: isGet ? .get : .post,
            url: try configuration.base.withTarget(isGet ? path + "?" + form : path),
            headers: [("Authorization", authorization)],
            body: isGet ? nil : Array(form.utf8),
            timeout: timeout,
            connectTimeout: min(timeout, configuration.connectTimeout),
            maxReplyBytes: configuration.maxReplyBytes,
            // On a kept connection that is dead, libcurl would send the request twice. Twitter may refuse the repeated
            // nonce.
            reusesConnection: false
        )
    }
}
