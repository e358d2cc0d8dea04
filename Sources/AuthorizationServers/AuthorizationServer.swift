package import Curl
package import Domain
package import Encodings
import NIOConcurrencyHelpers
package import Providers

/// An authorization server, as this instance of the service knows it: the requests to it, and its circuit breaker.
///
/// All applications with the same server share it.
package final class AuthorizationServer: Sendable {
    package let service: UpstreamService
    private let caller: ServerCaller
    private let calls: ServerCalls
    /// The circuit breakers of the clients, since a rate limit is about one client.
    private let breakers = NIOLockedValueBox<[ProviderAppID: CircuitBreaker]>([:])

    /// The maximum number of clients with a breaker; beyond it, all start afresh.
    private static let maxClients = 1024

    package init(_ service: UpstreamService, caller: ServerCaller, calls: ServerCalls) {
        (self.service, self.caller, self.calls) = (service, caller, calls)
    }

    /// Whether the server has answered the last requests, so that background work may send more.
    package var isReachable: Bool { breakers.withLockedValue { $0.values.allSatisfy(\.isClosed) } }

    /// Fetches the profile of the user to whom an access token of a client belongs.
    ///
    /// - Throws: `credential_invalid` if the server refuses the token; `provider_unavailable` and similar errors.
    package func profile(
        by token: Secret,
        of client: ProviderAppID,
        at url: HTTPURL,
        until deadline: ContinuousClock.Instant
    ) async throws(Failure) -> JSONObject {
        let reply = try await ask(
            .get,
            url,
            calls.profile,
            of: client,
            authorization: "Bearer \(token.reveal())",
            until: deadline,
            isOfUser: true
        )
        let cause = "\(service.api): the profile has status \(reply.status)"
        switch reply.status {
        case 200: return reply.object
        case 401: throw refusedToken(cause: cause)
        default: throw .badReply(service, cause: cause)
        }
    }

    /// Fetches a page as a browser would, without following a redirect.
    func page(_ url: HTTPURL, until deadline: ContinuousClock.Instant) async throws(ProviderFault) -> HTTPReply {
        try await caller.send(.get, url, calls.dialog, of: service, until: deadline)
    }

    /// Sends the request of an access token's check.
    func check(
        _ request: TokenClientRequest,
        as client: ProviderAppID,
        until deadline: ContinuousClock.Instant
    ) async throws(Failure) -> Reply {
        try await ask(
            request.method,
            request.url,
            calls.check,
            of: client,
            authorization: request.authorization,
            body: request.body,
            type: request.type,
            until: deadline,
            isOfUser: !request.authenticatesClient
        )
    }

    /// Sends a form to the token endpoint, once.
    func token(
        _ form: Parameters,
        as client: ClientCredentials,
        at url: HTTPURL,
        until deadline: ContinuousClock.Instant
    ) async throws(Failure) -> Reply {
        var form = form
        let authorization = client.authenticate(&form)
        return try await ask(
            .post,
            url,
            calls.token,
            of: client.id,
            authorization: authorization,
            body: form.bytes,
            until: deadline,
            isRepeatable: false
        )
    }

    /// Sends a request that ends a token or a grant.
    func revocation(
        _ method: HTTPRequest.Method,
        _ url: HTTPURL,
        as client: ProviderAppID,
        authorization: String?,
        body: [UInt8],
        type: String? = nil,
        until deadline: ContinuousClock.Instant
    ) async throws(Failure) -> Reply {
        try await ask(
            method,
            url,
            calls.revocation,
            of: client,
            authorization: authorization,
            body: body,
            type: type,
            until: deadline,
            needsObject: false
        )
    }

    /// The failure for an access token that the server refuses.
    func refusedToken(cause: String) -> Failure {
        Failure(
            .credentialInvalid,
            "\(service.name) does not accept this access token. Log in with \(service.name) again.",
            cause: cause
        )
    }

    /// A response: the status, which is below 500, and the members; none if the body is no JSON object.
    struct Reply: Sendable {
        let status: Int
        let object: JSONObject
    }

    /// Sends a request and reads the response.
    ///
    /// A request that may be repeated is sent again once, if the connection could not be made or broke. `isOfUser` is
    /// whether the request shows a user's token alone, and not the client's credentials.
    private func ask(
        _ method: HTTPRequest.Method,
        _ url: HTTPURL,
        _ call: ProviderCall,
        of client: ProviderAppID,
        authorization: String?,
        body: [UInt8]? = nil,
        type: String? = nil,
        until deadline: ContinuousClock.Instant,
        isRepeatable: Bool = true,
        needsObject: Bool = true,
        isOfUser: Bool = false
    ) async throws(Failure) -> Reply {
        let pass = try breaker(of: client) { $0.admit(at: .now) }.pass(to: service)
        var mayRepeat = isRepeatable
        while true {
            do throws(ProviderFault) {
                let http = try await caller.send(
                    method,
                    url,
                    call,
                    of: service,
                    authorization: authorization,
                    body: body,
                    type: type,
                    until: deadline
                )
                let reply = try read(http, needsObject: needsObject, isOfUser: isOfUser)
                record(nil, of: pass, client)
                return reply
            } catch {
                let repeats =
                    mayRepeat && error.signal == .transient
                    && breaker(of: client) { $0.allowsRepeats(pass) }
                if repeats, await RetryBackoff.pause(before: deadline) {
                    mayRepeat = false
                    continue
                }
                record(error.signal, of: pass, client)
                throw error.failure
            }
        }
    }

    /// Reads a response.
    ///
    /// A rate limit for one user's token says nothing about the tokens of others.
    private func read(_ reply: HTTPReply, needsObject: Bool, isOfUser: Bool) throws(ProviderFault) -> Reply {
        let cause = "\(service.api): status \(reply.status)"
        switch reply.status {
        case 500...: throw ProviderFault(.unavailable(service, cause: cause), .failed)
        case 429:
            let seconds = reply.header("Retry-After").flatMap { RateLimit.seconds(retryAfter: $0) }
            throw ProviderFault(
                .limited(service, retryAfter: seconds ?? RateLimit.defaultSeconds, cause: cause),
                isOfUser ? .answered : .limited(RateLimit(seconds: seconds))
            )
        default: break
        }
        if let object = (try? JSONParser.parse(reply.body, limits: .profile))?.object {
            return Reply(status: reply.status, object: object)
        }
        guard reply.status != 200 || !needsObject else {
            throw ProviderFault(.badReply(service, cause: "\(service.api): no JSON object"), .answered)
        }
        return Reply(status: reply.status, object: JSONObject())
    }

    private func record(_ signal: HealthSignal?, of pass: CircuitBreaker.Pass, _ client: ProviderAppID) {
        breaker(of: client) { $0.record(.init(signal, nil), of: pass, at: .now) }
    }

    private func breaker<Result>(of client: ProviderAppID, _ body: (inout CircuitBreaker) -> Result) -> Result {
        breakers.withLockedValue { breakers in
            if breakers[client] == nil, breakers.count >= Self.maxClients { breakers.removeAll() }
            return body(&breakers[client, default: CircuitBreaker()])
        }
    }
}
