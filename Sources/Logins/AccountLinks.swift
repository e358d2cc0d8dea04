package import Applications
package import Domain
import Encodings
package import Logging
package import Secrets
package import Store

/// The data in a link to the account page: the session that requested the link, and the expiry.
///
/// The link contains the data in encrypted form.
struct AccountLink: EncryptedInTransit {
    static let keyName = "federation: links to the account page"

    /// The SHA-256 of the token of the session that requested the link.
    let session: [UInt8]
    /// The expiry of the link, in Unix seconds.
    let endsAt: Int64

    /// The seconds that may pass between the client's request for the link and the opening of the page.
    static let seconds: Int64 = 300

    private enum Key {
        static let (session, endsAt) = ("session", "endsAt")
    }

    init(session: [UInt8], endsAt: Int64) {
        self.session = session
        self.endsAt = endsAt
    }

    var text: Secret {
        let object: JSONObject = [Key.session: .string(Base64URL.encode(session)), Key.endsAt: .integer(endsAt)]
        return Secret(JSONValue.object(object).text)
    }

    init?(_ object: JSONObject) {
        guard let session = object[Key.session]?.string.flatMap({ Base64URL.decode($0.utf8) }),
            let endsAt = object[Key.endsAt]?.integer
        else { return nil }
        self.init(session: session, endsAt: endsAt)
    }
}

/// Makes and opens links to the account page: the page where a user manages their own account.
///
/// A client requests a link for the user of its session. The link is single-use, and opens the page for this user.
package struct AccountLinks: Sendable {
    let store: Store
    let sessions: Sessions
    let masterKeys: MasterKeys
    let address: PublicAddress
    let events: EventLog
    let clock: WallClock
    let random: RandomSource

    package init(
        store: Store,
        sessions: Sessions,
        masterKeys: MasterKeys,
        address: PublicAddress,
        events: EventLog,
        clock: WallClock,
        random: RandomSource
    ) {
        self.store = store
        self.sessions = sessions
        self.masterKeys = masterKeys
        self.address = address
        self.events = events
        self.clock = clock
        self.random = random
    }

    /// The maximum lifetime, in seconds, of the session that a link opens on the account page.
    package static let sessionSeconds: Int64 = 3600

    /// Returns the address of an application's account page.
    ///
    /// - Throws: `not_found` if the application has no account page; `provider_not_configured` if the deployment does
    ///   not set its public address.
    package func page(of loaded: LoadedApplication) throws(Failure) -> String {
        guard loaded.application.settings.pages.account else {
            throw Failure(
                .notFound,
                "This app has no account page. The operator can turn it on with the setting pages.account."
            )
        }
        guard let url = address.url else {
            throw Failure(
                .providerNotConfigured,
                "This service has no public URL. The operator must set FEDERATION_PUBLIC_URL."
            )
        }
        return "\(url)/\(loaded.application.id)/account"
    }

    /// Makes a link to the account page for the user of a session.
    ///
    /// - Returns: The link, and its expiry in milliseconds since 1970 UTC.
    /// - Throws: The errors of `page(of:)`; `session_invalid`, `account_disabled`.
    package func makeLink(
        ofSession token: SessionKey?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> (url: Secret, expires: Int64) {
        let page = try page(of: loaded)
        let (_, token) = try await sessions.session(of: token, in: loaded)
        let link = AccountLink(session: token.hash, endsAt: clock.seconds + AccountLink.seconds)
        let text = Base64URL.encode(link.encrypted(under: masterKeys, for: loaded.application.id))
        return (Secret("\(page)?link=\(text)"), link.endsAt * 1000)
    }

    /// Returns the user whose account a link opens.
    ///
    /// This does not use up the link, which is single-use.
    ///
    /// - Throws: `login_state_invalid` if the link has expired or belongs to another application, or if the session
    ///   that requested the link has ended; `account_disabled`.
    package func owner(of link: String, in loaded: LoadedApplication) async throws(Failure) -> User {
        guard let (link, _) = opened(link, of: loaded) else { throw Self.invalid }
        guard let user = try await sessions.user(ofHash: link.session, in: loaded) else { throw Self.invalid }
        return user
    }

    /// Decodes and decrypts a link; nil for an invalid or expired link.
    private func opened(_ link: String, of loaded: LoadedApplication) -> (link: AccountLink, encrypted: [UInt8])? {
        guard let encrypted = Base64URL.decode(link.utf8),
            let link = AccountLink(
                encrypted: encrypted,
                under: masterKeys,
                for: loaded.application.id,
                now: clock.seconds
            )
        else { return nil }
        return (link, encrypted)
    }

    /// Uses up a single-use link, and opens a session for the account page.
    ///
    /// The new session belongs to the user whose session requested the link.
    ///
    /// Both sessions exist at the same time. The session of the account page ends when the requesting session ends, or
    /// earlier.
    ///
    /// - Throws: `login_state_invalid` if the link has been used, has expired or belongs to another application, or if
    ///   the requesting session has ended; `account_disabled`.
    package func openSession(
        by link: String,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> SessionToken {
        let application = loaded.application
        let token = random.sessionToken()
        _ = try await events.logging("account page", of: loaded, logger, user: \.self) {
            () async throws(Failure) -> ObjectID in
            guard let (link, encrypted) = opened(link, of: loaded),
                // The hash covers the decoded bytes, since several texts decode to the same bytes. The database keeps
                // the hash for longer than the link is valid, since clocks differ.
                try await store.use(
                    .credential,
                    hash: Digest.sha256("account link " + Base64URL.encode(encrypted)),
                    seconds: AccountLink.seconds + 60,
                    of: application
                )
            else { throw Self.invalid }
            do throws(Failure) {
                return try await store.openSession(
                    token.key.hash,
                    beside: link.session,
                    seconds: Self.sessionSeconds,
                    in: application
                )
            } catch {
                throw error.reason == .sessionInvalid ? Self.invalid : error
            }
        }
        return token
    }

    private static let invalid = Failure(
        .loginStateInvalid,
        """
        This link has been used, is older than five minutes, or is not complete. Go back to the app and open the page \
        again.
        """
    )
}
