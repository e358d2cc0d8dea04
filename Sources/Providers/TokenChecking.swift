package import Vocabulary

/// A provider whose token of a login can be kept with the identity, and asked about while nobody waits.
package protocol TokenChecking: Provider {
    /// What the operator decided about kept tokens; nil when none are kept.
    var tokenPolicy: TokenPolicy? { get }

    /// How fast work in the background may ask as an app now: not at all while logins may not ask either.
    func backgroundPace(of app: ProviderAppID) -> BackgroundPace

    /// Asks whether a kept token stands, while nobody waits.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - identity: Whose token it was when it was kept.
    ///   - fields: What of the profile is to be read if it stands; nil for nothing.
    ///   - deadline: When the answer is worth nothing any more.
    /// - Returns: What the answers mean.
    func verdict(
        on token: Secret,
        of identity: IdentityKey,
        fields: String?,
        deadline: ContinuousClock.Instant
    ) async -> TokenVerdict

    /// Asks whether a kept token stands, and for the profile, while somebody waits: by the questions of a login.
    func reading(
        by token: Secret,
        of identity: IdentityKey,
        fields: String,
        deadline: ContinuousClock.Instant
    ) async -> TokenVerdict

    /// Exchanges a token for one of the same person that lives longer.
    ///
    /// - Returns: The other token, which is not verified yet; nil when there is none, and the first is as good as
    ///   before.
    func exchangeForLongLived(
        _ token: Secret,
        of identity: IdentityKey,
        deadline: ContinuousClock.Instant
    ) async -> Secret?
}

/// What an operator decided about the tokens that are kept.
package struct TokenPolicy: Sendable, Equatable {
    /// Whether a token is exchanged for one that lives longer.
    package var isExchanged: Bool
    /// Whether a client may have the kept token of its user back.
    package var isReturned: Bool
    /// Hours after which the profile is read again by the stored mapping; nil for never.
    package var refreshHours: Int64?

    package init(isExchanged: Bool = false, isReturned: Bool = false, refreshHours: Int64? = nil) {
        self.isExchanged = isExchanged
        self.isReturned = isReturned
        self.refreshHours = refreshHours
    }
}

/// How fast work that nobody waits for may ask a provider.
package enum BackgroundPace: Sendable, Equatable {
    case full
    case slow
    case none
}

/// What a provider's answers about a kept token mean for its identity.
package enum TokenVerdict: Sendable {
    /// The token stands.
    case stands(TokenFacts, ProfileReading)
    /// The provider has withdrawn the token, or does not know it any more: the identity is revoked.
    case revoked(Failure)
    /// The token has come to its end without anybody's doing; the identity stays as it is.
    case worthless(Failure)
    /// Nothing is known; worth asking again.
    case unknown(Failure)
}

/// What a provider says of a token that stands.
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

/// What became of reading a profile by a token that stands.
package enum ProfileReading: Sendable {
    case notAsked
    case profile(JSONObject)
    case failed(Failure)
}
