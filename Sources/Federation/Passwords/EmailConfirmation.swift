package import Identity
package import Logging
import Store

extension Federation {
    /// Sends a user the link that confirms an address that has just been given; asking for another mail is the way on if that fails.
    ///
    /// A registration is counted as one, and has an address once. A user can give one again and again, in other letters, too: such a mail
    /// is counted like one that somebody asks for, so that nobody's mailbox is filled.
    ///
    /// - Parameters:
    ///   - user: Whose address it is.
    ///   - source: Where the change comes from; nil for a registration.
    ///   - loaded: The application.
    ///   - logger: Gets a line when nothing comes of it.
    func sendConfirmation(
        to user: User,
        causedBy source: RequestSource? = nil,
        in loaded: LoadedApplication,
        logger: Logger
    ) async {
        do throws(Failure) {
            try requireMail()
            if let source, let email = user.email.flatMap({ EmailAddress($0) }) {
                try await countLink(.confirmation, to: email, from: source, in: loaded)
            }
            try await mailLink(.confirmation, to: user, in: loaded)
        } catch {
            logger.warning("a confirmation could not be sent", metadata: ["reason": "\(error.reason.rawValue)"])
        }
    }

    /// Sends the owner of a login the link that confirms the address once more, if it is not confirmed; whether it is, and whether there
    /// is such a login, shows in nothing.
    ///
    /// - Throws: `confirmation_off` when the application asks nobody to confirm, `mail_off`, `too_many_attempts`, `overloaded`.
    package func resendConfirmation(
        to identity: String,
        from source: RequestSource,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) {
        try Self.requireConfirmation(in: loaded)
        try await mailLink(.confirmation, toLogin: identity, from: source, in: loaded, logger: logger) {
            !$0.emailVerified
        }
    }

    /// Makes the link that confirms a user's address, for a server that sends its own mails.
    ///
    /// - Parameters:
    ///   - identity: The user's id, or the login.
    ///   - server: Who asks.
    ///   - loaded: The application.
    /// - Returns: The address of the page.
    /// - Throws: `server_key_required`, `not_found`, `confirmation_off`, `mail_off` without a public URL.
    package func makeConfirmationURL(
        for identity: String,
        by server: ServerCaller?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> Secret {
        guard server != nil else { throw .serverKeyRequired }
        try Self.requireConfirmation(in: loaded)
        var user: User?
        if let id = ObjectID(identity) {
            user = try await store.person(id, of: loaded.application)?.user
        } else if let email = EmailAddress(identity) {
            user = try await store.user(ofLogin: email.login, in: loaded.application)
        }
        guard let user, let email = user.email else { throw .noSuchUser }
        return try await makeLink(.confirmation, for: user.objectID, at: email, in: loaded).address
    }

    /// Notes that the person whose link it is owns the address, and lets a user in who waited for that.
    ///
    /// Says in one log line how it went.
    ///
    /// - Throws: `link_invalid`.
    package func confirmEmail(by token: String, in loaded: LoadedApplication, logger: Logger) async throws(Failure) {
        _ = try await logging("email confirmation", of: loaded, logger, user: \.self) { () throws(Failure) in
            guard let hash = OneTimeText(received: token)?.hash,
                let user = try await store.confirmEmail(byLink: hash, in: loaded.application)
            else { throw Self.linkInvalid }
            return user
        }
    }

    private static func requireConfirmation(in loaded: LoadedApplication) throws(Failure) {
        guard loaded.application.settings.registration.confirmEmail else {
            throw Failure(.confirmationOff, "This app asks nobody to confirm the e-mail address.")
        }
    }
}
