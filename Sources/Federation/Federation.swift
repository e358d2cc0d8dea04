// Federation — the use cases, one file each, and the only orchestrator.
//
// It owns the order in which providers, the rules (Mapping) and the database (Store) are asked: for logins by
// every credential, accounts with a password, login through the server's dialog, sessions, what providers call (`Callbacks`), the care of
// kept tokens while nobody waits (`Maintenance`), and all that operators do (`Administration`, `Documents`). Further the copy of every
// application's configuration that logins work with, the master keys, and what the log says of all this.
//
// It must not know of HTTP, of SQL, or of any provider: those are found by their kinds, and asked by what they can do. API and Server call it; API sees nothing below it.

import Vocabulary
package import Logging
package import Mailing
package import Passwords
package import Store

/// The use cases of the service; each is an extension in a file of its own.
package struct Federation: Sendable {
    let store: Store
    let directory: ApplicationDirectory
    let masterKeys: MasterKeys
    let passwords: PasswordHasher
    /// Where the public listener is reached from outside, like `https://users.example.com`; nil when the deployment does not say.
    let publicURL: String?
    /// Nil when the deployment sends no mails.
    let mailer: Mailer?
    let limits: Limits
    let concurrency: ConcurrencyLimit
    /// Before the statements that count attempts: more of them at once would not be done sooner, and logins would wait for them.
    let counting = Semaphore(width: 4)
    /// Counts what goes on when its request has been answered.
    let afterReplies = ConcurrencyLimit(limit: 256)
    let tokenKeys: TokenKeys
    /// What operators should know of this instance.
    package let warnings: Warnings
    /// What the log has in place of logins, tokens and keys.
    package let pseudonyms: Pseudonyms

    var banKey: BanKey { directory.banKey }

    /// Limits of whole use cases (decision D9).
    package struct Limits: Sendable {
        /// A login in all, from the parsed request to the written session.
        package var login: Duration
        /// What of it is kept back for the database after Facebook has answered.
        package var storeReserve: Duration
        /// Logins at once; one more is refused (decision D10).
        package var concurrentLogins: Int

        package init(
            login: Duration = .seconds(5),
            storeReserve: Duration = .seconds(1),
            concurrentLogins: Int = 2048
        ) {
            self.login = login
            self.storeReserve = storeReserve
            self.concurrentLogins = concurrentLogins
        }
    }

    /// Does something with an application, and does it again with what has become of it as often as it failed because the application
    /// had been changed meanwhile: a column that a statement names may be gone.
    ///
    /// Nothing is begun after the end, which is that of a login unless told otherwise. What has an effect beside the statements that
    /// name columns belongs in front of this: it would happen again.
    func withCurrent<Result>(
        _ loaded: LoadedApplication,
        until end: ContinuousClock.Instant? = nil,
        _ body: (LoadedApplication) async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        let end = end ?? .now + limits.login
        var loaded = loaded
        while true {
            do throws(Failure) {
                return try await body(loaded)
            } catch {
                guard error.isOutdated, .now < end, let current = try await directory.successor(of: loaded, until: end)
                else { throw error }
                loaded = current
            }
        }
    }

    package init(
        store: Store,
        directory: ApplicationDirectory,
        masterKeys: MasterKeys,
        passwords: PasswordHasher = PasswordHasher(),
        publicURL: String? = nil,
        mailer: Mailer? = nil,
        limits: Limits,
        logger: Logger
    ) {
        self.store = store
        self.directory = directory
        self.masterKeys = masterKeys
        self.passwords = passwords
        self.publicURL = publicURL
        self.mailer = mailer
        self.limits = limits
        concurrency = ConcurrencyLimit(limit: limits.concurrentLogins)
        pseudonyms = Pseudonyms(masterKeys.current)
        tokenKeys = TokenKeys(store: store, masterKeys: masterKeys)
        warnings = Warnings(logger: logger)
    }
}
