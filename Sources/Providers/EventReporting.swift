package import Domain

/// A provider that sends webhooks about users: that a user has removed the app, has logged out, or has changed
/// permissions.
///
/// The service also processes the webhooks of a disabled provider: an access must end even if nobody can log in by the
/// provider any more.
package protocol EventReporting: Provider {
    /// Whether the sessions of an identity end if the provider says that the identity is revoked.
    var endsSessionsWhenRevoked: Bool { get }
    /// The maximum size of a webhook's body in bytes.
    var webhookLimit: Int { get }

    /// Verifies that the provider sent a webhook, and reads the webhook's body.
    ///
    /// - Parameters:
    ///   - body: The bytes as received.
    ///   - header: Returns the value of a header, whose name may be in any case; nil if the header is absent.
    ///   - deadline: The moment at which requests to the provider must be done.
    /// - Returns: The changes in the order of the body.
    /// - Throws: `malformed_request` when the provider did not send it; `provider_unavailable` and similar errors if
    ///   the provider's keys cannot be fetched.
    func changes(
        in body: [UInt8],
        header: (_ name: String) -> String?,
        until deadline: ContinuousClock.Instant
    ) async throws(Failure) -> [ReportedChange]
}

/// What a webhook reports about one user.
package struct ReportedChange: Sendable {
    /// The user's identity; nil if a logout names only the user's session at the provider.
    package let identity: IdentityKey?
    /// The time of the changes that the provider reports, in Unix seconds.
    package let time: Int64
    package let kind: Kind

    package enum Kind: Sendable {
        /// The user has removed the app at the provider, or the account no longer exists.
        case removal
        /// The user has logged out at the provider, or the provider has ended the user's sessions for safety.
        ///
        /// With the hash of a session at the provider (``VerifiedIdentity/providerSession``), only that session has
        /// ended.
        case logout(session: [UInt8]?)
        /// The permissions that the user granted or revoked, in the order of the body.
        case permissions([(name: String, isGranted: Bool)])
    }

    package init(identity: IdentityKey?, time: Int64, _ kind: Kind) {
        (self.identity, self.time, self.kind) = (identity, time, kind)
    }
}
