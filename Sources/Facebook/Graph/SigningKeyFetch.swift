import Curl
package import Domain
package import Encodings
import Providers

extension GraphClient {
    /// Fetches the key set for Facebook's ID tokens.
    ///
    /// The request is not retried: the caller decides when to fetch again.
    ///
    /// - Parameter deadline: The moment by which the fetch must be done.
    /// - Returns: The members of the JWK set, of any kind.
    /// - Throws: `provider_unavailable`, `provider_timeout`, `provider_bad_reply`, `provider_misconfigured`.
    package func signingKeys(deadline: ContinuousClock.Instant) async throws(Failure) -> [JSONObject] {
        do throws(ProviderFault) {
            let reply = try await signingKeyReply(deadline: deadline)
            guard !(300..<400).contains(reply.status) else { throw Self.redirected(reply.status) }
            guard case .object(let set) = try reply.content() else { throw reply.misshapen("an error instead of keys") }
            guard let keys = set["keys"]?.array else { throw reply.misshapen("a key document without keys") }
            return keys.compactMap(\.object)
        } catch {
            throw error.failure
        }
    }

    private func signingKeyReply(deadline: ContinuousClock.Instant) async throws(ProviderFault) -> GraphReply {
        let timeout = min(configuration.callTimeout, deadline - .now)
        guard timeout >= RetryBackoff.leastTime else {
            throw ProviderFault(.timeout(.facebook, cause: "no time was left to fetch the keys of ID tokens"), .untold)
        }
        let running = ProviderCall.signingKeys.begin()
        do throws(CurlError) {
            let request = try HTTPRequest(
                url: configuration.keysURL,
                headers: [("Accept", "application/json")],
                timeout: timeout,
                connectTimeout: min(timeout, configuration.connectTimeout),
                maxReplyBytes: configuration.maxReplyBytes,
                // Minutes pass between two fetches, so a kept connection may be dead. On a dead connection, libcurl
                // would send the request twice.
                reusesConnection: false
            )
            let reply = GraphReply(try await curl.send(request))
            running.end()
            return reply
        } catch {
            running.end(error)
            throw ProviderFault(error, of: .facebook)
        }
    }

    /// Returns the fault for a redirect.
    ///
    /// The redirect is not followed, since its target would decide which keys the service trusts.
    ///
    /// See docs/protocols/facebook.md §4.1.
    private static func redirected(_ status: Int) -> ProviderFault {
        ProviderFault(
            Failure(
                .providerMisconfigured,
                """
                The URL of Facebook's key set redirects, and redirects are not followed. The operator must set the \
                final URL.
                """,
                retryAfter: 60,
                cause: "FEDERATION_FACEBOOK_JWKS_URL answers with status \(status), a redirect"
            ),
            .answered
        )
    }
}
