package import Domain
package import Encodings

/// A provider whose tokens the service can keep with identities and check in the background.
package protocol TokenChecking: Provider {
    /// The operator's policy for kept tokens; nil if no tokens are kept.
    var tokenPolicy: TokenPolicy? { get }

    /// Returns the speed at which background work may send requests for an app.
    ///
    /// It is `none` while the circuit breaker refuses logins.
    func backgroundPace(of app: ProviderAppID) -> BackgroundPace

    /// Checks in the background whether a kept token is valid.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - identity: The identity that the token was kept for.
    ///   - fields: The fields of the profile to read if the token is valid; nil to read no profile.
    ///   - deadline: The moment at which the check must be done.
    ///   - replace: Stores a token that the provider has issued in place of the kept one. The method calls `replace` as
    ///     soon as it has the new token: the provider may refuse the former one from now on.
    /// - Returns: The verdict.
    func verdict(
        on token: ProviderToken,
        of identity: IdentityKey,
        fields: String?,
        deadline: ContinuousClock.Instant,
        replace: (Secret) async throws(Failure) -> Void
    ) async -> TokenVerdict

    /// Checks whether a kept token is valid, and reads the profile.
    ///
    /// Retries and the circuit breaker work as at a login, since a client waits for the result.
    func reading(
        by token: ProviderToken,
        of identity: IdentityKey,
        fields: String,
        deadline: ContinuousClock.Instant,
        replace: (Secret) async throws(Failure) -> Void
    ) async -> TokenVerdict

    /// Exchanges a token for a long-lived token of the same user.
    ///
    /// - Returns: The new token, which is not verified yet. Nil if there is none: then the first token remains valid.
    func exchangeForLongLived(
        _ token: ProviderToken,
        of identity: IdentityKey,
        deadline: ContinuousClock.Instant
    ) async -> Secret?
}

/// The operator's policy for kept tokens.
package struct TokenPolicy: Sendable, Equatable {
    /// Whether a token is exchanged for a long-lived one.
    package var isExchanged: Bool
    /// Whether a client may retrieve the kept token of its user.
    package var isReturned: Bool
    /// The hours after which the service reads the profile again with the kept token, and maps it again; nil for never.
    package var refreshHours: Int64?

    package init(isExchanged: Bool = false, isReturned: Bool = false, refreshHours: Int64? = nil) {
        self.isExchanged = isExchanged
        self.isReturned = isReturned
        self.refreshHours = refreshHours
    }
}

/// The speed at which background work may send requests to a provider.
package enum BackgroundPace: Sendable, Equatable {
    case full
    case slow
    case none
}

/// What the provider's responses about a kept token show about the token and the user's identity.
package enum TokenVerdict: Sendable {
    /// The token is valid.
    case stands(TokenFacts, ProfileReading)
    /// The provider has revoked the token, or no longer knows it.
    ///
    /// Therefore, the service marks the identity as revoked.
    case revoked(Failure)
    /// The token has expired, or has become invalid although the user revoked nothing.
    ///
    /// The identity stays valid.
    case invalid(Failure)
    /// The provider did not show the state of the token. A later retry may show it.
    case unknown(Failure)
}

/// What the provider reports about a valid token.
package struct TokenFacts: Sendable {
    /// The permissions that the token has; nil if the provider does not list them.
    package let scopes: [String]?
    /// The time, in Unix seconds, at which access to the user's data expires; nil for never, or if unknown.
    package let dataAccessExpiresAt: Int64?
    /// The time, in Unix seconds, at which the token expires; nil for never, or if unknown.
    package let expiresAt: Int64?

    package init(scopes: [String]?, dataAccessExpiresAt: Int64?, expiresAt: Int64?) {
        self.scopes = scopes
        self.dataAccessExpiresAt = dataAccessExpiresAt
        self.expiresAt = expiresAt
    }
}

/// The result of reading a user's profile with a valid token.
package enum ProfileReading: Sendable {
    case notAsked
    case profile(JSONObject)
    case failed(Failure)
}
