// Logins — how users log in with a provider, and the sessions that follow.
//
// This module owns logins by a provider's credential and by its dialog, linking, sessions, signed tokens, nonces, the
// reports of logins, and the log of logins. `KeptTokens` owns the provider tokens that an application keeps: their
// encryption and decryption, requests to a provider about them, and the revocation of our permissions.
//
// It must not know passwords, the parts of an account beside its identities, or any provider beyond its capabilities.

package import Applications
package import Domain
package import Encodings
import FoundationEssentials
package import Limiting
package import Logging
package import Mapping
import Store

/// A client's login request, parsed at the edge.
///
/// A class, since a login that waits for the provider would have a copy in the frame of each waiting function.
package final class LoginRequest: Sendable {
    package let provider: ProviderName
    /// The credentials of the request; exactly one is expected.
    package let credential: CredentialFields
    /// The client's own mapping: an object of field → property.
    package let mapping: JSONValue?
    /// The id of the application's app at the provider that the credential is for.
    package let appID: String?
    /// The client's present session; the login ends that session if it belongs to the same user.
    package let previousToken: SessionToken?
    package let client: LoginClient
    package let idempotencyKey: IdempotencyKey?
    /// The guest whom the login makes a user.
    package let guest: GuestClaim?
    /// The invitation that a new user presents.
    package let invitation: InvitationToken?

    package init(
        provider: ProviderName,
        credential: CredentialFields,
        mapping: JSONValue?,
        appID: String?,
        previousToken: SessionToken?,
        client: LoginClient,
        idempotencyKey: IdempotencyKey? = nil,
        guest: GuestClaim? = nil,
        invitation: InvitationToken? = nil
    ) {
        self.provider = provider
        self.credential = credential
        self.mapping = mapping
        self.appID = appID
        self.previousToken = previousToken
        self.client = client
        self.idempotencyKey = idempotencyKey
        self.guest = guest
        self.invitation = invitation
    }
}

/// A guest that a client names; the session shows that the guest is the client's.
package struct GuestClaim: Sendable {
    package let id: ObjectID
    package let token: SessionToken

    package init(id: ObjectID, token: SessionToken) {
        self.id = id
        self.token = token
    }
}

/// A login that succeeded.
package struct SignedIn: Sendable {
    package let user: User
    package let token: SessionToken
    /// Whether this login created the user.
    package let created: Bool
    /// Permissions at the provider that the user did not grant, so that mapped properties stayed unfilled.
    package let missingPermissions: [String]
    /// Parts of the profile that do not fit their properties and were left out.
    package let omissions: [Omission]

    package init(
        user: User,
        token: SessionToken,
        created: Bool,
        missingPermissions: [String] = [],
        omissions: [Omission] = []
    ) {
        self.user = user
        self.token = token
        self.created = created
        self.missingPermissions = missingPermissions
        self.omissions = omissions
    }
}

/// Logins by a provider's credential.
package struct SignIn: Sendable {
    let authenticator: Authenticator
    let writer: SignInWriter
    let ownFactors: OwnFactors
    let admission: Admission
    let log: LoginLog
    let limits: Limits

    package init(
        authenticator: Authenticator,
        writer: SignInWriter,
        ownFactors: OwnFactors,
        admission: Admission,
        log: LoginLog,
        limits: Limits
    ) {
        self.authenticator = authenticator
        self.writer = writer
        self.ownFactors = ownFactors
        self.admission = admission
        self.log = log
        self.limits = limits
    }

    /// Logs a user in: verifies the credential, maps the profile, and writes identity, user and session.
    ///
    /// Logs the outcome in one line.
    package func signIn(
        _ request: LoginRequest,
        to loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> SignedIn {
        let started = ContinuousClock.now
        return try await log.telling(of: .credential(request.credential), by: request.provider, in: loaded, logger) {
            () throws(Failure) in
            let (signedIn, enrolled) = try await admission.admit(loaded.application.id) { () throws(Failure) in
                let end = started + limits.login
                let attempt = LoginAttempt(request: request, loaded: loaded, end: end, limits: limits)
                return try await authenticator.withAuthentication(of: attempt) {
                    (login, plan, attempt) throws(Failure) in
                    let enrolled = login.factor?.enrolled?.kind
                    return try await writer.complete(login, by: plan, in: attempt).map { ($0, enrolled) }
                }
            }
            if let enrolled { await ownFactors.tellOfFirst(enrolled, signedIn.user, in: loaded, logger: logger) }
            return signedIn
        }
    }
}
