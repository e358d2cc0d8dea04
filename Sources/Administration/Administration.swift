// Administration — all that operators do.
//
// It owns applications and their parts as resources and as documents, the difference between what is stored and what is
// wanted, people as operators see them, imports of users, lists of ids to erase, operators and their tokens, previews,
// the audit log, the log of logins, the rotation of keys, and how much an instance writes into its log.
//
// It must not know of HTTP or of the command line, nor of any provider beyond its kind and capabilities.

import Accounts
package import Applications
import Deletions
import Factors
import KeptTokens
package import Mailing
import Notifications
package import Observability
package import Passwords
package import Providers
package import Secrets
package import Store
package import Texting
package import Vocabulary

/// Everything that operators do, a use case for each subject; the administration API and the command line are two faces
/// of it.
///
/// Resources come and go as JSON: what the command line prints with `--json` is what the API answers. Whoever calls has
/// established that the actor may do it.
package struct Administration: Sendable {
    package let applications: ApplicationAdministration
    package let keys: KeyAdministration
    package let providers: ProviderAdministration
    package let properties: PropertyAdministration
    package let adoptions: AdoptionAdministration
    package let mappings: MappingAdministration
    package let mappingPreviews: MappingPreviews
    package let documents: DocumentAdministration
    package let users: UserAdministration
    package let userImport: UserImport
    package let erasureLists: ErasureLists
    package let bans: BanAdministration
    package let invitations: InvitationAdministration
    package let operators: OperatorAdministration
    package let operatorFactors: OperatorFactorAdministration
    package let audit: AuditAdministration
    package let logins: LoginAdministration
    package let secrets: SecretRotation
    package let tokenKeys: TokenKeyRotation
    package let mails: MailAdministration
    package let background: BackgroundWork
    package let logLevel: LogLevelAdministration
    package let doctor: Doctor
    /// What this process tells of itself, read when it is asked for.
    package let instance: @Sendable () -> JSONValue

    /// What a provider is given to answer an operator: as long as a login may take.
    static let providerPatience = Duration.seconds(5)

    private let store: Store
    private let masterKeys: MasterKeys
    private let directory: ApplicationDirectory?

    /// Makes sure that the database knows the master key (decision D26).
    ///
    /// - Parameter isSealing: Whether something may be sealed afterwards: then a database that knows no key gets this
    ///   one. Otherwise nothing is written.
    /// - Throws: `provider_misconfigured` when the database knows others; `store_unavailable` and its like.
    package func requireMasterKey(sealing isSealing: Bool = true) async throws(Failure) {
        if let refusal = directory?.keyRefusal { throw refusal }
        // A process that serves asks the database with each look at the configuration.
        guard directory?.isLoaded != true else { return }
        guard isSealing else { return try await store.requireKnown(masterKeys) }
        try await store.admit(masterKeys, registering: false)
    }

    /// Makes each use case from what it uses.
    ///
    /// - Parameters:
    ///   - store: For what operators ask and change; on connections of its own, so that a slow question of an operator
    ///     never holds up a login.
    ///   - callers: For who they are; the same unless requests of many operators come.
    ///   - kinds: The kinds of providers, by which the service is configured, checks and previews.
    ///   - masterKeys: Seal and open secrets.
    ///   - passwords: Hashes passwords, under the bounds of the process; nil where nobody else hashes any.
    ///   - mailer: Writes what people are told; nil when the deployment sends no mails.
    ///   - smsGateway: Sends links to telephones; nil when the deployment sends no messages there.
    ///   - publicAddress: Where links of mails lead; without one none is sent.
    ///   - operatorOrigin: Where operators' passkeys are made and shown; without one they have none.
    ///   - directory: The copy of the configuration that follows each change before the change is answered.
    ///   - logLevel: What this process writes of its log.
    ///   - instance: What this process tells of itself; nothing of one that serves nobody.
    ///   - rounds: How this process' work in the background went; nil in one that does none.
    ///   - clock: The time of day.
    ///   - random: Where what must not be guessed comes from.
    package init(
        store: Store,
        callers: Store? = nil,
        kinds: ProviderKinds,
        masterKeys: MasterKeys,
        passwords: PasswordHasher? = nil,
        mailer: Mailer? = nil,
        smsGateway: SMSGateway? = nil,
        publicAddress: PublicAddress = PublicAddress(url: nil),
        operatorOrigin: PublicAddress = PublicAddress(url: nil),
        directory: ApplicationDirectory? = nil,
        logLevel: LogLevel = LogLevel(),
        instance: @escaping @Sendable () -> JSONValue = { .object([:]) },
        rounds: UpkeepRounds? = nil,
        clock: WallClock,
        random: RandomSource
    ) {
        let changes = ApplicationChanges(
            store: store,
            kinds: kinds,
            masterKeyID: masterKeys.current.id,
            directory: directory
        )
        (self.store, self.masterKeys, self.directory) = (store, masterKeys, directory)
        let banKey = BanKey(store: store, masterKeys: masterKeys, random: random)
        applications = ApplicationAdministration(store: store, kinds: kinds, changes: changes)
        keys = KeyAdministration(random: random, changes: changes)
        providers = ProviderAdministration(
            store: store,
            kinds: kinds,
            masterKeys: masterKeys,
            clock: clock,
            changes: changes
        )
        properties = PropertyAdministration(kinds: kinds, changes: changes)
        adoptions = AdoptionAdministration(store: store, changes: changes)
        mappings = MappingAdministration(store: store, kinds: kinds, changes: changes)
        mappingPreviews = MappingPreviews(store: store, kinds: kinds, masterKeys: masterKeys, changes: changes)
        documents = DocumentAdministration(
            store: store,
            kinds: kinds,
            masterKeys: masterKeys,
            clock: clock,
            changes: changes
        )
        let queue = MailQueue(store: store, masterKeys: masterKeys, mailer: mailer, clock: clock, random: random)
        let attempts = AttemptCounter(store: store)
        let links = MailedLinks(
            store: store,
            queue: queue,
            attempts: attempts,
            address: publicAddress,
            pseudonyms: Pseudonyms(masterKeys.current),
            limits: Limits(),
            random: random
        )
        users = UserAdministration(
            store: store,
            kinds: kinds,
            masterKeys: masterKeys,
            banKey: banKey,
            hints: FactorHints(masterKeys: masterKeys),
            notices: Notices(store: store, queue: queue, attempts: attempts, limits: Limits(), random: random),
            links: links,
            creation: UserCreation(
                store: store,
                verifier: PasswordVerifier(
                    store: store,
                    masterKeys: masterKeys,
                    passwords: passwords ?? PasswordHasher(random: random),
                    attempts: attempts,
                    limits: Limits()
                ),
                random: random
            ),
            clock: clock,
            random: random,
            changes: changes
        )
        invitations = InvitationAdministration(
            store: store,
            kinds: kinds,
            masterKeys: masterKeys,
            links: links,
            gateway: smsGateway,
            attempts: attempts,
            random: random,
            changes: changes
        )
        userImport = UserImport(
            store: store,
            masterKeys: masterKeys,
            banKey: banKey,
            kinds: kinds,
            changes: changes,
            random: random
        )
        erasureLists = ErasureLists(
            store: store,
            masterKeys: masterKeys,
            kinds: kinds,
            erasures: Erasures(
                store: store,
                revoker: PermissionRevoker(store: store, masterKeys: masterKeys),
                banKey: banKey
            ),
            changes: changes,
            clock: clock,
            random: random
        )
        bans = BanAdministration(store: store, changes: changes)
        operators = OperatorAdministration(store: store, callers: callers ?? store, clock: clock, random: random)
        operatorFactors = OperatorFactorAdministration(
            factors: OperatorFactors(
                store: store,
                masterKeys: masterKeys,
                origin: operatorOrigin,
                clock: clock,
                random: random
            )
        )
        audit = AuditAdministration(store: store)
        logins = LoginAdministration(store: store, clock: clock)
        secrets = SecretRotation(
            store: store,
            masterKeys: masterKeys,
            options: SecretOptionResealing(store: store, kinds: kinds, masterKeys: masterKeys, changes: changes)
        )
        mails = MailAdministration(store: store, mailer: mailer, clock: clock)
        background = BackgroundWork(store: store, rounds: rounds)
        tokenKeys = TokenKeyRotation(store: store, masterKeys: masterKeys, directory: directory)
        self.logLevel = LogLevelAdministration(store: store, level: logLevel, clock: clock)
        self.instance = instance
        doctor = Doctor(
            store: store,
            kinds: kinds,
            masterKeys: masterKeys,
            providers: providers,
            changes: changes,
            secrets: secrets,
            sendsMails: mailer != nil,
            directory: directory,
            clock: clock
        )
    }
}
