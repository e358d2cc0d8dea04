package import Domain
package import Encodings

/// A provider at which consent can be revoked.
package protocol PermissionRevoking: Provider {
    /// Revokes all permissions that a user granted to an app, as if the user had removed the app.
    ///
    /// - Parameters:
    ///   - token: A token of the user for that app.
    ///   - identity: The identity, with the user's subject and the app.
    ///   - deadline: The moment at which the removal must be done.
    /// - Returns: The outcome.
    func revokePermissions(
        by token: ProviderToken,
        of identity: IdentityKey,
        deadline: ContinuousClock.Instant
    ) async -> PermissionRemoval
}

/// The outcome of revoking an app's permissions.
package enum PermissionRemoval: Sendable {
    /// The provider has revoked the permissions.
    case removed
    /// The token is no longer valid.
    ///
    /// Either its revocation has ended the permissions as well, or nobody can revoke them in the user's name.
    case tokenIsDead(Failure)
    /// The provider could not be asked, or its response does not tell.
    case failed(Failure)
}

/// A provider with callbacks for a removed app, a request for data deletion, or changed permissions.
///
/// These duties continue after logins have ended: callbacks of a disabled provider are served, too.
package protocol RemovalReporting: Provider {
    /// Whether the sessions of an identity end when the provider says that the identity is revoked.
    var endsSessionsWhenRevoked: Bool { get }
    /// Days between a user's request for deletion and the erasure; 0 erases at once.
    var eraseAfterDays: Int64 { get }

    /// Reads the form of a callback about one user, after verifying that the provider sent it.
    ///
    /// - Throws: `malformed_request` when the provider did not send it.
    func removal(in form: FormFields) throws(Failure) -> ReportedRemoval

    /// Returns the response to a callback that requests data deletion.
    ///
    /// - Parameters:
    ///   - code: The confirmation code of the request.
    ///   - statusURL: The page that shows the user the progress of the deletion.
    /// - Returns: The response in the provider's form.
    func receipt(code: String, statusURL: String) -> JSONObject

    /// Reads the body of a webhook, after verifying that the provider sent it.
    ///
    /// - Parameters:
    ///   - body: The bytes as received.
    ///   - header: Returns the value of the header of a name, in any case; nil when it is absent.
    /// - Returns: The changes in the order of the report.
    /// - Throws: `malformed_request` when the provider did not send it.
    func changes(in body: [UInt8], header: (_ name: String) -> String?) throws(Failure) -> [ReportedChange]

    /// Returns the response to the query by which the provider verifies the webhook's address.
    ///
    /// - Throws: `callback_refused`, `malformed_request`.
    func confirmWebhook(_ question: FormFields) throws(Failure) -> String

    /// The largest size of a webhook's body in bytes.
    var webhookLimit: Int { get }
    /// Whether the provider's query about the webhook's address can be answered.
    var hasWebhook: Bool { get }
}

/// A callback that reports a removed app or requests data deletion.
package struct ReportedRemoval: Sendable {
    package let identity: IdentityKey
    /// Unix seconds at which the provider issued the callback.
    package let issuedAt: Int64
    /// SHA-256 of the callback's content: equal for the same callback.
    package let hash: [UInt8]

    package init(identity: IdentityKey, issuedAt: Int64, hash: [UInt8]) {
        self.identity = identity
        self.issuedAt = issuedAt
        self.hash = hash
    }
}

/// The changes of one user in a webhook.
package struct ReportedChange: Sendable {
    package let identity: IdentityKey
    /// Unix seconds.
    package let time: Int64
    /// Whether the user has removed the app.
    package let isRemoval: Bool
    /// Granted and revoked permissions, in the order of the report.
    package let permissions: [(name: String, isGranted: Bool)]

    package init(identity: IdentityKey, time: Int64, isRemoval: Bool, permissions: [(name: String, isGranted: Bool)]) {
        self.identity = identity
        self.time = time
        self.isRemoval = isRemoval
        self.permissions = permissions
    }
}
