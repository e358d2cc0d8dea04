package import Applications
package import Domain
import Encodings
package import Logging
import Logins
package import Messaging
import Secrets
import Store

/// The purpose and the addresses of an unused mailed link.
package struct MailedLinkFacts: Sendable {
    package let purpose: EmailTokenPurpose
    /// The address to which the link was mailed.
    package let email: String
    /// The present address of the account.
    package let present: String?
}

/// Confirms a user's present or new e-mail address by a mailed link.
///
/// A user within a session, or a backend, requests the link.
///
/// The link alone is enough: clients of Firebase send its code and nothing else (docs/protocols/firebase.md §6).
/// ``EmailConfirmation`` also asks for the password, since a new account has no session yet.
package struct AddressVerification: Sendable {
    let store: Store
    let searches: UserSearches
    let directory: ApplicationDirectory
    let sessions: Sessions
    let reauthentication: Reauthentication
    let links: MailedLinks
    let notices: Notices
    let events: EventLog
    let limits: Limits

    /// Mails the user of a session a link that confirms the user's address.
    ///
    /// - Returns: The address.
    /// - Throws: `session_invalid`, `account_disabled`; `email_invalid` for a user without an address; `mail_off`,
    ///   `too_many_attempts`.
    package func sendVerification(
        toUserOf session: SessionKey,
        as wish: LinkWish,
        from source: RequestSource,
        in loaded: LoadedApplication
    ) async throws(Failure) -> String {
        let user = try await sessions.user(of: session, in: loaded)
        guard let email = user.email, let address = EmailAddress(email) else {
            throw Failure(.emailInvalid, "This account has no e-mail address that could be confirmed.")
        }
        try links.requireMail()
        try await links.countLink(.verification, to: address, from: source, in: loaded)
        try await links.mailLink(.verification, to: user, as: wish, in: loaded)
        return email
    }

    /// Mails a link to a new address, which becomes the user's address once the link is opened.
    ///
    /// The response does not show whether another account has the address.
    ///
    /// - Returns: The present address; nil for none.
    /// - Throws: `session_invalid`, `account_disabled`, `reauthentication_required`,
    ///   `second_factor_reauthentication_required`, `guest_invalid`, `mail_off`, `too_many_attempts`.
    package func sendChange(
        to address: EmailAddress,
        ofUserOf session: SessionKey,
        as wish: LinkWish,
        from source: RequestSource,
        in loaded: LoadedApplication
    ) async throws(Failure) -> String? {
        let user = try await sessions.user(of: session, in: loaded)
        guard user.status != .guest else {
            throw Failure(.guestInvalid, "A guest gets an e-mail address by registering.")
        }
        try await reauthentication.require(of: session, in: loaded)
        // As for every change of the address (decision D18); whoever opens the link has no session.
        try await store.requireFactor(
            ofSession: session.hash,
            within: Sessions.reauthenticationSeconds,
            in: loaded.application
        )
        try links.requireMail()
        try await links.countLink(.newAddress, to: address, from: source, in: loaded)
        try await links.mailLink(.newAddress, to: user, at: address.text, as: wish, in: loaded)
        return user.email
    }

    /// Makes a link for a backend, which sends its own mails.
    ///
    /// - Parameters:
    ///   - purpose: The purpose of the link.
    ///   - email: The address of the user. For a link that sets a password, the address must be the login name
    ///     (decision D6).
    ///   - newAddress: The address that the user gets; nil for the user's own.
    ///   - wish: The form of the link.
    ///   - server: The backend. The audit log names it.
    ///   - loaded: The application.
    /// - Returns: The URL, and the code in it.
    /// - Throws: `login_unknown` if no user has the address; `mail_off` without a public URL; `overloaded` and
    ///   `query_too_slow`, since a confirmation also goes to a user who only has the address.
    package func makeLink(
        _ purpose: EmailTokenPurpose,
        forUserAt email: EmailAddress,
        newAddress: EmailAddress? = nil,
        as wish: LinkWish,
        by server: ServerCaller,
        in loaded: LoadedApplication
    ) async throws(Failure) -> (address: Secret, code: Secret) {
        let application = loaded.application
        var user = try await store.user(ofLogin: email.login, in: application)
        if user == nil, purpose.onlyConfirms,
            let id = try await searches.users(withEmails: [email.text], limit: 1, of: application).first
        {
            user = try await store.storedUser(id, of: application)?.user
        }
        guard let user, let stored = user.email else {
            throw Failure(.loginUnknown, "No user has this e-mail address.")
        }
        let made = try await links.makeLink(
            purpose,
            for: user.objectID,
            at: newAddress?.text ?? stored,
            onlyConfirming: purpose.onlyConfirms,
            as: wish,
            in: loaded
        )
        try await store.recordReading(
            .mailedLink,
            of: user.objectID,
            ["purpose": .string(purpose.rawValue)],
            in: application.id,
            by: server.actor
        )
        return (made.address, made.link.token.secret)
    }

    /// Returns the purpose and the addresses of a link, and leaves the link valid.
    ///
    /// - Throws: `link_invalid`.
    package func facts(of token: String, in loaded: LoadedApplication) async throws(Failure) -> MailedLinkFacts {
        guard let hash = OneTimeToken(received: token)?.hash,
            let link = try await store.mailedLink(
                tokenHash: hash,
                among: [.passwordReset, .verification, .newAddress],
                of: loaded.application
            )
        else { throw Failure.linkInvalid }
        return MailedLinkFacts(purpose: link.purpose, email: link.email, present: link.present)
    }

    /// Confirms or changes the address by a link of the purpose `verification` or `newAddress`.
    ///
    /// One log line tells the outcome. If the address changes, a mail with a link that undoes the change goes to the
    /// former address.
    ///
    /// - Returns: The user after the change.
    /// - Throws: `link_invalid`, also for a link of another purpose; `login_taken_by_other` if another account has the
    ///   new address. The link stays valid then.
    package func confirm(
        by token: String,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> User {
        try await events.logging("address confirmed", of: loaded, logger, user: \.objectID) { () throws(Failure) in
            guard let hash = OneTimeToken(received: token)?.hash else { throw Failure.linkInvalid }
            if let user = try await store.verifyEmail(byLink: hash, in: loaded.application) {
                return try await self.user(user, in: loaded)
            }
            return try await changeAddress(byLink: hash, in: loaded)
        }
    }

    private func changeAddress(
        byLink hash: [UInt8],
        in loaded: LoadedApplication
    ) async throws(Failure) -> User {
        guard
            let token = try await store.emailToken(tokenHash: hash, for: .newAddress, of: loaded.application),
            let address = EmailAddress(token.email)
        else { throw Failure.linkInvalid }
        let user = try await user(token.user, in: loaded)
        let announcement = try await notices.announcement(to: user, in: loaded) { link, days in
            .emailChanged(link: link, days: days, name: user.name)
        }
        let stored = try await store.password(of: user.objectID, in: loaded.application)
        let changed = try await directory.withCurrent(loaded, until: .now + limits.login) { (loaded) throws(Failure) in
            let application = loaded.application
            let isLogin = application.settings.identityProperty == .email
            return try await store.update(
                UserUpdate(
                    id: user.objectID,
                    given: GivenProperties(Login(address), of: application),
                    login: isLogin
                        ? stored.map { .init(login: address.login, password: nil, formerHash: $0.hash) } : nil,
                    announcement: announcement,
                    confirmsAddress: true
                ),
                by: .mailedLink(hash),
                of: application
            )
        }
        return changed
    }

    private func user(_ id: ObjectID, in loaded: LoadedApplication) async throws(Failure) -> User {
        guard let user = try await store.storedUser(id, of: loaded.application)?.user else { throw Failure.linkInvalid }
        return user
    }
}
