package import Vocabulary

/// A provider at which our permissions to a person's data can be revoked.
package protocol PermissionRevoking: Provider {
    /// Revokes all permissions that a person gave an app, as if the person had removed the app.
    ///
    /// - Parameters:
    ///   - token: A token of the person for that app.
    ///   - identity: The person, and the app.
    ///   - deadline: When the answer is worth nothing any more.
    /// - Returns: What became of it.
    func revokePermissions(
        by token: ProviderToken,
        of identity: IdentityKey,
        deadline: ContinuousClock.Instant
    ) async -> PermissionRemoval
}

/// What became of revoking an app's permissions to a person's data.
package enum PermissionRemoval: Sendable {
    /// The provider has taken them back.
    case removed
    /// The token is worth nothing any more: whoever withdrew it has done the rest, or nobody can do it in the person's
    /// name.
    case tokenIsDead(Failure)
    /// The provider could not be asked, or gave no answer that tells.
    case failed(Failure)
}

/// A provider that calls us when a person has removed an app, wants to be forgotten, or changes permissions.
///
/// What it demands outlasts logins: a provider that is switched off is called, too.
package protocol RemovalReporting: Provider {
    /// Whether the sessions that rest on an identity end when the provider says that it is revoked.
    var endsSessionsWhenRevoked: Bool { get }
    /// Days between a person's request for deletion and the erasure; 0 erases at once.
    var eraseAfterDays: Int64 { get }

    /// Reads the form of a call about one person, once it is known to be the provider's.
    ///
    /// - Throws: `malformed_request` when it is not.
    func removal(in form: FormFields) throws(Failure) -> ReportedRemoval

    /// The answer to a call that wants a person's data deleted.
    ///
    /// - Parameters:
    ///   - code: What the request is known by.
    ///   - statusURL: Where the person sees how far it is.
    /// - Returns: What the provider wants to read.
    func receipt(code: String, statusURL: String) -> JSONObject

    /// Reads the body of a webhook, once it is known to be the provider's.
    ///
    /// - Parameters:
    ///   - body: The bytes as received.
    ///   - header: The value of the header field of that name, in any case; nil when there is none.
    /// - Returns: The changes in the order of the report.
    /// - Throws: `malformed_request` when it is not.
    func changes(in body: [UInt8], header: (_ name: String) -> String?) throws(Failure) -> [ReportedChange]

    /// Answers the provider's question, which is a query, whether the webhook's address is ours.
    ///
    /// - Throws: `callback_refused`, `malformed_request`.
    func confirmWebhook(_ question: FormFields) throws(Failure) -> String

    /// Bytes of the largest body of a webhook.
    var webhookLimit: Int { get }
    /// Whether the question about the webhook's address can be answered.
    var hasWebhook: Bool { get }
}

/// A person has removed an app, or wants to be forgotten.
package struct ReportedRemoval: Sendable {
    package let identity: IdentityKey
    /// Unix seconds at which the provider said so.
    package let issuedAt: Int64
    /// SHA-256 of what was said: the same for the same call.
    package let hash: [UInt8]

    package init(identity: IdentityKey, issuedAt: Int64, hash: [UInt8]) {
        self.identity = identity
        self.issuedAt = issuedAt
        self.hash = hash
    }
}

/// What a webhook says of one person.
package struct ReportedChange: Sendable {
    package let identity: IdentityKey
    /// Unix seconds.
    package let time: Int64
    /// Whether the person has removed the app.
    package let isRemoval: Bool
    /// Permissions that were granted or revoked, in the order of the report.
    package let permissions: [(name: String, isGranted: Bool)]

    package init(identity: IdentityKey, time: Int64, isRemoval: Bool, permissions: [(name: String, isGranted: Bool)]) {
        self.identity = identity
        self.time = time
        self.isRemoval = isRemoval
        self.permissions = permissions
    }
}
