import Applications
import Providers
package import Secrets
package import Store
package import Vocabulary

/// Codes that stand for whom a provider has vouched for, until a client turns them into a login.
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

    /// The one-time code that a browser takes to the client.
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

    /// Whom the provider vouched for when the login through the server came back, and the mapping that it was begun
    /// with.
    ///
    /// The code is used up whatever comes of it: with a wrong verifier nobody gets a second try.
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
        // The operator may have removed the app since.
        _ = try provider.apps(named: login.result.person.identity.app.text)
        // What was enrolled for a new user is not the guest's, who is asked by the client.
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

    /// Holds a verifier to the challenge that the login began with (RFC 7636 §4.6).
    ///
    /// A verifier without a challenge is refused as well: somebody has taken the challenge away (RFC 9700 §4.8.2).
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
