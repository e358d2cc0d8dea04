package import Identity
package import Logging
import Mailing
import Passwords
import Store

extension Federation {
    /// Sends the owner of a login a link under which to choose another password.
    ///
    /// Whether there is one shows in nothing. Somebody without a password gets none: the address of a provider is nobody's proof
    /// (decision D6).
    ///
    /// - Throws: `mail_off`, `too_many_attempts`, `overloaded`.
    package func restorePassword(
        of identity: String,
        from source: RequestSource,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) {
        try await mailLink(.passwordReset, toLogin: identity, from: source, in: loaded, logger: logger) { _ in true }
    }

    /// The address of the user whose link it is; nothing is used up.
    ///
    /// - Throws: `link_invalid`.
    package func linkedEmail(
        _ token: String,
        for purpose: EmailProofPurpose,
        in loaded: LoadedApplication
    ) async throws(Failure) -> String {
        try await proof(by: token, for: purpose, in: loaded).proof.email
    }

    /// Sets the password of the user whose link it is; ends all sessions and links, and removes identities that others may have linked.
    ///
    /// - Parameters:
    ///   - token: The token of the link.
    ///   - password: What the person chose.
    ///   - loaded: The application.
    /// - Throws: `link_invalid`, `password_not_allowed`, `overloaded`; the link stays good then, but for the first.
    package func resetPassword(
        by token: String,
        to password: Secret,
        in loaded: LoadedApplication
    ) async throws(Failure) {
        let (hash, proof) = try await proof(by: token, for: .passwordReset, in: loaded)
        guard let email = EmailAddress(proof.email) else { throw Self.linkInvalid }
        let stored = try await newPassword(
            password,
            email: email,
            of: proof.user,
            in: loaded,
            deadline: .now + limits.login
        )
        let lost = try await store.resetPassword(
            byLink: hash,
            to: stored,
            forgetting: PasswordGuess.accountKey(of: email.login),
            in: loaded.application
        )
        guard let lost else { throw Self.linkInvalid }
        _ = await Farewell(graph: clients.graph, store: store, masterKeys: masterKeys).giveUpPermissions(
            by: lost,
            formerlyOf: proof.user,
            in: loaded,
            actor: Actor(name: "user:\(proof.user)", source: "password reset")
        )
        if let user = try await store.person(proof.user, of: loaded.application)?.user {
            await announcePasswordChange(to: proof.email, of: user, in: loaded)
        }
    }

    /// Tells a user by mail that the password is another one; where no mail can be sent nobody is told.
    ///
    /// - Parameters:
    ///   - email: The address of before the change: whoever did it may have changed that as well.
    ///   - user: Whose password it is.
    ///   - loaded: The application.
    func announcePasswordChange(to email: String, of user: User, in loaded: LoadedApplication) async {
        guard canSendMail else { return }
        do throws(Failure) {
            try await enqueue(
                .passwordChanged(name: user.name),
                event: "passwordChanged/\(Random.objectID())",
                to: email,
                locale: user.locale,
                user: user.objectID,
                of: loaded
            )
        } catch {
            // The password is changed; a mail about it is a courtesy.
        }
    }

    /// What a link proves that came back.
    func proof(
        by token: String,
        for purpose: EmailProofPurpose,
        in loaded: LoadedApplication
    ) async throws(Failure) -> (hash: [UInt8], proof: EmailProof) {
        guard let hash = OneTimeText(received: token)?.hash,
            let proof = try await store.emailProof(tokenHash: hash, for: purpose, of: loaded.application)
        else { throw Self.linkInvalid }
        return (hash, proof)
    }

    static let linkInvalid = Failure(
        .linkInvalid,
        "This link has been used, is too old, or is not complete. Ask for another mail."
    )
}
