package import Vocabulary

/// What Graph's `debug_token` says of an access token, as far as it was asked with our own app token (docs/protocols/facebook.md §1.2).
package struct TokenInspection: Sendable {
    /// `is_valid`.
    package var isValid: Bool
    /// `type`: `USER`, `APP`, `PAGE`, …; nil when the token could not be decoded.
    package var type: String?
    /// `app_id` as decimal text, whether it came as text or as number.
    package var appID: String?
    /// `user_id` as decimal text.
    package var userID: String?
    /// Unix seconds; 0 means never, nil when absent.
    package var expiresAt: Int64?
    /// Unix seconds; 0 means never, nil when absent.
    package var dataAccessExpiresAt: Int64?
    /// The permissions that the token carries.
    package var scopes: [String]
    /// Why `isValid` is false, already in our words.
    package var refusal: Failure?

    package init(
        isValid: Bool,
        type: String? = nil,
        appID: String? = nil,
        userID: String? = nil,
        expiresAt: Int64? = nil,
        dataAccessExpiresAt: Int64? = nil,
        scopes: [String] = [],
        refusal: Failure? = nil
    ) {
        self.isValid = isValid
        self.type = type
        self.appID = appID
        self.userID = userID
        self.expiresAt = expiresAt
        self.dataAccessExpiresAt = dataAccessExpiresAt
        self.scopes = scopes
        self.refusal = refusal
    }
}

/// The two replies that must agree before an access token counts (decision D2).
package struct AccessTokenEvidence: Sendable {
    /// What `debug_token` gave.
    package indirect enum Inspection: Sendable {
        case token(TokenInspection)
        /// Graph said that the token was made for another app than the one asked as.
        case otherApp
        case failed(Failure)
    }

    /// What `/me` gave: the Graph user, or why there is none.
    package indirect enum Profile: Sendable {
        case user(JSONObject)
        case failed(Failure)
    }

    package let inspection: Inspection
    package let profile: Profile

    package init(inspection: Inspection, profile: Profile) {
        self.inspection = inspection
        self.profile = profile
    }
}
