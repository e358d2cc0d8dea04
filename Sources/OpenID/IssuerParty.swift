import AuthorizationServers
import Curl
import Domain
import Encodings
import Logging
import NIOConcurrencyHelpers
import Providers
import SignedTokens

/// What the service knows about one issuer: its discovery document and its keys, which all applications share.
final class IssuerParty: Sendable {
    let issuer: Issuer
    /// The requests to the issuer about tokens and users.
    let server: AuthorizationServer
    private let caller: ServerCaller
    private let logger: Logger
    private let state = NIOLockedValueBox(State())

    private struct State {
        var cache = DiscoveryCache()
        var fetching: Task<Void, Never>?
        var keys: SigningKeys?
    }

    private var service: UpstreamService { server.service }

    init(_ issuer: Issuer, title: String, caller: ServerCaller, logger: Logger) {
        self.issuer = issuer
        server = AuthorizationServer(
            UpstreamService(name: title, api: "OpenID issuer"),
            caller: caller,
            calls: Self.calls
        )
        self.caller = caller
        self.logger = logger
    }

    private static let calls = ServerCalls(of: "oidc")

    /// The issuer's keys.
    ///
    /// Each fetch reads the address of the keys in the discovery document.
    var keys: SigningKeys {
        state.withLockedValue { state in
            if let keys = state.keys { return keys }
            // Weak, since the keys are part of this object.
            let keys = SigningKeys(issuer: service.name, logger: logger) { [weak self] (deadline) throws(Failure) in
                try await self?.fetchKeys(until: deadline) ?? []
            }
            state.keys = keys
            return keys
        }
    }

    /// Returns the issuer's discovery document, and fetches it if necessary.
    ///
    /// - Throws: `provider_unavailable`, `provider_timeout`, `provider_misconfigured`, `provider_bad_reply`.
    func discovery(until deadline: ContinuousClock.Instant) async throws(Failure) -> Discovery {
        if let discovery = issuer.pinned.map(Discovery.init) { return discovery }
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
            let reply = try await caller.document(at: try address(), .discovery, of: service) { status in
                [400, 404, 410].contains(status) || (300...399).contains(status)
                    ? misconfigured("Its discovery document has status \(status).") : nil
            }
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

    /// Fetches the keys, for a check of the settings.
    ///
    /// - Throws: The failure of the fetch; `provider_bad_reply` without a key that can be used.
    func checkKeys(until deadline: ContinuousClock.Instant) async throws(Failure) {
        let keys = try await fetchKeys(until: deadline).compactMap(SigningKey.init)
        guard !keys.isEmpty else {
            throw .badReply(service, cause: "\(service.api): the key set has no key that can be used")
        }
    }

    private func fetchKeys(until deadline: ContinuousClock.Instant) async throws(Failure) -> [JSONObject] {
        if let keys = issuer.pinned?.keys { return keys }
        guard let url = try await discovery(until: deadline).keysURL else { return [] }
        do throws(ProviderFault) {
            let reply = try await caller.document(at: url, .signingKeys, of: service)
            guard let set = (try? JSONParser.parse(reply.body, limits: .profile))?.object?["keys"]?.array else {
                throw ProviderFault(.badReply(service, cause: "\(service.api): no key set"), .answered)
            }
            return set.compactMap(\.object)
        } catch {
            throw error.failure
        }
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

extension ProviderCall {
    fileprivate static let discovery = ProviderCall("oidc", "discovery")
    fileprivate static let signingKeys = ProviderCall("oidc", "keys")
}
