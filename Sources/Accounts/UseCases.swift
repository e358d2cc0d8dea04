package import Applications
package import Domain
import Factors
package import FormerSystems
package import Limiting
package import Logging
package import Logins
package import Messaging
package import Passwords
package import Secrets
package import Store

/// The use cases that clients and providers' callbacks request, each with its dependencies.
package struct UseCases: Sendable {
    // Logging in.
    package let loginFlow: LoginFlow
    package let dialog: LoginDialog
    package let dialogFactors: DialogFactors
    package let passwordLogins: PasswordLogins
    package let serverLogin: ServerLogin
    package let backendLogins: BackendLogins
    package let nonces: Nonces
    package let reverseAuthorization: ReverseAuthorization
    package let linking: Linking
    package let secondFactor: SecondFactor
    package let sameAddressLogins: SameAddressLogins
    package let ownFactors: OwnFactors
    package let sessions: Sessions
    package let accountLinks: AccountLinks
    package let tokens: TokenIssuer
    package let refreshTokens: RefreshTokens
    package let providerTokens: ProviderTokens
    // Accounts.
    package let registrations: Registrations
    package let accountUpdate: AccountUpdate
    package let otherRecords: OtherRecords
    package let accountDeletions: AccountDeletions
    package let collection: UserCollection
    package let roles: Roles
    package let serviceAccounts: ServiceAccounts
    package let backendAccounts: BackendAccounts
    package let reauthentication: Reauthentication
    package let passwordReset: PasswordReset
    package let confirmation: EmailConfirmation
    package let reversal: ChangeReversal
    package let merges: AccountMerges
    package let ownMerges: OwnMerges
    package let claims: MailedClaims
    package let addressVerification: AddressVerification
    package let mailedLogins: MailedLogins
    // Callbacks of providers.
    package let deauthorizations: Deauthorizations
    package let deletions: DeletionRequests
    package let webhooks: ProviderWebhooks

    /// The address at which browsers and clients reach the public listener.
    package let address: PublicAddress
    /// The problems that this instance reports to operators.
    package let warnings: Warnings
    /// Makes the pseudonyms that the log has in place of login names and credentials.
    package let pseudonyms: Pseudonyms
    package let health: Health
    /// Limits the work that the instance does at the same time.
    package let admission: Admission
    /// The rate limits of sources and applications.
    package let rateLimiter: RateLimiter

    /// Creates the use cases and their dependencies.
    ///
    /// - Parameters:
    ///   - store: The database.
    ///   - searches: The database, with connections that only searches use. A slow search then keeps no login waiting.
    ///   - directory: The applications.
    ///   - masterKeys: The keys that encrypt secrets.
    ///   - passwords: Hashes passwords; nil for a hasher with the default limits.
    ///   - publicURL: The public address of the public listener, like `https://users.example.com`; nil if the
    ///     deployment does not set it.
    ///   - mailer: Sends mails; nil if the deployment sends none.
    ///   - smsGateway: Sends text messages; nil if the deployment sends none.
    ///   - formerSystems: Asks the former systems of applications; nil if the deployment asks none.
    ///   - limits: The time limits of logins and the limits of searches.
    ///   - admission: Limits concurrent work. The caller must call its method `run`.
    ///   - rateLimiter: The rate limits of sources and applications.
    ///   - clock: The time of day.
    ///   - random: The source of unguessable values.
    ///   - observer: Receives the outcome of every login.
    ///   - logger: Logs events that no request causes.
    package init(
        store: Store,
        searches: Store? = nil,
        directory: ApplicationDirectory,
        masterKeys: MasterKeys,
        passwords: PasswordHasher? = nil,
        publicURL: String? = nil,
        mailer: Mailer? = nil,
        smsGateway: SMSGateway? = nil,
        formerSystems: FormerSystems? = nil,
        limits: Limits,
        admission: Admission = Admission(),
        rateLimiter: RateLimiter = RateLimiter(.standard),
        clock: WallClock,
        random: RandomSource,
        observer: @escaping @Sendable (LoginOutcome) -> Void = { _ in },
        logger: Logger
    ) {
        self.admission = admission
        self.rateLimiter = rateLimiter
        address = PublicAddress(url: publicURL)
        warnings = Warnings(logger: logger)
        pseudonyms = Pseudonyms(masterKeys.current)
        health = Health(store: store, directory: directory, warnings: warnings, clock: clock)
        let attempts = AttemptCounter(store: store)
        let events = EventLog(pseudonyms: pseudonyms)
        let log = LoginLog(events: events, observer: observer)
        let revoker = PermissionRevoker(store: store, masterKeys: masterKeys)
        let banKey = directory.banKey

        // Mails to users.
        let queue = MailQueue(store: store, masterKeys: masterKeys, mailer: mailer, clock: clock, random: random)
        let links = MailedLinks(
            store: store,
            queue: queue,
            attempts: attempts,
            address: address,
            pseudonyms: pseudonyms,
            limits: limits,
            random: random
        )
        let notices = Notices(
            store: store,
            queue: queue,
            links: links,
            attempts: attempts,
            limits: limits,
            random: random
        )

        // Logging in.
        sessions = Sessions(store: store, directory: directory, limits: limits)
        accountLinks = AccountLinks(
            store: store,
            sessions: sessions,
            masterKeys: masterKeys,
            address: address,
            events: events,
            clock: clock,
            random: random
        )
        nonces = Nonces(masterKeys: masterKeys, clock: clock, random: random)
        let codes = LoginCodes(store: store, masterKeys: masterKeys, random: random)
        let authenticator = Authenticator(
            store: store,
            directory: directory,
            codes: codes,
            nonces: nonces,
            random: random
        )
        let hints = FactorHints(masterKeys: masterKeys)
        let delivery = CodeDelivery(
            attempts: attempts,
            queue: queue,
            gateway: smsGateway,
            limits: limits,
            random: random
        )
        let checks = FactorChecks(
            store: store,
            delivery: delivery,
            hints: hints,
            attempts: attempts,
            limits: limits,
            clock: clock
        )
        let enrolment = FactorEnrolment(
            masterKeys: masterKeys,
            delivery: delivery,
            attempts: attempts,
            limits: limits,
            clock: clock,
            random: random
        )
        let pendings = PendingLogins(
            store: store,
            masterKeys: masterKeys,
            checks: checks,
            hints: hints,
            clock: clock,
            random: random
        )
        let writer = LoginWriter(
            store: store,
            masterKeys: masterKeys,
            random: random,
            banKey: banKey,
            pendings: pendings,
            admission: admission,
            claims: ClaimOffers(store: store, links: links, logger: logger)
        )
        let completion = LoginCompletion(
            authenticator: authenticator,
            writer: writer,
            notices: notices,
            revoker: revoker,
            admission: admission,
            limits: limits
        )
        secondFactor = SecondFactor(
            store: store,
            directory: directory,
            sessions: sessions,
            pendings: pendings,
            checks: checks,
            writer: writer,
            completion: completion,
            admission: admission,
            log: log,
            limits: limits,
            clock: clock,
            random: random
        )
        ownFactors = OwnFactors(
            store: store,
            sessions: sessions,
            secondFactor: secondFactor,
            pendings: pendings,
            enrolment: enrolment,
            checks: checks,
            hints: hints,
            notices: notices,
            events: events
        )
        dialogFactors = DialogFactors(
            store: store,
            masterKeys: masterKeys,
            codes: codes,
            pendings: pendings,
            checks: checks,
            enrolment: enrolment,
            secondFactor: secondFactor,
            ownFactors: ownFactors,
            log: log,
            clock: clock
        )
        loginFlow = LoginFlow(
            authenticator: authenticator,
            writer: writer,
            ownFactors: ownFactors,
            admission: admission,
            log: log,
            limits: limits
        )
        dialog = LoginDialog(
            store: store,
            masterKeys: masterKeys,
            authenticator: authenticator,
            writer: writer,
            codes: codes,
            factors: dialogFactors,
            challenges: DialogChallenges(store: store),
            admission: admission,
            log: log,
            limits: limits,
            clock: clock,
            random: random
        )
        linking = Linking(
            store: store,
            sessions: sessions,
            authenticator: authenticator,
            writer: writer,
            notices: notices,
            revoker: revoker,
            admission: admission,
            events: events,
            limits: limits
        )
        sameAddressLogins = SameAddressLogins(
            store: store,
            pendings: pendings,
            checks: checks,
            completion: completion,
            linking: linking,
            sessions: sessions,
            log: log,
            random: random
        )
        reverseAuthorization = ReverseAuthorization(admission: admission, limits: limits)
        tokens = TokenIssuer(
            store: store,
            sessions: sessions,
            tokenKeys: directory.tokenKeys,
            address: address,
            clock: clock,
            random: random
        )
        refreshTokens = RefreshTokens(store: store, directory: directory, limits: limits, random: random)
        providerTokens = ProviderTokens(
            store: store,
            directory: directory,
            sessions: sessions,
            masterKeys: masterKeys,
            check: TokenCheck(store: store, masterKeys: masterKeys, clock: clock),
            admission: admission,
            limits: limits,
            clock: clock
        )

        // Accounts.
        let verifier = PasswordVerifier(
            store: store,
            masterKeys: masterKeys,
            passwords: passwords ?? PasswordHasher(random: random),
            attempts: attempts,
            formerSystems: formerSystems,
            limits: limits
        )
        passwordLogins = PasswordLogins(
            store: store,
            directory: directory,
            verifier: verifier,
            pendings: pendings,
            admission: admission,
            log: log,
            limits: limits,
            random: random
        )
        serverLogin = ServerLogin(
            store: store,
            directory: directory,
            admission: admission,
            log: log,
            limits: limits,
            random: random
        )
        reauthentication = Reauthentication(store: store, sessions: sessions, verifier: verifier, limits: limits)
        passwordReset = PasswordReset(
            store: store,
            verifier: verifier,
            links: links,
            factors: LinkFactors(store: store, pendings: pendings, checks: checks, hints: hints),
            notices: notices,
            revoker: revoker,
            events: events,
            limits: limits
        )
        confirmation = EmailConfirmation(
            store: store,
            verifier: verifier,
            links: links,
            resets: passwordReset,
            events: events,
            limits: limits
        )
        reversal = ChangeReversal(
            store: store,
            verifier: verifier,
            resets: passwordReset,
            notices: notices,
            revoker: revoker,
            events: events,
            limits: limits
        )
        merges = AccountMerges(
            store: store,
            masterKeys: masterKeys,
            notices: notices,
            events: events
        )
        ownMerges = OwnMerges(sessions: sessions, merges: merges)
        claims = MailedClaims(
            store: store,
            verifier: verifier,
            resets: passwordReset,
            merges: merges,
            revoker: revoker,
            events: events
        )
        registrations = Registrations(
            store: store,
            directory: directory,
            verifier: verifier,
            links: links,
            confirmation: confirmation,
            attempts: attempts,
            admission: admission,
            events: events,
            log: log,
            limits: limits,
            random: random
        )
        let userSearches = UserSearches(store: searches ?? store, limits: limits.searches, logger: logger)
        addressVerification = AddressVerification(
            store: store,
            searches: userSearches,
            directory: directory,
            sessions: sessions,
            reauthentication: reauthentication,
            links: links,
            notices: notices,
            events: events,
            limits: limits
        )
        mailedLogins = MailedLogins(
            store: store,
            masterKeys: masterKeys,
            directory: directory,
            sessions: sessions,
            verifier: verifier,
            reauthentication: reauthentication,
            passwordLogins: passwordLogins,
            registrations: registrations,
            links: links,
            notices: notices,
            revoker: revoker,
            log: log,
            limits: limits,
            clock: clock,
            random: random
        )
        collection = UserCollection(
            store: store,
            searches: userSearches,
            sessions: sessions
        )
        otherRecords = OtherRecords(
            store: store,
            directory: directory,
            collection: collection,
            verifier: verifier,
            creation: UserCreation(store: store, verifier: verifier, random: random),
            notices: notices,
            confirmation: confirmation,
            registrations: registrations,
            limits: limits
        )
        let erasures = Erasures(store: store, revoker: revoker, banKey: banKey)
        accountDeletions = AccountDeletions(
            store: store,
            sessions: sessions,
            collection: collection,
            notices: notices,
            erasures: erasures,
            revoker: revoker,
            banKey: banKey,
            clock: clock,
            random: random
        )
        accountUpdate = AccountUpdate(
            store: store,
            others: otherRecords,
            directory: directory,
            sessions: sessions,
            verifier: verifier,
            reauthentication: reauthentication,
            notices: notices,
            confirmation: confirmation,
            registrations: registrations,
            events: events,
            limits: limits
        )
        roles = Roles(store: store, sessions: sessions)
        serviceAccounts = ServiceAccounts(
            store: store,
            directory: directory,
            masterKeys: masterKeys,
            address: address,
            clock: clock
        )
        backendLogins = BackendLogins(store: store, serverLogin: serverLogin, records: otherRecords)
        backendAccounts = BackendAccounts(
            store: store,
            searches: userSearches,
            accountUpdate: accountUpdate,
            notices: notices,
            revoker: revoker,
            banKey: banKey
        )

        // Callbacks of providers.
        deauthorizations = Deauthorizations(store: store)
        deletions = DeletionRequests(
            store: store,
            erasures: erasures,
            clock: clock,
            random: random
        )
        webhooks = ProviderWebhooks(store: store)
    }
}
