package import Domain
package import Encodings

/// A provider whose tokens can be kept with identities and checked in background work.
package protocol TokenChecking: Provider {
    /// The operator's policy for kept tokens; nil when tokens are not kept.
    var tokenPolicy: TokenPolicy? { get }

    /// Returns how fast background requests of an app may be sent; `none` while the circuit breaker refuses logins.
    func backgroundPace(of app: ProviderAppID) -> BackgroundPace

    /// Checks whether a kept token is valid, in background work.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - identity: The identity that the token was kept for.
    ///   - fields: The fields of the profile to read if the token is valid; nil for none.
    ///   - deadline: The moment at which the check must be done.
    /// - Returns: The verdict.
    func verdict(
        on token: Secret,
        of identity: IdentityKey,
        fields: String?,
        deadline: ContinuousClock.Instant
    ) async -> TokenVerdict

    /// Checks whether a kept token is valid, and reads the profile, for a waiting client: with the requests of a login.
    func reading(
        by token: Secret,
        of identity: IdentityKey,
        fields: String,
        deadline: ContinuousClock.Instant
    ) async -> TokenVerdict

    /// Exchanges a token for a long-lived token of the same user.
    ///
    /// - Returns: The new token, which is not verified yet; nil when there is none, and then the first token stays
    ///   valid.
    func exchangeForLongLived(
        _ token: Secret,
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
    /// Hours after which the profile is fetched again, by the stored mapping; nil for never.
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

/// The meaning of a provider's responses about a kept token for its identity.
package enum TokenVerdict: Sendable {
    /// The token is valid.
    case stands(TokenFacts, ProfileReading)
    /// The provider has revoked the token, or no longer knows it: the identity is revoked.
    case revoked(Failure)
    /// The token has expired, or is worthless without the user's doing; the identity stays as it is.
    case worthless(Failure)
    /// The state of the token is unknown; a retry makes sense.
    case unknown(Failure)
}

/// The properties of a valid token.
package struct TokenFacts: Sendable {
    /// The permissions that the token carries.
    package let scopes: [String]
    /// Unix seconds; nil when never or unknown.
    package let dataAccessExpiresAt: Int64?
    /// Unix seconds; nil when never or unknown.
    package let expiresAt: Int64?

    package init(scopes: [String], dataAccessExpiresAt: Int64?, expiresAt: Int64?) {
        self.scopes = scopes
        self.dataAccessExpiresAt = dataAccessExpiresAt
        self.expiresAt = expiresAt
    }
}

/// The outcome of reading a profile with a valid token.
package enum ProfileReading: Sendable {
    case notAsked
    case profile(JSONObject)
    case failed(Failure)
}
