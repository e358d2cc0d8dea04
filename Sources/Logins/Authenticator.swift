package import Applications
package import Domain
import Encodings
import FoundationEssentials
import Mapping
import Providers
import Secrets
import SignedTokens
package import Store

// This file covers the part of a login from the provider's verification to the write. Meanwhile, the configuration of
// the application may change, even repeatedly. The authenticated user stays the same. The write uses the current
// configuration.

/// A login that is in progress: the client's request, the application, and the deadlines.
struct LoginAttempt: Sendable {
    let request: LoginRequest
    var loaded: LoadedApplication
    /// The deadline after which the login starts no further step.
    let end: ContinuousClock.Instant
    let providerDeadline: ContinuousClock.Instant

    init(
        request: LoginRequest,
        loaded: LoadedApplication,
        end: ContinuousClock.Instant,
        limits: Limits
    ) {
        self.request = request
        self.loaded = loaded
        self.end = end
        providerDeadline = end - limits.storeReserve
    }
}

/// A login whose credential the provider has verified, before the user and the session are written to the database.
///
/// A class, since a struct would be copied into the frame of each async function that waits for a provider.
final class AuthenticatedLogin: Sendable {
    let result: AuthenticationResult
    /// The mapping that the client sent, in this request or in an earlier step of the login.
    let mapping: JSONValue?
    /// The record that marks a single-use credential as used; nil for a reusable credential.
    ///
    /// The record is written together with the login.
    let once: SingleUse?
    /// The second factor that finishes a pending login.
    let factor: FactorProof?
    /// The id of the user if this login creates the user; nil if the login chooses a random id.
    let freshID: ObjectID?
    /// The invitation that a new user presented in an earlier step of the login.
    let invitation: InvitationToken?
    /// The existing user to whom a login that was put off links its identity; nil for any other login.
    let joining: JoinedUser?
    /// The second factor that the user has presented or enrolled in a dialog.
    let dialogFactor: VerifiedFactor?
    /// Whether the client has been asked already whether the login belongs to an account with the same address.
    let hasBeenAsked: Bool

    init(
        _ result: AuthenticationResult,
        mapping: JSONValue?,
        once: SingleUse? = nil,
        factor: FactorProof? = nil,
        freshID: ObjectID? = nil,
        invitation: InvitationToken? = nil,
        joining: JoinedUser? = nil,
        dialogFactor: VerifiedFactor? = nil,
        hasBeenAsked: Bool = false
    ) {
        self.result = result
        self.mapping = mapping
        self.once = once
        self.factor = factor
        self.freshID = freshID
        self.invitation = invitation
        self.joining = joining
        self.dialogFactor = dialogFactor
        self.hasBeenAsked = hasBeenAsked
    }
}

