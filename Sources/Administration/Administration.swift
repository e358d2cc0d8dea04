// Administration — all operations of operators.
//
// This module owns applications and their parts as resources and as documents, the diff between stored and desired
// configuration, users as operators see them, imports of users, lists of ids to erase, operators and their tokens,
// previews, the audit log, the log of logins, the rotation of keys, and the log level of an instance.
//
// It must not know of HTTP or of the command line, nor of any provider beyond its kind and capabilities.

import Accounts
package import Applications
package import Domain
package import Encodings
import Factors
import Logins
package import Messaging
package import Observability
package import Passwords
package import Providers
package import Secrets
package import Store

/// All operations of operators, with one member for each kind of object, such as keys or users.
///
/// The administration API and the command line both call these use cases. Resources are JSON values: `--json` prints
/// what the API responds. The callers have already checked the rights of the operator.
package struct Administration: Sendable {
    package let applications: ApplicationAdministration
    package let keys: KeyAdministration
    package let serviceAccounts: ServiceAccountAdministration
    package let providers: ProviderAdministration
    package let properties: PropertyAdministration
    package let adoptions: AdoptionAdministration
    package let mappings: MappingAdministration
    package let mappingPreviews: MappingPreviews
    package let documents: DocumentAdministration
    package let users: UserAdministration
    package let userImport: UserImport
    package let identityImport: IdentityImport
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
    /// Returns how long this process' login stages and provider requests recently took, and which apps are unavailable.
    package let instance: @Sendable () -> JSONValue

    /// How long the service waits for a provider while it handles an operator's request.
    ///
    /// A login has the same limit.
    static let providerTimeout = Duration.seconds(5)

    private let store: Store
    private let masterKeys: MasterKeys
    private let directory: ApplicationDirectory?

    /// Checks that the master key with which this process encrypts secrets is registered in the database (decision
    /// D26).
    ///
    /// - Parameter encrypts: Whether the caller may encrypt values afterwards. If false, the check writes nothing. If
    ///   true and the database has no registered master key yet, the check registers the master keys that encrypt the
    ///   stored secrets. Without stored secrets, it registers the master key of this process.
    /// - Throws: `provider_misconfigured` when only other master keys are registered; `store_unavailable` and similar
    ///   errors.
    package func requireMasterKey(forEncryption encrypts: Bool = true) async throws(Failure) {
        if let refusal = directory?.keyRefusal { throw refusal }
        // A serving process compares the keys whenever it reads its configuration.
        guard directory?.isLoaded != true else { return }
        guard encrypts else { return try await store.requireKnown(masterKeys) }
        try await store.admit(masterKeys, registering: false)
    }

    /// Creates all use cases from their dependencies.
    ///
    /// - Parameters:
    ///   - store: The database for operators' requests. It has connections of its own, so that a slow query of an
    ///     operator never delays a login.
    ///   - callers: The database for the authentication of operators; nil to use `store`. With connections of its own,
    ///     a slow query of an operator delays no authentication.
    ///   - kinds: The provider kinds for configuration, checks and previews.
    ///   - masterKeys: The master keys, which encrypt and decrypt secrets.
    ///   - passwords: Hashes passwords, within limits that apply to the whole process. If nil, the use cases hash
    ///     passwords with limits of their own. Nil is right only if nothing else in the process hashes passwords.
    ///   - mailer: Writes mails to users; nil when the deployment sends no mails.
    ///   - smsGateway: Sends links to telephones; nil when the deployment sends no SMS.
    ///   - publicAddress: The address for links in mails. Without it, no link is sent.
    ///   - operatorOrigin: The origin of operators' passkeys. Without it, operators have no passkeys.
    ///   - directory: The configuration that this process caches. Each change of an operator updates the cache before
    ///     the response is sent.
    ///   - logLevel: The log level of this process.
    ///   - instance: Returns the state of this process; empty for a process that serves no requests.
    ///   - rounds: The results of this process' background work; nil for a process without background work.
    ///   - clock: The time of day.
    ///   - random: The source of random values for secrets.
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
        rounds: MaintenanceRounds? = nil,
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
        serviceAccounts = ServiceAccountAdministration(
            store: store,
            address: publicAddress,
            random: random,
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
        let passwords = passwords ?? PasswordHasher(random: random)
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
        let merges = AccountMerges(
            store: store,
            masterKeys: masterKeys,
            // A mail about a merge has a link.
            notices: Notices(
                store: store,
                queue: queue,
                links: links,
                attempts: attempts,
                limits: Limits(),
                random: random
            ),
            events: EventLog(pseudonyms: Pseudonyms(masterKeys.current))
        )
        users = UserAdministration(
            store: store,
            kinds: kinds,
            masterKeys: masterKeys,
            banKey: banKey,
            hints: FactorHints(masterKeys: masterKeys),
            notices: Notices(store: store, queue: queue, attempts: attempts, limits: Limits(), random: random),
            merges: merges,
            links: links,
            creation: UserCreation(
                store: store,
                verifier: PasswordVerifier(
                    store: store,
                    masterKeys: masterKeys,
                    passwords: passwords,
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
            passwords: passwords
        )
        identityImport = IdentityImport(store: store, banKey: banKey, kinds: kinds, changes: changes)
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
            options: SecretOptionReencryption(store: store, kinds: kinds, masterKeys: masterKeys, changes: changes)
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
