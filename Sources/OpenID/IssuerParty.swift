import Curl
import Domain
import Encodings
import FoundationEssentials
import Logging
import NIOConcurrencyHelpers
import Providers
import SignedTokens

/// What the service knows about one issuer: its discovery document and its keys, which all applications share.
final class IssuerParty: Sendable {
    let issuer: Issuer
    let service: UpstreamService
    private let caller: IssuerCaller
    private let logger: Logger
    private let state = NIOLockedValueBox(State())
    private let breaker = NIOLockedValueBox(CircuitBreaker())

    private struct State {
        var cache = DiscoveryCache()
        var fetching: Task<Void, Never>?
        var keys: SigningKeys?
    }

    init(_ issuer: Issuer, title: String, caller: IssuerCaller, logger: Logger) {
        self.issuer = issuer
        service = UpstreamService(name: title, api: "OpenID issuer")
        self.caller = caller
        self.logger = logger
    }

    /// The issuer's keys.
    ///
    /// Each fetch reads the address of the keys in the discovery document.
    var keys: SigningKeys {
        state.withLockedValue { state in
            if let keys = state.keys { return keys }
            let keys = SigningKeys(issuer: service.name, logger: logger) { [self] (deadline) throws(Failure) in
                try await fetchKeys(until: deadline)
            }
            state.keys = keys
            return keys
        }
    }

    /// Returns the issuer's discovery document, and fetches it if necessary.
    ///
    /// - Throws: `provider_unavailable`, `provider_timeout`, `provider_misconfigured`, `provider_bad_reply`.
    func discovery(until deadline: ContinuousClock.Instant) async throws(Failure) -> Discovery {
        for _ in 0..<3 {
            let (decision, task) = state.withLockedValue { state in
                let decision = state.cache.decide(at: .now)
                switch decision {
                case .fetch, .documentAndFetch: state.fetching = Task { await self.fetch() }
                default: break
                }
                return (decision, state.fetching)
            }
            switch decision {
            case .document(let document), .documentAndFetch(let document): return document
            case .unavailable(let failure): throw failure
            case .fetch, .wait: await task?.value
            }
        }
        throw .timeout(service, cause: "\(service.api): the discovery document was not fetched in time")
    }

    private func fetch() async {
        do throws(ProviderFault) {
            let reply = try await caller.get(try address(), .discovery, of: service)
            let document: Discovery
            do throws(DiscoveryProblem) { document = try Discovery(reply.body, of: issuer.url) } catch {
                throw misconfigured("The discovery document \(error.text).")
            }
            let age = reply.header("Cache-Control").flatMap(Self.maxAge)
            state.withLockedValue { state in
                state.cache.fetched(document, maxAge: age, at: .now)
                state.fetching = nil
            }
        } catch {
            logger.warning(
                "discovery document could not be fetched",
                metadata: [
                    "issuer": "\(issuer.url)", "reason": "\(error.failure.reason.rawValue)",
                    "cause": "\(error.failure.cause ?? "")",
                ]
            )
            state.withLockedValue { state in
                state.cache.failed(error.failure, at: .now)
                state.fetching = nil
            }
        }
    }

    private func address() throws(ProviderFault) -> HTTPURL {
        do throws(CurlError) { return try HTTPURL(issuer.discoveryURL) } catch {
            throw ProviderFault(error, of: service)
        }
    }

    private func fetchKeys(until deadline: ContinuousClock.Instant) async throws(Failure) -> [JSONObject] {
        let document = try await discovery(until: deadline)
        do throws(ProviderFault) {
            let reply = try await caller.get(document.keysURL, .signingKeys, of: service)
            guard let set = (try? JSONParser.parse(reply.body, limits: .profile))?.object?["keys"]?.array else {
                throw ProviderFault(.badReply(service, cause: "\(service.api): no key set"), .answered)
            }
            return set.compactMap(\.object)
        } catch {
            throw error.failure
        }
    }

    /// Sends a form to the token endpoint, once.
    ///
    /// - Returns: The members of the response, and its status.
    func post(_ form: Parameters, as app: ProviderApp, to url: HTTPURL) async throws(Failure) -> (Int, JSONObject) {
        let pass = try breaker.withLockedValue { $0.admit(at: .now) }.pass(to: service)
        do throws(ProviderFault) {
            let reply = try await caller.post(form, as: app, to: url, of: service)
            guard let object = (try? JSONParser.parse(reply.body, limits: .profile))?.object, reply.status < 500 else {
                throw reply.status >= 500
                    ? ProviderFault(.unavailable(service, cause: "\(service.api): status \(reply.status)"), .failed)
                    : ProviderFault(.badReply(service, cause: "\(service.api): no JSON object"), .answered)
            }
            record(nil, of: pass)
            return (reply.status, object)
        } catch {
            record(error.signal, of: pass)
            throw error.failure
        }
    }

