package import Domain
package import Encodings

/// Checks whether a signed token is an event that an issuer reports to one of our clients.
///
/// Such tokens are logout tokens (OpenID Connect Back-Channel Logout 2.6), security event tokens (RFC 8417 §2.2),
/// and Apple's notifications. The rules stand in docs/protocols/openid.md §8.
package struct EventTokenCheck: Sendable {
    /// The accepted values of `iss`.
    package let issuers: [String]
    /// The clients of which `aud` must name one.
    ///
    /// It may name others, since one stream may serve several.
    let clients: [ProviderAppID]

    /// The seconds from the issue of an event until the service refuses it.
    ///
    /// Issuers send an event again for days if nobody takes it. An event only ends what is older than the event, so a
    /// repetition does no harm.
    static let longestAge: Int64 = 14 * 86_400

    package init(issuers: [String], clients: [ProviderAppID]) { (self.issuers, self.clients) = (issuers, clients) }

    /// Checks the claims of a token and its signature.
    ///
    /// - Parameters:
    ///   - token: The token as received.
    ///   - key: The public key whose id the token names.
    ///   - now: The current time in Unix seconds.
    /// - Returns: The claims, and the time of the issue in Unix seconds.
    /// - Throws: `malformed_request`.
    package func accept(
        _ token: SignedToken,
        signedBy key: SigningKey,
        now: Int64
    ) throws(Failure) -> (claims: JSONObject, issued: Int64) {
        let claims: JSONObject
        do throws(Failure) { claims = try token.claims(signedBy: key) } catch {
            throw .noEvent("the signature does not fit the key")
        }
        guard issuers.contains(where: { claims.isIssued(by: $0) }) else { throw .noEvent("iss is none of ours") }
        guard claims.audiences.contains(where: { name in clients.contains { $0.text.hasSameBytes(as: name) } }) else {
            throw .noEvent("aud names none of the application's clients")
        }
        guard let issued = claims.time("iat"), issued <= now + IDTokenCheck.tolerance, now - issued <= Self.longestAge
        else { throw .noEvent("iat is absent, lies ahead of our clock, or is too long ago") }
        if claims["exp"] != nil {
            guard let end = claims.time("exp"), end + IDTokenCheck.tolerance > now else {
                throw .noEvent("exp has passed")
            }
        }
        // The claim of an ID token. Without this rule, an ID token could end a session (Logout 2.4).
        guard claims["nonce"] == nil else { throw .noEvent("an event has no nonce") }
        guard claims["events"] != nil, let id = claims["jti"]?.string, !id.utf8.isEmpty else {
            throw .noEvent("events or jti is absent")
        }
        return (claims, issued)
    }
}

extension Failure {
    /// Returns the failure for a webhook whose body is no event of the issuer.
    package static func noEvent(_ cause: String) -> Failure {
        Failure(
            .malformedRequest,
            "This is no event of the provider for a client of this application.",
            cause: "security event: \(cause)"
        )
    }
}
