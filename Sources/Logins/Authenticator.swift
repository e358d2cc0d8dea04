package import Applications
import FoundationEssentials
import Mapping
import Providers
import Secrets
import SignedTokens
package import Store
package import Vocabulary

// A login between the provider's word and the write. The application may be changed in between, and again while that is
// noticed: the person who was authenticated stays who they are, and is written by the configuration of then.

/// One login of one application, on its way.
struct LoginAttempt: Sendable {
    let request: LoginRequest
    var loaded: LoadedApplication
    /// When nothing is begun any more.
    let end: ContinuousClock.Instant
    /// When the provider must have answered.
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

/// Whom a login is by: the provider's word, and what the write does besides.
///
/// A class for the reason of ``AuthenticationResult``.
final class AuthenticatedLogin: Sendable {
    let result: AuthenticationResult
    /// The mapping that the client sent, with this request or with an earlier step of the login.
    let mapping: JSONValue?
    /// What the write uses up; nil for a credential that may be used again.
    let once: SingleUse?
    /// The second factor that finishes a login that was put off for it.
    let factor: FactorProof?
    /// The id that the user gets if this login creates one; nil for any.
    let freshID: ObjectID?
    /// The invitation that a new person presented in an earlier step of the login.
    let invitation: InvitationToken?

    init(
        _ result: AuthenticationResult,
        mapping: JSONValue?,
        once: SingleUse? = nil,
        factor: FactorProof? = nil,
        freshID: ObjectID? = nil,
        invitation: InvitationToken? = nil
    ) {
        self.result = result
        self.mapping = mapping
        self.once = once
        self.factor = factor
        self.freshID = freshID
        self.invitation = invitation
    }
}

/// Asks providers whom credentials stand for.
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

    /// Asks the provider whom the credential of an attempt stands for, and writes the person, by the application as it
    /// is by then, until the attempt ends.
    ///
    /// The provider is asked once more only where the application by now wants other fields of a person or is set up
    /// with the provider in another way; never about a credential that is used up.
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

    /// Writes a person about whom nobody can be asked again.
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

    /// Asks the provider, or takes the code that a login through the server has ended with.
    private func authenticate(
        _ attempt: LoginAttempt
    ) async throws(Failure) -> (login: AuthenticatedLogin, plan: LoginPlan) {
        let (request, loaded) = (attempt.request, attempt.loaded)
        let provider = try loaded.provider(request.provider, as: (any CredentialVerifying).self)
        if let code = request.credential.loneLoginCode, let provider = provider as? any DialogOffering {
            // The mapping was asked for when the dialog began.
            let login = try await codes.redeem(
                loginCode: code,
                codeVerifier: request.credential.codeVerifier.map(Secret.init),
                of: provider,
                in: attempt
            )
            return (login, try attempt.plan(withMapping: login.mapping))
        }
        let mapping = request.mapping
        let question = ProviderQuestion(appID: request.appID, deadline: attempt.providerDeadline) {
            () throws(Failure) in
            try loaded.plan(for: request.provider, clientMapping: mapping).mapping.graphFields
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

    /// What the write uses up of a credential that counts once.
    ///
    /// - Throws: `credential_invalid` for a nonce that is none of ours.
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

    /// Seconds for which a used credential is remembered beyond its end: by so much the clock of another instance may
    /// be behind before that instance takes it once more.
    private static let clockReserve: Int64 = 3600
}

extension LoginAttempt {
    /// What to write for the application, with the mapping that came with the login.
    fileprivate func plan(withMapping mapping: JSONValue?) throws(Failure) -> LoginPlan {
        try loaded.plan(for: request.provider, clientMapping: mapping)
    }

    /// What to write for the application as it is by now; nil when the provider has to be asked again.
    fileprivate func plan(
        for login: AuthenticatedLogin,
        authenticatedBy former: LoginPlan,
        for application: LoadedApplication
    ) throws(Failure) -> LoginPlan? {
        let isSetUpAlike = loaded.isSetUp(with: request.provider, as: application)
        guard login.result.isRepeatable else {
            // The operator may have switched the provider off.
            if !isSetUpAlike { _ = try loaded.provider(request.provider).apps(named: request.appID) }
            return try plan(withMapping: login.mapping)
        }
        guard isSetUpAlike else { return nil }
        let next = try plan(withMapping: login.mapping)
        return next.mapping.graphFields.hasSameBytes(as: former.mapping.graphFields) ? next : nil
    }
}

extension CredentialFields {
    /// The code that a login through the server has ended with, where the request holds no other credential.
    fileprivate var loneLoginCode: Secret? {
        func isAbsent(_ text: String?) -> Bool { text?.utf8.isEmpty ?? true }
        guard let loginCode, !loginCode.utf8.isEmpty, isAbsent(accessToken), isAbsent(idToken), isAbsent(code) else {
            return nil
        }
        return Secret(loginCode)
    }
}