    private func record(_ signal: HealthSignal?, of pass: CircuitBreaker.Pass) {
        breaker.withLockedValue { $0.record(.init(signal, nil), of: pass, at: .now) }
    }

    private func misconfigured(_ text: String) -> ProviderFault {
        ProviderFault(
            Failure(
                .providerMisconfigured,
                "The settings of \(service.name) are not usable. The operator must check the issuer.",
                retryAfter: 60,
                cause: "\(issuer.url): \(text)"
            ),
            .answered
        )
    }

    /// Returns the `max-age` of a header `Cache-Control`; nil without one, 0 if nothing may be kept.
    private static func maxAge(_ header: String) -> Int64? {
        for part in header.lowercased().split(separator: ",") {
            let word = part.split(separator: " ").joined()
            if word == "no-store" || word == "no-cache" { return 0 }
            if word.hasPrefix("max-age="), let seconds = Int64(word.dropFirst(8)) { return max(seconds, 0) }
        }
        return nil
    }
}

/// Sends requests to issuers.
struct IssuerCaller: Sendable {
    let curl: CurlClient
    let configuration: OpenIDConfiguration

    /// Fetches a document.
    ///
    /// A redirect is not followed, since its target would decide what the service trusts.
    func get(_ url: HTTPURL, _ call: ProviderCall, of service: UpstreamService) async throws(ProviderFault) -> HTTPReply
    {
        let reply = try await send(call, of: service) { () throws(CurlError) in
            try request(.get, url, headers: [("Accept", "application/json")])
        }
        guard reply.status == 200 else {
            let cause = "\(service.api): status \(reply.status) of a document"
            throw reply.status >= 500
                ? ProviderFault(.unavailable(service, cause: cause), .failed)
                : ProviderFault(.badReply(service, cause: cause), .answered)
        }
        return reply
    }

    /// Sends a form as an app, which authenticates with its secret in the header (`client_secret_basic`).
    func post(
        _ form: Parameters,
        as app: ProviderApp,
        to url: HTTPURL,
        of service: UpstreamService
    ) async throws(ProviderFault) -> HTTPReply {
        try await send(.token, of: service) { () throws(CurlError) in
            try request(
                .post,
                url,
                headers: [("Accept", "application/json"), ("Authorization", "Basic \(app.basicCredentials)")],
                body: form.bytes
            )
        }
    }

    private func request(
        _ method: HTTPRequest.Method,
        _ url: HTTPURL,
        headers: [(name: String, value: String)],
        body: [UInt8]? = nil
    ) throws(CurlError) -> HTTPRequest {
        try HTTPRequest(
            method: method,
            url: url,
            headers: headers,
            body: body,
            timeout: configuration.callTimeout,
            connectTimeout: configuration.connectTimeout,
            maxReplyBytes: configuration.maxReplyBytes,
            // Minutes pass between two requests, so a kept connection may be dead; and no request is sent twice.
            reusesConnection: false,
            isPublicOnly: !configuration.allowsPrivateIssuers
        )
    }

    private func send(
        _ call: ProviderCall,
        of service: UpstreamService,
        _ request: () throws(CurlError) -> HTTPRequest
    ) async throws(ProviderFault) -> HTTPReply {
        let running = call.begin()
        do throws(CurlError) {
            let reply = try await curl.send(try request())
            running.end()
            return reply
        } catch {
            running.end(error)
            throw ProviderFault(error, of: service)
        }
    }
}

extension ProviderApp {
    /// The id and the secret in the form of RFC 6749 §2.3.1: each percent-encoded, joined by a colon, in Base64.
    fileprivate var basicCredentials: String {
        func encoded(_ text: String) -> String {
            var bytes: [UInt8] = []
            PercentEncoding.append(text, to: &bytes)
            return String(decoding: bytes, as: UTF8.self)
        }
        return Data("\(encoded(id.text)):\(encoded(secret.reveal()))".utf8).base64EncodedString()
    }
}

extension ProviderCall {
    static let discovery = ProviderCall("oidc", "discovery")
    static let signingKeys = ProviderCall("oidc", "keys")
    static let token = ProviderCall("oidc", "token")
}
