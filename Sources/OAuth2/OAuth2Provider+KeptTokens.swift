package import AuthorizationServers
package import Domain
package import Encodings
package import Providers

// What the service does with kept tokens.

extension OAuth2Provider: GrantKeeping, AppChecking, DialogChecking {
    package var tokenPolicy: TokenPolicy? {
        settings.options.keepTokens ? TokenPolicy(refreshHours: settings.options.refreshHours) : nil
    }

    package func credentials(
        of client: ProviderAppID,
        until deadline: ContinuousClock.Instant
    ) async throws(Failure) -> ClientCredentials { credentials(of: try app(named: client.text)) }

    package func tokenEndpoint(until deadline: ContinuousClock.Instant) async throws(Failure) -> TokenEndpoint {
        let url = try ServerAddress.url(settings.tokenURL, of: server.service)
        return TokenEndpoint(of: server, at: url, errors: settings.preset.errorNames)
    }

    package func revocation(
        until deadline: ContinuousClock.Instant
    ) async throws(Failure) -> TokenRevocation? { settings.revocation }

    package func scopes(
        of token: Secret,
        issuedFor client: ClientCredentials,
        identity: IdentityKey,
        until deadline: ContinuousClock.Instant
    ) async throws(Failure) -> [String]? {
        guard settings.tokenCheck != nil else {
            _ = try await profile(by: token, for: client.id, subject: identity.subject.text, until: deadline)
            return nil
        }
        return try await checked(token, as: client, issuedFor: [client.id], until: deadline).scopes
    }

    package func profile(
        by token: Secret,
        for client: ProviderAppID,
        of identity: IdentityKey,
        until deadline: ContinuousClock.Instant
    ) async throws(Failure) -> JSONObject {
        try await profile(by: token, for: client, subject: identity.subject.text, until: deadline)
    }
}
