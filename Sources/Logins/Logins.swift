// Logins — how users log in with a provider, and the sessions that follow.
//
// This module owns logins by a provider's credential and by its dialog, linking, sessions, signed tokens, nonces, the
// reports of logins, and the log of logins. `KeptTokens` owns the provider tokens that an application keeps: it
// encrypts and decrypts them, sends requests about them to the provider, and revokes our permissions.
//
// The module must not know passwords, the parts of an account other than its identities, or anything about a provider
// except its capabilities.

package import Applications
package import Domain
package import Encodings
import FoundationEssentials
package import Limiting
package import Logging
package import Mapping
package import Store

/// A client's login request, already parsed.
///
/// A class, since a struct would be copied into the frame of each async function that waits for a provider.
package final class LoginRequest: Sendable {
    package let provider: ProviderName
    /// The members of the request that may hold a credential.
    ///
    /// Exactly one credential is expected.
    package let credential: CredentialFields
    /// The mapping that the client sent: a JSON object whose names are the provider's fields and whose values are
    /// properties.
    package let mapping: JSONValue?
    /// The id of the provider's app for which the credential was issued.
    package let appID: String?
    /// The session that the client has before the login.
    ///
    /// The login ends that session if the session belongs to the same user.
    package let previousSession: SessionKey?
    package let client: LoginClient
    package let idempotencyKey: IdempotencyKey?
    /// The guest whom the login turns into a user with an identity; nil for a login that converts no guest.
    package let guest: GuestClaim?
    /// The invitation that a new user presents.
    package let invitation: InvitationToken?
    /// What happens if no user has the identity.
    package let ifUnknown: UnknownIdentity

    package init(
        provider: ProviderName,
        credential: CredentialFields,
        mapping: JSONValue?,
        appID: String?,
        previousSession: SessionKey?,
        client: LoginClient,
        idempotencyKey: IdempotencyKey? = nil,
        guest: GuestClaim? = nil,
        invitation: InvitationToken? = nil,
        ifUnknown: UnknownIdentity = .asConfigured
    ) {
        self.provider = provider
        self.credential = credential
        self.mapping = mapping
        self.appID = appID
        self.previousSession = previousSession
        self.client = client
        self.idempotencyKey = idempotencyKey
        self.guest = guest
        self.invitation = invitation
        self.ifUnknown = ifUnknown
    }
}

/// What a login does if no user has its identity.
package enum UnknownIdentity: Sendable {
    /// The login creates a user, or asks about an account with its e-mail address (setting `sameAddress`).
    case asConfigured
    /// The login creates a user, but never one whose e-mail address an account has already: then it asks.
    case asking
    /// The login is refused with `login_unknown`.
    case refused
}

/// A guest whom a client names in a request, with the guest's session.
///
/// The session shows that the client acts for this guest.
package struct GuestClaim: Sendable {
    package let id: ObjectID
    package let session: SessionKey

    package init(id: ObjectID, session: SessionKey) {
        self.id = id
        self.session = session
    }
}

/// The existing user to whom a login by a provider links its identity, if the identity is new.
package enum JoinedUser: Sendable {
    case guest(GuestClaim)
    /// The account that has the e-mail address of the login, and whose mailbox the client can read.
    case mailbox(LinkTarget.Mailbox)

    var target: LinkTarget {
        switch self {
        case .guest(let guest): .guest(guest.id, tokenHash: guest.session.hash)
        case .mailbox(let mailbox): .mailbox(mailbox)
        }
    }

    var user: ObjectID {
        switch self {
        case .guest(let guest): guest.id
        case .mailbox(let mailbox): mailbox.user
        }
    }
}

/// A login that succeeded.
///
/// A class, since a struct would take its place in the frame of each async function that waits for a provider.
package final class LoginResult: Sendable {
    package let user: User
    package let token: SessionToken
    /// Whether this login created the user.
    package let created: Bool
    /// Whether this login has linked the identity to an existing user.
    let linked: Bool
    /// The identities that this login has removed from the user, with their stored tokens.
    let lost: [KeptIdentity]
    /// The permissions that the mapping needs and the user did not grant at the provider.
    ///
    /// Properties that need these permissions stayed unfilled.
    package let missingPermissions: [String]
    /// The parts of the provider's profile that were not written, since they do not fit the user's properties.
    package let omissions: [Omission]
    /// The user as the provider described them; nil after a login without a provider.
    package let verified: VerifiedIdentity?
    /// The session with its first refresh token, if the login has opened a family of them.
    package let refreshed: RefreshedSession?

    package convenience init(
        user: User,
        token: SessionToken,
        created: Bool,
        missingPermissions: [String] = [],
        omissions: [Omission] = [],
        refreshed: RefreshedSession? = nil
    ) {
        self.init(
            user: user,
            token: token,
            created: created,
            linked: false,
            lost: [],
            missingPermissions: missingPermissions,
            omissions: omissions,
            verified: nil,
            refreshed: refreshed
        )
    }

    init(
        user: User,
        token: SessionToken,
        created: Bool,
        linked: Bool,
        lost: [KeptIdentity],
        missingPermissions: [String],
        omissions: [Omission],
        verified: VerifiedIdentity?,
        refreshed: RefreshedSession?
    ) {
        self.user = user
        self.token = token
        self.created = created
        self.linked = linked
        self.lost = lost
        self.missingPermissions = missingPermissions
        self.omissions = omissions
        self.verified = verified
        self.refreshed = refreshed
    }
}

/// Logs users in by credentials that a provider issued, such as access tokens and ID tokens.
package struct LoginFlow: Sendable {
    let authenticator: Authenticator
    let writer: LoginWriter
    let ownFactors: OwnFactors
    let admission: Admission
    let log: LoginLog
    let limits: Limits

    package init(
        authenticator: Authenticator,
        writer: LoginWriter,
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

    /// Logs a user in.
    ///
    /// It verifies the credential, maps the profile, and writes the identity, the user and the session.
    ///
    /// The log gets one line with the outcome.
    package func login(
        _ request: LoginRequest,
        to loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> LoginResult {
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
