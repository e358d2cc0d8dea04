package import Domain
package import Encodings

/// A provider at which the service can revoke a user's permissions.
package protocol PermissionRevoking: Provider {
    /// Revokes all permissions that a user granted to an app. The effect is the same as if the user removed the app.
    ///
    /// - Parameters:
    ///   - token: A token of the user for that app.
    ///   - identity: The identity. It names the user's subject and the app.
    ///   - deadline: The moment at which the revocation must be done.
    /// - Returns: The outcome.
    func revokePermissions(
        by token: ProviderToken,
        of identity: IdentityKey,
        deadline: ContinuousClock.Instant
    ) async -> PermissionRemoval
}

/// The outcome of revoking the permissions that a user granted to an app.
package enum PermissionRemoval: Sendable {
    /// The provider has revoked the permissions, as requested.
    case removed
    /// The token is no longer valid, so the service cannot revoke anything with it.
    ///
    /// The permissions may have ended together with the token. If not, only the user can revoke them.
    case tokenIsDead(Failure)
    /// The provider could not be asked, or its response does not show the outcome.
    case failed(Failure)
}

/// A provider that sends a callback when a user has removed the app, or requests data deletion.
package protocol RemovalReporting: EventReporting {
    /// The days from a user's request for deletion to the erasure. With 0, the erasure is immediate.
    var eraseAfterDays: Int64 { get }

    /// Verifies that a callback comes from the provider, and reads what it reports about one user.
    ///
    /// - Throws: `malformed_request` if the provider did not send the callback.
    func removal(in form: FormFields) throws(Failure) -> ReportedRemoval

    /// Returns the response to a callback that requests data deletion.
    ///
    /// - Parameters:
    ///   - code: The confirmation code of the request.
    ///   - statusURL: The page that shows the progress of the deletion to the user.
    /// - Returns: The response in the provider's form.
    func receipt(code: String, statusURL: String) -> JSONObject

    /// Returns the response to the query by which the provider verifies the webhook's address.
    ///
    /// - Throws: `callback_refused`, `malformed_request`.
    func confirmWebhook(_ question: FormFields) throws(Failure) -> String

    /// Whether the provider has the settings that a webhook needs, such as the token for the verification of its
    /// address.
    var hasWebhook: Bool { get }
}

/// A callback that reports the removal of an app or requests data deletion.
package struct ReportedRemoval: Sendable {
    package let identity: IdentityKey
    /// The time, in Unix seconds, at which the provider issued the callback.
    package let issuedAt: Int64
    /// The SHA-256 of the callback's content.
    ///
    /// A repeated callback has the same hash.
    package let hash: [UInt8]

    package init(identity: IdentityKey, issuedAt: Int64, hash: [UInt8]) {
        self.identity = identity
        self.issuedAt = issuedAt
        self.hash = hash
    }
}
