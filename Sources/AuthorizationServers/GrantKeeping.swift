package import Domain
package import Encodings
package import Providers

/// A provider at an authorization server, whose tokens the service can keep, check and revoke.
package protocol GrantKeeping: TokenChecking, PermissionRevoking {
    var server: AuthorizationServer { get }

    func credentials(of client: ProviderAppID, until deadline: ContinuousClock.Instant) async throws(Failure)
        -> ClientCredentials
    func tokenEndpoint(until deadline: ContinuousClock.Instant) async throws(Failure) -> TokenEndpoint
    /// Returns how the server revokes tokens; nil if it does not.
    func revocation(until deadline: ContinuousClock.Instant) async throws(Failure) -> TokenRevocation?
    /// Checks a kept access token, and returns its scopes; nil if the server does not list them.
    func scopes(
        of token: Secret,
        issuedFor client: ClientCredentials,
        identity: IdentityKey,
        until deadline: ContinuousClock.Instant
    ) async throws(Failure) -> [String]?
    /// Checks the tokens that a refresh token of an identity has brought.
    ///
    /// - Throws: `credential_invalid` if they are of another user.
    func check(
        _ tokens: TokenResponse,
        of client: ProviderAppID,
        identity: IdentityKey,
        until deadline: ContinuousClock.Instant
    ) async throws(Failure)
    /// Fetches the profile of an identity.
    func profile(
        by token: Secret,
        for client: ProviderAppID,
        of identity: IdentityKey,
        until deadline: ContinuousClock.Instant
    ) async throws(Failure) -> JSONObject
}

extension GrantKeeping {
    /// The default for providers that keep refresh tokens alone: nil.
    package func scopes(
        of token: Secret,
        issuedFor client: ClientCredentials,
        identity: IdentityKey,
        until deadline: ContinuousClock.Instant
    ) async throws(Failure) -> [String]? { nil }

    /// The default for providers whose tokens name no user: nothing is checked before the profile is read.
    package func check(
        _ tokens: TokenResponse,
        of client: ProviderAppID,
        identity: IdentityKey,
        until deadline: ContinuousClock.Instant
    ) async throws(Failure) {}

    /// A check may find out whether a server that did not respond works again, but does not hurry.
    package func backgroundPace(of app: ProviderAppID) -> BackgroundPace { server.isReachable ? .full : .slow }

    package func verdict(
        on token: ProviderToken,
        of identity: IdentityKey,
        fields: String?,
        deadline: ContinuousClock.Instant,
        replace: (Secret) async throws(Failure) -> Void
    ) async -> TokenVerdict {
        do throws(Failure) {
            let grant = try KeptGrant(token)
            let client = try await credentials(of: grant.client, until: deadline)
            let isRefreshed = grant.token.kind == .refresh
            return isRefreshed
                ? try await verdict(onRefresh: grant, client, identity, fields, deadline, replace)
                : try await verdict(onAccess: grant, client, identity, fields, deadline)
        } catch {
            return .unknown(error)
        }
    }

    private func verdict(
        onRefresh grant: KeptGrant,
        _ client: ClientCredentials,
        _ identity: IdentityKey,
        _ fields: String?,
        _ deadline: ContinuousClock.Instant,
        _ replace: (Secret) async throws(Failure) -> Void
    ) async throws(Failure) -> TokenVerdict {
        let endpoint = try await tokenEndpoint(until: deadline)
        guard let tokens = try await endpoint.refresh(grant.token.text, as: client, until: deadline) else {
            return .invalid(ended)
        }
        if let refreshToken = tokens.refreshToken { try await replace(grant.replaced(by: refreshToken)) }
        let facts = TokenFacts(scopes: tokens.scopes, dataAccessExpiresAt: nil, expiresAt: nil)
        do throws(Failure) {
            try await check(tokens, of: grant.client, identity: identity, until: deadline)
        } catch {
            switch error.reason {
            case .credentialInvalid, .credentialExpired: return .invalid(error)
            default: return .stands(facts, .failed(error))
            }
        }
        guard fields != nil, let accessToken = tokens.accessToken else { return .stands(facts, .notAsked) }
        return .stands(facts, await reading(by: accessToken, client.id, identity, deadline))
    }

    private func verdict(
        onAccess grant: KeptGrant,
        _ client: ClientCredentials,
        _ identity: IdentityKey,
        _ fields: String?,
        _ deadline: ContinuousClock.Instant
    ) async throws(Failure) -> TokenVerdict {
        let token = grant.token.text
        let scopes: [String]?
        do throws(Failure) {
            scopes = try await self.scopes(of: token, issuedFor: client, identity: identity, until: deadline)
        } catch {
            switch error.reason {
            case .credentialInvalid, .credentialExpired, .credentialRevoked: return .invalid(ended)
            default: throw error
            }
        }
        let facts = TokenFacts(scopes: scopes, dataAccessExpiresAt: nil, expiresAt: grant.token.expiresAt)
        return .stands(facts, fields == nil ? .notAsked : await reading(by: token, client.id, identity, deadline))
    }

    private func reading(
        by token: Secret,
        _ client: ProviderAppID,
        _ identity: IdentityKey,
        _ deadline: ContinuousClock.Instant
    ) async -> ProfileReading {
        do throws(Failure) {
            return .profile(try await profile(by: token, for: client, of: identity, until: deadline))
        } catch {
            return .failed(error)
        }
    }

    private var ended: Failure {
        Failure(
            .credentialExpired,
            "The kept token of \(title) is no longer valid. Log in with \(title) again.",
            cause: "\(server.service.api): the kept token is no longer valid"
        )
    }

    package func reading(
        by token: ProviderToken,
        of identity: IdentityKey,
        fields: String,
        deadline: ContinuousClock.Instant,
        replace: (Secret) async throws(Failure) -> Void
    ) async -> TokenVerdict {
        await verdict(on: token, of: identity, fields: fields, deadline: deadline, replace: replace)
    }

    /// Returns nil: an authorization server has no other token for a token.
    package func exchangeForLongLived(
        _ token: ProviderToken,
        of identity: IdentityKey,
        deadline: ContinuousClock.Instant
    ) async -> Secret? { nil }

    package func revokePermissions(
        by token: ProviderToken,
        of identity: IdentityKey,
        deadline: ContinuousClock.Instant
    ) async -> PermissionRemoval {
        do throws(Failure) {
            var grant = try KeptGrant(token)
            guard let revocation = try await revocation(until: deadline) else {
                return .failed(
                    Failure(.notOffered, "\(title) revokes no tokens.", cause: "there is no address for revocations")
                )
            }
            let client = try await credentials(of: grant.client, until: deadline)
            if revocation.form == .json, grant.token.kind == .refresh {
                // Such a server revokes by an access token alone.
                let endpoint = try await tokenEndpoint(until: deadline)
                let tokens = try await endpoint.refresh(grant.token.text, as: client, until: deadline)
                guard let accessToken = tokens?.accessToken else { return .tokenIsDead(ended) }
                grant = KeptGrant(ProviderToken(kind: .access, text: accessToken, expiresAt: nil), of: grant.client)
            }
            return await server.revoke(grant.token, by: revocation, as: client, until: deadline)
        } catch {
            return .failed(error)
        }
    }
}
