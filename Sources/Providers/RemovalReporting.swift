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

/// A provider that sends a callback when a user has removed the app, requests data deletion, or has changed
/// permissions.
///
/// The service also processes the callbacks of a disabled provider: it must delete data on request even if nobody can
/// log in by the provider any more.
package protocol RemovalReporting: Provider {
    /// Whether the sessions of an identity end if the provider says that the identity is revoked.
    var endsSessionsWhenRevoked: Bool { get }
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

    /// Verifies that the provider sent a webhook, and reads the webhook's body.
    ///
    /// - Parameters:
    ///   - body: The bytes as received.
    ///   - header: Returns the value of a header, whose name may be in any case; nil if the header is absent.
    /// - Returns: The changes in the order of the body.
    /// - Throws: `malformed_request` when the provider did not send it.
    func changes(in body: [UInt8], header: (_ name: String) -> String?) throws(Failure) -> [ReportedChange]

    /// Returns the response to the query by which the provider verifies the webhook's address.
    ///
    /// - Throws: `callback_refused`, `malformed_request`.
    func confirmWebhook(_ question: FormFields) throws(Failure) -> String

    /// The maximum size of a webhook's body in bytes.
    var webhookLimit: Int { get }
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

/// The changes that a webhook reports about one user.
package struct ReportedChange: Sendable {
    package let identity: IdentityKey
    /// The time of the changes that the provider reports, in Unix seconds.
    package let time: Int64
    /// Whether the user has removed the app at the provider.
    package let isRemoval: Bool
    /// The permissions that the user granted or revoked, in the order of the body.
    package let permissions: [(name: String, isGranted: Bool)]

    package init(identity: IdentityKey, time: Int64, isRemoval: Bool, permissions: [(name: String, isGranted: Bool)]) {
        self.identity = identity
        self.time = time
        self.isRemoval = isRemoval
        self.permissions = permissions
    }
}