/// Verifies the credential that a provider issued to a user, then calls a closure that writes the login to the
/// database.
package struct Authenticator: Sendable {
    let store: Store
    let directory: ApplicationDirectory
    let codes: LoginCodes
    let nonces: Nonces
    let random: RandomSource

    package init(
        store: Store,
        directory: ApplicationDirectory,
        codes: LoginCodes,
        nonces: Nonces,
        random: RandomSource
    ) {
        self.store = store
        self.directory = directory
        self.codes = codes
        self.nonces = nonces
        self.random = random
    }

    /// Verifies the credential that a provider issued for a login, and calls `write`, which writes the login.
    ///
    /// If the application's configuration changes before the write is complete, calls `write` again with the new
    /// configuration, until the login's deadline. Then the credential is verified again only if the application now
    /// needs other fields of the profile, or if the application's options for the provider have changed. A credential
    /// that the provider accepts only once is never verified again.
    func withAuthentication<Result>(
        of attempt: LoginAttempt,
        write: (AuthenticatedLogin, LoginPlan, LoginAttempt) async throws(Failure) -> StatementOutcome<Result>
    ) async throws(Failure) -> Result {
        var last: (login: AuthenticatedLogin, plan: LoginPlan, loaded: LoadedApplication)?
        return try await directory.withCurrent(attempt.loaded, until: attempt.end) { (loaded) throws(Failure) in
            var attempt = attempt
            attempt.loaded = loaded
            if let last, let plan = try attempt.plan(for: last.login, authenticatedBy: last.plan, for: last.loaded) {
                return try await write(last.login, plan, attempt)
            }
            let (login, plan) = try await authenticate(attempt)
            last = (login, plan, loaded)
            return try await write(login, plan, attempt)
        }
    }

    /// Calls `write` for a login whose credential is already verified, and does not verify the credential again.
    func withAuthentication<Result>(
        _ login: AuthenticatedLogin,
        in attempt: LoginAttempt,
        write: (AuthenticatedLogin, LoginPlan, LoginAttempt) async throws(Failure) -> StatementOutcome<Result>
    ) async throws(Failure) -> Result {
        try await directory.withCurrent(attempt.loaded, until: attempt.end) { (loaded) throws(Failure) in
            var attempt = attempt
            attempt.loaded = loaded
            return try await write(login, try attempt.plan(withMapping: login.mapping), attempt)
        }
    }

    /// Verifies the credential that a provider issued for a login, and writes nothing.
    func authenticated(_ attempt: LoginAttempt) async throws(Failure) -> AuthenticatedLogin {
        try await authenticate(attempt).login
    }

    /// Verifies the credential that a provider issued for a login.
    ///
    /// If the request has a login code of this service and no other credential, redeems the login code instead.
    private func authenticate(
        _ attempt: LoginAttempt
    ) async throws(Failure) -> (login: AuthenticatedLogin, plan: LoginPlan) {
        let (request, loaded) = (attempt.request, attempt.loaded)
        let provider = try loaded.provider(request.provider, as: (any CredentialVerifying).self)
        if let code = request.credential.loneLoginCode, let provider = provider as? any DialogOffering {
            // The client sent the mapping when the dialog began.
            let login = try await codes.redeem(
                loginCode: code,
                codeVerifier: request.credential.codeVerifier.map(Secret.init),
                of: provider,
                in: attempt
            )
            return (login, try attempt.plan(withMapping: login.mapping))
        }
        let mapping = request.mapping
        let question = VerificationRequest(appID: request.appID, deadline: attempt.providerDeadline) {
            () throws(Failure) in
            try loaded.plan(for: request.provider, clientMapping: mapping).mapping.fields
        }
        let result: AuthenticationResult
        let stage = LoginStage.provider.begin()
        defer { stage.end() }
        do throws(Failure) {
            result = try await provider.authenticate(by: request.credential, question) {
                (hash, seconds) throws(Failure) in
                try await store.use(.code, hash: hash, seconds: seconds, of: loaded.application)
            }
        } catch {
            throw try loaded.explained(error, provider: request.provider, clientMapping: mapping)
        }
        loaded.noteProfile(from: request.provider)
        let once = try result.singleUse.map { (credential) throws(Failure) in try singleUse(credential, in: attempt) }
        let login = AuthenticatedLogin(result, mapping: mapping, once: once)
        return (login, try attempt.plan(withMapping: mapping))
    }

    /// Returns the record by which the database marks a single-use credential as used.
    ///
    /// - Throws: `credential_invalid` if the credential contains a nonce that this service did not issue, or that has
    ///   expired.
    private func singleUse(
        _ credential: SingleUseCredential,
        in attempt: LoginAttempt
    ) throws(Failure) -> SingleUse {
        if let nonce = credential.serverNonce {
            try nonces.checkIsOurs(nonce, by: attempt.request.provider, of: attempt.loaded)
        }
        return SingleUse(
            hash: credential.digest,
            issuedAt: StoreMoment(seconds: credential.issuedAt),
            seconds: credential.seconds + Self.clockReserve,
            owner: attempt.request.idempotencyKey?.owner ?? random.bytes(16),
            nonceHash: credential.serverNonce.map { Digest.sha256($0.reveal()) }
        )
    }

    /// The seconds for which a used credential is remembered after its expiry.
    ///
    /// So an instance whose clock is behind by up to this time still refuses the used credential.
    private static let clockReserve: Int64 = 3600
}

extension LoginAttempt {
    /// Returns the compiled mapping and the SQL statements for the login, from a cache.
    ///
    /// `mapping` is the mapping that the client sent.
    fileprivate func plan(withMapping mapping: JSONValue?) throws(Failure) -> LoginPlan {
        try loaded.plan(for: request.provider, clientMapping: mapping)
    }

    /// Returns the mapping and the SQL statements of a login after the application's configuration has changed.
    ///
    /// Nil if the credential must be verified again: the application now needs other fields of the profile, or has
    /// other options for the provider.
    fileprivate func plan(
        for login: AuthenticatedLogin,
        authenticatedBy former: LoginPlan,
        for application: LoadedApplication
    ) throws(Failure) -> LoginPlan? {
        let isSetUpAlike = loaded.isSetUp(with: request.provider, as: application)
        guard login.result.isRepeatable else {
            // The operator may have disabled the provider.
            if !isSetUpAlike { _ = try loaded.provider(request.provider).apps(named: request.appID) }
            return try plan(withMapping: login.mapping)
        }
        guard isSetUpAlike else { return nil }
        let next = try plan(withMapping: login.mapping)
        return next.mapping.fields.hasSameBytes(as: former.mapping.fields) ? next : nil
    }
}

extension CredentialFields {
    /// The login code, if it is the only credential of the request.
    fileprivate var loneLoginCode: Secret? {
        func isAbsent(_ text: String?) -> Bool { text?.utf8.isEmpty ?? true }
        guard let loginCode, !loginCode.utf8.isEmpty, isAbsent(accessToken), isAbsent(idToken), isAbsent(code) else {
            return nil
        }
        return Secret(loginCode)
    }
}
