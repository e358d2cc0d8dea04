package import Applications
package import Logging
package import Secrets
package import Store
package import Vocabulary

/// What an app gets to open the account page with, for the user of a session.
struct AccountLink: SealedInTransit {
    static let keyName = "federation: links to the account page"

    /// SHA-256 of the token of the session that asked for it.
    let session: [UInt8]
    /// Unix seconds.
    let endsAt: Int64

    /// Seconds between a client's request and the opening of the page.
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

/// Links by which the user of a session opens the account page, each once.
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

    /// Seconds that a session of the page lasts at most that a link has opened.
    package static let sessionSeconds: Int64 = 3600

    /// Where the account page of an application is.
    ///
    /// - Throws: `not_found` where the application has none; `provider_not_configured` when the deployment does not say
    ///   where it is reached.
    package func page(of loaded: LoadedApplication) throws(Failure) -> String {
        guard loaded.application.settings.pages.account else {
            throw Failure(
                .notFound,
                "This app has no page for accounts. Its operator switches it on by the setting pages.account."
            )
        }
        guard let url = address.url else {
            throw Failure(
                .providerNotConfigured,
                "The operator has not said where this service is reached from outside (FEDERATION_PUBLIC_URL)."
            )
        }
        return "\(url)/\(loaded.application.id)/account"
    }

    /// Makes a link for the user of a session.
    ///
    /// - Returns: Its address, and until when it counts, in milliseconds since 1970 UTC.
    /// - Throws: What `page` throws; `session_invalid`, `account_disabled`.
    package func makeLink(
        ofSession token: SessionToken?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> (url: Secret, expires: Int64) {
        let page = try page(of: loaded)
        let (_, token) = try await sessions.session(of: token, in: loaded)
        let link = AccountLink(session: token.hash, endsAt: clock.seconds + AccountLink.seconds)
        let text = Base64URL.encode(link.sealed(under: masterKeys, for: loaded.application.id))
        return (Secret("\(page)?link=\(text)"), link.endsAt * 1000)
    }

    /// Whose account a link opens; that uses nothing up.
    ///
    /// - Throws: `login_state_invalid` for one that is too old or not of this application, and when the app's session has
    ///   ended; `account_disabled`.
    package func owner(of link: String, in loaded: LoadedApplication) async throws(Failure) -> User {
        guard let (link, _) = opened(link, of: loaded) else { throw Self.invalid }
        guard let user = try await sessions.user(ofHash: link.session, in: loaded) else { throw Self.invalid }
        return user
    }

    /// A link that is good, with what was sealed; nil for any other.
    private func opened(_ link: String, of loaded: LoadedApplication) -> (link: AccountLink, sealed: [UInt8])? {
        guard let sealed = Base64URL.decode(link.utf8),
            let link = AccountLink(sealed: sealed, under: masterKeys, for: loaded.application.id, now: clock.seconds)
        else { return nil }
        return (link, sealed)
    }

    /// Opens a session of the page by a link: one beside that of the app, which ends with it and may end before.
    ///
    /// - Throws: `login_state_invalid` for one that has been used, is too old or not of this application, and when the app's
    ///   session has ended; `account_disabled`.
    package func openSession(
        by link: String,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> SessionToken {
        let application = loaded.application
        let token = random.sessionToken()
        _ = try await events.logging("account page", of: loaded, logger, user: \.self) {
            () async throws(Failure) -> ObjectID in
            guard let (link, sealed) = opened(link, of: loaded),
                // By its bytes: several texts stand for the same. For longer than it is good: clocks differ.
                try await store.use(
                    .credential,
                    hash: Digest.sha256("account link " + Base64URL.encode(sealed)),
                    seconds: AccountLink.seconds + 60,
                    of: application
                )
            else { throw Self.invalid }
            do throws(Failure) {
                return try await store.openSession(
                    token.hash,
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
        "This link has been used, is older than five minutes or is not whole. Go back to the app and open the page again."
    )
}
