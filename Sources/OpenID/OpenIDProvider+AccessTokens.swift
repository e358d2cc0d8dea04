import AuthorizationServers
import Curl
import Domain
import Encodings
import Providers
import SignedTokens

// Access tokens. An access token shows nobody for whom it was issued, so the issuer is asked for that first
// (docs/protocols/openid.md §7).

extension OpenIDProvider {
    /// Logs in by an access token that the issuer gave to one of our clients.
    func authenticate(
        byAccessToken token: Secret,
        _ question: VerificationRequest
    ) async throws(Failure) -> AuthenticationResult {
        result(try await checked(token, question).verified)
    }

    /// Checks for which client an access token was issued, and reads the claims of its user.
    func checked(
        _ token: Secret,
        _ question: VerificationRequest
    ) async throws(Failure) -> (verified: VerifiedIdentity, token: CheckedToken) {
        _ = try question.fields()
        let ours = try apps(named: question.appID).map(\.id)
        guard settings.acceptsAccessTokens else {
            throw Failure(
                .credentialWrongKind,
                """
                \(title) needs an ID token, which has three parts separated by dots. Send it as idToken. The operator can \
                accept access tokens with the option accessTokens of the provider.
                """
            )
        }
        try Credentials.check(token, at: title)
        let document = try await party.discovery(until: question.deadline)
        guard let check = tokenCheck(by: document) else {
            throw Failure(
                .credentialWrongKind,
                """
                \(title) does not say for whom it issued an access token. Send an ID token as idToken, or an \
                authorization code as code.
                """
            )
        }
        let checked = try await party.server.checked(
            token,
            by: check,
            as: try credentials(of: try checkingApp(named: question.appID), by: document),
            issuedFor: ours,
            until: question.deadline
        )
        let claims = try await claims(
            of: checked.subject,
            by: token,
            for: checked.client,
            document,
            until: question.deadline
        )
        return (try verified(claims, scopes: checked.scopes, credentialExpiresAt: checked.expiresAt), checked)
    }

    /// Returns the app as which the service checks an access token: the named one, or else the first, if it can
    /// authenticate; otherwise the first that can.
    private func checkingApp(named id: String?) throws(Failure) -> ProviderApp {
        let app = try app(named: id)
        guard settings.signingKey == nil, app.secret.byteCount == 0 else { return app }
        return apps.first { $0.secret.byteCount > 0 } ?? app
    }

    /// Returns how the issuer shows the client of an access token; nil if it does not.
    func tokenCheck(by document: Discovery) -> TokenClientCheck? {
        settings.tokenCheck ?? document.introspectionEndpoint.map { .introspection(at: $0.address) }
    }

    /// Reads the claims of a user at the issuer's `userinfo` endpoint.
    ///
    /// - Parameters:
    ///   - subject: The user to whom the token belongs, as the issuer has said elsewhere; nil if it has not.
    ///   - token: The access token.
    ///   - client: The client of the token.
    ///   - document: The issuer's discovery document.
    ///   - deadline: The moment at which the response must be there.
    /// - Returns: The claims, with `sub`.
    /// - Throws: `credential_invalid` if the response is about another user (Core 5.3.2).
    func claims(
        of subject: String?,
        by token: Secret,
        for client: ProviderAppID,
        _ document: Discovery,
        until deadline: ContinuousClock.Instant
    ) async throws(Failure) -> JSONObject {
        guard let endpoint = document.userinfoEndpoint else {
            guard let subject else {
                throw .unusableConfiguration(cause: "the issuer \(settings.issuer.url) has no userinfo_endpoint")
            }
            return ["sub": .string(subject)]
        }
        let claims = try await party.server.profile(by: token, of: client, at: endpoint, until: deadline)
        guard let named = claims["sub"]?.string, subject.map({ $0.hasSameBytes(as: named) }) ?? true else {
            throw .untrusted("The userinfo of \(title) is about another user.", check: 14, "sub of userinfo differs")
        }
        return claims
    }
}
