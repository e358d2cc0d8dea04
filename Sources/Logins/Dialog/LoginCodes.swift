import Applications
package import Domain
import Encodings
import Providers
package import Secrets
package import Store

/// Single-use codes that stand for a provider's verified login until a client exchanges them.
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

    /// Seconds between a browser's return from the provider and the exchange of the login code by the client.
    private static let loginCodeSeconds: Int64 = 60

    /// Makes the single-use code that the browser takes to the client.
    func loginCode(for login: VouchedLogin, of application: Application) async throws(Failure) -> Secret {
        let code = OneTimeToken(random)
        try await store.keepLoginCode(
            hash: code.hash,
            payload: masterKeys.seal(login.text, for: .loginCode(application: application.id, hash: code.hash)),
            identity: login.result.person.identity,
            seconds: Self.loginCodeSeconds,
            of: application
        )
        return code.secret
    }

    /// Returns the provider's verified login for a login code, with the mapping from the beginning of the login.
    ///
    /// The code is used up in any case: after a wrong verifier there is no second attempt.
    func redeem(
        loginCode: Secret,
        codeVerifier: Secret?,
        of provider: any DialogOffering,
        in attempt: LoginAttempt
    ) async throws(Failure) -> AuthenticatedLogin {
        let application = attempt.loaded.application
        guard let code = OneTimeToken(received: loginCode.reveal()),
            let sealed = try await store.takeLoginCode(hash: code.hash, of: application),
            let payload = masterKeys.open(sealed, at: .loginCode(application: application.id, hash: code.hash)),
            let login = VouchedLogin(payload, provider: provider.name)
        else {
            throw Failure(
                .credentialInvalid,
                "This loginCode is unknown, has been used, is older than a minute, or has lost its person. Start the login over."
            )
        }
        try Self.check(codeVerifier, against: login.codeChallenge)
        // The operator may have removed the app since the login began.
        _ = try provider.apps(named: login.result.person.identity.app.text)
        // A factor that was enrolled for a new user does not belong to the guest, whom the client asks for a factor.
        let factor = attempt.request.guest == nil || login.factor?.freshID == nil ? login.factor : nil
        return AuthenticatedLogin(
            login.result,
            mapping: login.mapping,
            once: factor?.once(random),
            factor: factor?.proof,
            freshID: factor?.freshID,
            invitation: login.invitation
        )
    }

    /// Checks a verifier against the challenge that the login began with (RFC 7636 §4.6).
    ///
    /// A verifier without a challenge is refused, too: an attacker has removed the challenge (RFC 9700 §4.8.2).
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
            codeVerifier does not fit the codeChallenge that this login was begun with; one without the other does not count. Start \
            the login over.
            """
        )
    }
}
