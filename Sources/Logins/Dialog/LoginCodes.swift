import Applications
package import Domain
import Encodings
import Providers
package import Secrets
package import Store

/// Makes login codes, and redeems them.
///
/// A login code is single-use. It stands for a login that the provider has verified, until a client exchanges the code.
package struct LoginCodes: Sendable {
    let store: Store
    let masterKeys: MasterKeys
    let random: RandomSource

    package init(
        store: Store,
        masterKeys: MasterKeys,
        random: RandomSource
    ) {
        self.store = store
        self.masterKeys = masterKeys
        self.random = random
    }

    /// The seconds in which a client may exchange a login code.
    private static let loginCodeSeconds: Int64 = 60

    /// Makes the single-use code that the browser takes to the client.
    func loginCode(for login: VerifiedLogin, of application: Application) async throws(Failure) -> Secret {
        let code = OneTimeToken(random)
        try await store.keepLoginCode(
            hash: code.hash,
            payload: masterKeys.encrypt(login.text, for: .loginCode(application: application.id, hash: code.hash)),
            identity: login.result.verified.identity,
            seconds: Self.loginCodeSeconds,
            of: application
        )
        return code.secret
    }

    /// Uses up a login code, and returns the verified login that the code stands for.
    ///
    /// The login includes the mapping that the client sent at the beginning. The code is used up even if the client's
    /// PKCE verifier is wrong.
    func redeem(
        loginCode: Secret,
        codeVerifier: Secret?,
        of provider: any DialogOffering,
        in attempt: LoginAttempt
    ) async throws(Failure) -> AuthenticatedLogin {
        let application = attempt.loaded.application
        guard let code = OneTimeToken(received: loginCode.reveal()),
            let encrypted = try await store.takeLoginCode(hash: code.hash, of: application),
            let payload = masterKeys.open(encrypted, at: .loginCode(application: application.id, hash: code.hash)),
            let login = VerifiedLogin(payload, provider: provider.name)
        else {
            throw Failure(
                .credentialInvalid,
                """
                This loginCode is unknown, has been used, or is older than a minute, or its user no longer exists. \
                Start the login again.
                """
            )
        }
        try Self.check(codeVerifier, against: login.codeChallenge)
        // The operator may have removed the app since the login began.
        try provider.requireApp(of: login.result.verified.identity)
        // If the factor was enrolled for a user who was to be created, it does not count for a guest. The guest needs a
        // factor of its own.
        let factor = attempt.request.guest == nil || login.factor?.freshID == nil ? login.factor : nil
        return AuthenticatedLogin(
            login.result,
            mapping: login.mapping,
            once: factor?.once(random),
            factor: factor?.proof,
            freshID: factor?.freshID,
            invitation: login.invitation,
            dialogFactor: factor
        )
    }

    /// Checks a PKCE verifier against the challenge from the beginning of the login (RFC 7636 §4.6).
    ///
    /// A verifier is also refused if the login began without a challenge, since an attacker may have removed the
    /// challenge from the request (RFC 9700 §4.8.2).
    private static func check(_ codeVerifier: Secret?, against codeChallenge: String?) throws(Failure) {
        switch (codeVerifier, codeChallenge) {
        case (nil, nil): return
        case (let verifier?, let challenge?):
            let actual = Base64URL.encode(Digest.sha256(verifier.reveal()))
            if actual.utf8.isEqualInConstantTime(to: challenge.utf8) { return }
        case (_, _): break
        }
        throw Failure(
            .credentialInvalid,
            """
            codeVerifier does not match the codeChallenge of this login, or one of them is missing. Start the login \
            again.
            """
        )
    }
}
