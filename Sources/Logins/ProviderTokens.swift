package import Applications
package import Domain
package import Limiting
import Providers
package import Secrets
package import Store

/// A kept provider token that a client gets: the token of the identity that opened the client's session.
package struct GivenToken: Sendable {
    package let provider: ProviderName
    package let appID: ProviderAppID
    package let token: ProviderToken
}

/// Gives users the provider tokens that the service keeps for them, and refreshes profiles with these tokens.
package struct ProviderTokens: Sendable {
    let store: Store
    let directory: ApplicationDirectory
    let sessions: Sessions
    let masterKeys: MasterKeys
    let check: TokenCheck
    let admission: Admission
    let limits: Limits
    let clock: WallClock

    package init(
        store: Store,
        directory: ApplicationDirectory,
        sessions: Sessions,
        masterKeys: MasterKeys,
        check: TokenCheck,
        admission: Admission,
        limits: Limits,
        clock: WallClock
    ) {
        self.store = store
        self.directory = directory
        self.sessions = sessions
        self.masterKeys = masterKeys
        self.check = check
        self.admission = admission
        self.limits = limits
        self.clock = clock
    }

    /// Returns the provider token that the service keeps for the identity that opened the session.
    ///
    /// - Throws: `session_invalid` or `account_disabled` if the session cannot be used; `not_found` if the application
    ///   returns no tokens to clients, or if the service keeps none for the identity; `credential_revoked` and
    ///   `credential_expired` if the token is no longer usable.
    package func keptToken(
        ofSession token: SessionKey?,
        at provider: ProviderName,
        in loaded: LoadedApplication
    ) async throws(Failure) -> GivenToken {
        try loaded.requireKeeping(of: provider)
        let identity = try await sessionIdentity(of: token, at: provider, in: loaded)
        guard loaded.tokenPolicy(of: provider)?.isReturned == true else {
            throw Failure(
                .notFound,
                """
                This application does not return provider tokens. The operator can turn it on with keepTokens and \
                returnTokens.
                """
            )
        }
        guard let kept = identity.kept else { throw Self.noKeptToken }
        if let end = kept.token.expiresAt, end <= clock.seconds {
            throw Failure(
                .credentialExpired,
                "The stored token has expired. Log in with \(loaded.title(of: provider)) again."
            )
        }
        return GivenToken(
            provider: kept.key.provider,
            appID: kept.app,
            token: try masterKeys.open(kept, of: loaded.application.id)
        )
    }

    /// Fetches the profile of the session's identity again, and writes it to the user's properties by the stored
    /// mapping.
    ///
    /// The limits and the requests to the provider are the same as at a login.
    ///
    /// - Throws: The errors of a login with the kept token; `not_found` if no access token is kept.
    package func refreshProfile(
        ofSession token: SessionKey?,
        at provider: ProviderName,
        in loaded: LoadedApplication
    ) async throws(Failure) -> RefreshedUser {
        try loaded.requireKeeping(of: provider)
        let end = ContinuousClock.now + limits.login
        return try await admission.admit(loaded.application.id) { () throws(Failure) in
            var last: TokenCheck.Reading?
            return try await directory.withCurrent(loaded, until: end) { (loaded) throws(Failure) in
                let reading: TokenCheck.Reading
                if let last, try last.isAnswer(for: loaded) {
                    reading = last
                } else {
                    reading = try await check.read(of: loaded, deadline: end - limits.storeReserve) {
                        () throws(Failure) in
                        let identity = try await sessionIdentity(of: token, at: provider, in: loaded)
                        guard let kept = identity.kept, kept.token.kind != .id else { throw Self.noKeptToken }
                        return kept
                    }
                    last = reading
                }
                switch try await check.write(reading, in: loaded) {
                case .outdated(let failure): return .outdated(failure)
                case .done(let refreshed?): return .done(refreshed)
                case .done(nil):
                    // A login has just fetched the profile. The response to that login names the missing permissions.
                    let user = try await sessions.user(of: token, in: loaded)
                    return .done(RefreshedUser(user: user, missingPermissions: []))
                }
            }
        }
    }

    /// Returns the identity by which a live session of an enabled user was opened.
    private func sessionIdentity(
        of token: SessionKey?,
        at provider: ProviderName,
        in loaded: LoadedApplication
    ) async throws(Failure) -> SessionIdentity {
        _ = try await sessions.user(of: token, in: loaded)
        guard let token, let identity = try await store.identity(ofSession: token.hash, of: loaded.application),
            identity.key.provider == provider
        else {
            throw Self.noKeptToken
        }
        guard !identity.isRevoked else {
            throw Failure(
                .credentialRevoked,
                "\(loaded.title(of: provider)) has revoked the access to this user's account. Log in with it again."
            )
        }
        return identity
    }

    private static let noKeptToken = Failure(
        .notFound,
        "No provider token is stored for the identity of this session. Log in with the provider again."
    )
}

extension LoadedApplication {
    /// Checks that the service can keep tokens of the provider.
    ///
    /// - Throws: `not_found` if the provider is unknown, or if tokens of this kind of provider are never kept.
    fileprivate func requireKeeping(of provider: ProviderName) throws(Failure) {
        guard let configured = configured(provider) else {
            // If the session has a kept token, its use reports defects and missing settings.
            _ = try fields(of: provider)
            return
        }
        guard configured is any TokenChecking else { throw Self.missingCapability(configured.title) }
    }
}
