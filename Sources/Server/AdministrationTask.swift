import Administration
import Applications
import ArgumentParser
import Curl
import Domain
import FoundationEssentials
import Glibc
import Logging
import Messaging
import Providers
import Secrets
import Store

/// A command that an operator runs in a shell, and that accesses the database directly.
///
/// The command may do everything that an operator with the role *owner* may do, since its operator has the database's
/// password.
protocol AdministrationCommand: AsyncParsableCommand, Sendable {
    /// How the command uses the master key.
    var masterKeyUse: MasterKeyUse { get }

    /// The files that the command reads.
    ///
    /// If a file is unreadable, the command ends before it connects to the database.
    var inputFiles: [String] { get }

    func run(_ administration: Administration, by actor: ChangeAuthor) async throws
}

extension AdministrationCommand {
    var masterKeyUse: MasterKeyUse { .encrypts }

    var inputFiles: [String] { [] }

    func run() async throws {
        for file in inputFiles { try InputFile.requireReadable(file) }
        try await AdministrationTask.run(masterKey: masterKeyUse) { try await run($0, by: $1) }
    }
}

/// How a command uses the master key of the installation.
///
/// The use decides whether the command's master key must be registered in the database (decision D26).
enum MasterKeyUse {
    /// The command shows or changes the registered master keys.
    ///
    /// The master key in the command's configuration need not be registered.
    case any
    /// The command encrypts nothing.
    ///
    /// If master keys are registered in the database, the one in the command's configuration must be among them.
    case reads
    /// The command may encrypt values for the database.
    ///
    /// The master key in the command's configuration must be registered in the database. If none is registered yet, the
    /// command registers it.
    case encrypts
}

/// Runs one command of an operator, with access to the functions of `Administration`.
enum AdministrationTask {
    /// Opens what the command needs (database, provider clients, mailer), runs the command and turns errors into an
    /// exit code.
    ///
    /// - Parameters:
    ///   - limit: The timeout of SQL statements and of waits for locks. If the configured timeout is longer, it applies
    ///     instead.
    ///   - masterKeyUse: How the command uses the master key.
    ///   - requiringDatabase: Whether the command ends at once if the database cannot be reached.
    ///   - body: The command.
    /// - Throws: An exit code.
    static func run(
        statementsWithin limit: Duration = .zero,
        masterKey masterKeyUse: MasterKeyUse = .encrypts,
        requiringDatabase: Bool = true,
        _ body: @Sendable @escaping (Administration, ChangeAuthor) async throws -> Void
    ) async throws {
        let configuration: AdministrationConfiguration
        do { configuration = try ConfigurationReader.readAdministration() } catch let problems
            as ConfigurationProblems
        {
            throw Exit.saying("\(problems)", Exit.configuration)
        }
        let curl: CurlClient
        let mailer: Mailer?
        let smsGateway: SMSGateway?
        do {
            curl = try CurlClient(configuration: configuration.curl)
            mailer = try configuration.mail.map { try $0.mailer() }
            smsGateway = try configuration.sms.map { try $0.gateway() }
        } catch {
            throw Exit.saying("federation: \(error)", Exit.software)
        }
        let kinds = ProviderKinds(configuration.providers, curl: curl, logger: Logger(label: "federation"))
        try await DatabaseTask.run(
            configuration.postgres,
            statementsWithin: limit,
            requiringDatabase: requiringDatabase
        ) { store in
            let administration = Administration(
                store: store,
                kinds: kinds,
                masterKeys: configuration.masterKeys,
                mailer: mailer,
                smsGateway: smsGateway,
                publicAddress: PublicAddress(url: configuration.publicURL),
                clock: .system,
                random: .system
            )
            switch masterKeyUse {
            case .any: break
            case .reads: try await administration.requireMasterKey(forEncryption: false)
            case .encrypts: try await administration.requireMasterKey()
            }
            try await body(administration, actor())
        }
    }

    /// Returns the author that the audit log names for a command: the user who ran sudo, or the user of the process.
    private static func actor() -> ChangeAuthor {
        let environment = ProcessInfo.processInfo.environment
        let user = environment["SUDO_USER"] ?? getpwuid(getuid()).map { String(cString: $0.pointee.pw_name) }
        return ChangeAuthor(name: "cli:" + (user ?? String(getuid())), source: ProcessInfo.processInfo.hostName)
    }
}
