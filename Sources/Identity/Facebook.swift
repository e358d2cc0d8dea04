/// What Graph's `debug_token` says of an access token, as far as it was asked with our own app token (facebook.md §1.2).
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

/// A person whom Facebook vouched for: the outcome of a verification.
package struct VerifiedPerson: Sendable {
    /// The app at Facebook within which the subject is unique.
    package let appID: FacebookAppID
    package let subject: Subject
    /// The Graph user as received, or the claims of an ID token under the names of Graph's fields.
    package let profile: JSONObject
    /// The permissions that stand behind the profile.
    package let scopes: [String]
    /// Whether `scopes` is Facebook's own list; the claims of an ID token only give some of them away.
    package let scopesAreListed: Bool
    /// The permissions that the person declined in the dialog of this login; nil when it is not known.
    package var declinedScopes: [String]?
    /// Unix seconds at which access to the person's data ends; nil when never or unknown.
    package let dataAccessExpiresAt: Int64?
    /// Unix seconds at which the credential itself ends; nil when never or unknown.
    package let credentialExpiresAt: Int64?

    package init(
        appID: FacebookAppID,
        subject: Subject,
        profile: JSONObject,
        scopes: [String],
        scopesAreListed: Bool = true,
        declinedScopes: [String]? = nil,
        dataAccessExpiresAt: Int64?,
        credentialExpiresAt: Int64? = nil
    ) {
        self.appID = appID
        self.subject = subject
        self.profile = profile
        self.scopes = scopes
        self.scopesAreListed = scopesAreListed
        self.declinedScopes = declinedScopes
        self.dataAccessExpiresAt = dataAccessExpiresAt
        self.credentialExpiresAt = credentialExpiresAt
    }
}

/// A credential of Facebook's that can be kept.
package struct ProviderToken: Sendable {
    package enum Kind: String, Sendable {
        /// A token for Graph.
        case access
        /// A signed token of Limited Login, good for giving up our permissions and for nothing else.
        case id
    }

    package let kind: Kind
    package let text: Secret
    /// Unix seconds at which it ends; nil when never or unknown.
    package let expiresAt: Int64?

    package init(kind: Kind, text: Secret, expiresAt: Int64?) {
        self.kind = kind
        self.text = text
        self.expiresAt = expiresAt
    }
}
