package import Curl
package import Providers

/// Sends requests to authorization servers.
package struct ServerCaller: Sendable {
    private let curl: CurlClient
    private let configuration: CallConfiguration

    package init(curl: CurlClient, configuration: CallConfiguration) {
        (self.curl, self.configuration) = (curl, configuration)
    }

    /// Fetches a document, such as a key set.
    ///
    /// A redirect is not followed, since its target would decide what the service trusts.
    ///
    /// - Parameters:
    ///   - url: The address.
    ///   - call: The kind of the request.
    ///   - service: The server.
    ///   - fault: Returns the fault of a status other than 200; nil for the usual one.
    /// - Returns: The response, with status 200.
    /// - Throws: The fault.
    package func document(
        at url: HTTPURL,
        _ call: ProviderCall,
        of service: UpstreamService,
        fault: (_ status: Int) -> ProviderFault? = { _ in nil }
    ) async throws(ProviderFault) -> HTTPReply {
        let reply = try await send(.get, url, call, of: service)
        guard reply.status == 200 else {
            if let fault = fault(reply.status) { throw fault }
            let cause = "\(service.api): status \(reply.status) of a document"
            throw reply.status >= 500
                ? ProviderFault(.unavailable(service, cause: cause), .failed)
                : ProviderFault(.badReply(service, cause: cause), .answered)
        }
        return reply
    }

    /// Sends a request, once.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - url: The address.
    ///   - call: The kind of the request.
    ///   - service: The server.
    ///   - authorization: The value of the header `Authorization`; nil for none.
    ///   - body: The body; nil for none.
    ///   - type: The type of the body; nil for a form.
    ///   - deadline: The moment at which the response must be there, if that is before the timeout.
    /// - Returns: The response, whatever its status.
    /// - Throws: The fault of a request without a response.
    func send(
        _ method: HTTPRequest.Method,
        _ url: HTTPURL,
        _ call: ProviderCall,
        of service: UpstreamService,
        authorization: String? = nil,
        body: [UInt8]? = nil,
        type: String? = nil,
        until deadline: ContinuousClock.Instant? = nil
    ) async throws(ProviderFault) -> HTTPReply {
        var headers = [(name: "Accept", value: "application/json")]
        if let authorization { headers.append((name: "Authorization", value: authorization)) }
        if let type { headers.append((name: "Content-Type", value: type)) }
        let timeout = min(configuration.callTimeout, deadline.map { $0 - .now } ?? configuration.callTimeout)
        guard timeout > RetryBackoff.leastTime else {
            throw ProviderFault(.timeout(service, cause: "\(service.api): no time is left"), .untold)
        }
        let running = call.begin()
        do throws(CurlError) {
            let request = try HTTPRequest(
                method: method,
                url: url,
                headers: headers,
                body: body,
                timeout: timeout,
                connectTimeout: configuration.connectTimeout,
                maxReplyBytes: configuration.maxReplyBytes,
                // Minutes pass between two requests, so a kept connection may be dead; and no code is sent twice.
                reusesConnection: false,
                isPublicOnly: !configuration.allowsPrivateServers
            )
            let reply = try await curl.send(request)
            running.end()
            return reply
        } catch {
            running.end(error)
            throw ProviderFault(error, of: service)
        }
    }
}
