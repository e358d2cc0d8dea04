package import AuthorizationServers
import Curl
package import Domain
package import Encodings
package import Providers
import SignedTokens

// The refresh tokens that the service keeps.

extension OpenIDProvider: GrantKeeping, AppChecking, DialogChecking {
    package var server: AuthorizationServer { party.server }

    package var tokenPolicy: TokenPolicy? {
        settings.options.keepTokens ? TokenPolicy(refreshHours: settings.options.refreshHours) : nil
    }

    package func credentials(
        of client: ProviderAppID,
        until deadline: ContinuousClock.Instant
    ) async throws(Failure) -> ClientCredentials {
        try credentials(of: try app(named: client.text), by: try await party.discovery(until: deadline))
    }

    package func tokenEndpoint(until deadline: ContinuousClock.Instant) async throws(Failure) -> TokenEndpoint {
        try endpoint(by: try await party.discovery(until: deadline))
    }

    package func revocation(
        until deadline: ContinuousClock.Instant
    ) async throws(Failure) -> TokenRevocation? {
        if let revocation = settings.revocation { return revocation }
        return try await party.discovery(until: deadline).revocationEndpoint.map { TokenRevocation(at: $0.address) }
    }

    /// Checks that a new ID token is of the same user (Core 12.2).
    package func check(
        _ tokens: TokenResponse,
        of client: ProviderAppID,
        identity: IdentityKey,
        until deadline: ContinuousClock.Instant
    ) async throws(Failure) {
        guard let idToken = tokens.idToken else { return }
        let question = VerificationRequest(appID: client.text, deadline: deadline) { "" }
        let (token, _) = try await accepted(idToken, nonce: nil, policy: .clientMade, question)
        guard try verified(token).identity == identity else { throw otherUser }
    }

    package func profile(
        by token: Secret,
        for client: ProviderAppID,
        of identity: IdentityKey,
        until deadline: ContinuousClock.Instant
    ) async throws(Failure) -> JSONObject {
        let document = try await party.discovery(until: deadline)
        let subject = settings.subject == .sub ? identity.subject.text : nil
        return try await claims(of: subject, by: token, for: client, document, until: deadline)
    }

    /// Checks the discovery document and the keys, and the secret if the client has one.
    package func check(_ app: ProviderApp, deadline: ContinuousClock.Instant) async -> AppVerdict {
        do throws(Failure) {
            let document = try await party.discovery(until: deadline)
            try await party.checkKeys(until: deadline)
            let client = try credentials(of: app, by: document)
            return client.hasSecret
                ? try await endpoint(by: document).verdict(on: client, until: deadline) : AppVerdict()
        } catch {
            return AppVerdict(error)
        }
    }

    private var otherUser: Failure {
        .untrusted("The kept token is of another user.", check: 14, "the kept token is of another user")
    }
}
