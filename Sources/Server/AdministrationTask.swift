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

/// A command that operators run on the machine, and that accesses the database directly.
///
/// It has the rights of an owner, since the user who runs it has the database's password.
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
    /// The command shows or changes the registered master keys; its own master key need not be registered.
    case any
    /// The command encrypts nothing.
    ///
    /// If keys are registered in the database, the command's master key must be one of them.
    case reads
    /// The command may encrypt values for the database.
    ///
    /// The command's master key must be registered in the database. If no key is registered yet, the command registers
    /// its master key.
    case encrypts
}

/// Runs one command of an operator, and gives it access to the administration's functions.
enum AdministrationTask {
    /// Opens what the command needs (database, provider clients, mailer), runs the command and turns errors into an
    /// exit code.
    ///
    /// - Parameters:
    ///   - limit: The timeout of SQL statements and locks, if it is longer than that of other commands.
    ///   - masterKeyUse: How the command uses the master key.
    ///   - requiringDatabase: Whether an unreachable database ends the command before it begins.
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
