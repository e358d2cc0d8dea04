// Logins — how people come in by a provider, and what keeps them in.
//
// It owns logins by a provider's credential and by its dialog, linking, sessions, signed tokens, nonces, what owners
// may have of the tokens that are kept, what is told of every login, and how that is written down.
//
// It must not know of passwords, of what an account is beside its identities, or of any provider beyond its
// capabilities.

package import Applications
import FoundationEssentials
package import Limiting
package import Logging
package import Mapping
import Store
package import Vocabulary

/// What a client sends to log in, parsed at the edge.
///
/// A class, since a login that waits for the provider has it in the frame of each function that waits.
package final class LoginRequest: Sendable {
    package let provider: ProviderName
    /// What the request holds by way of credentials; exactly one is wanted.
    package let credential: CredentialFields
    /// The client's own mapping: an object of field → property.
    package let mapping: JSONValue?
    /// Which of the application's apps at the provider the credential is for.
    package let appID: String?
    /// The session that the client already has; it ends when it is the same user's.
    package let previousToken: SessionToken?
    package let client: LoginClient
    package let idempotencyKey: IdempotencyKey?
    /// The guest whom the login makes a user.
    package let guest: GuestClaim?
    /// The invitation that a new person presents.
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

/// A guest as its client names it; the session shows that the guest is the client's.
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
    /// Permissions at the provider whose absence left mapped properties unfilled.
    package let missingPermissions: [String]
    /// What properties did not get of the profile, since it does not fit.
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

/// Logins by the credential of a provider.
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

    /// Logs a person in by a provider's credential: verifies it, maps the profile, writes identity, user and session.
    ///
    /// Says in one log line how it went.
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
