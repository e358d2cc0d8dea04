import Administration
import Applications
import ArgumentParser
import Curl
import FoundationEssentials
import Glibc
import Logging
import Mailing
import Providers
import Secrets
import Store
import Vocabulary

/// A command that works on what the database holds, as an owner: whoever runs it has the database's password.
protocol AdministrationCommand: AsyncParsableCommand, Sendable {
    /// Whether it also runs with a master key that the database does not know; else it is refused before it begins.
    static var takesUnknownMasterKey: Bool { get }

    /// The files that it reads: where one cannot be read, the command ends before the database is asked.
    var inputFiles: [String] { get }

    func run(_ administration: Administration, by actor: Actor) async throws
}

extension AdministrationCommand {
    static var takesUnknownMasterKey: Bool { false }

    var inputFiles: [String] { [] }

    func run() async throws {
        for file in inputFiles { try InputFile.requireReadable(file) }
        try await AdministrationTask.run(withUnknownMasterKey: Self.takesUnknownMasterKey) { try await run($0, by: $1) }
    }
}

/// Runs one command of an operator and ends.
enum AdministrationTask {
    /// Opens what the use cases need for as long as the closure runs, and turns what it throws into an exit code.
    ///
    /// - Parameters:
    ///   - limit: How long a statement may take, and wait for locks, where that is longer than operators' questions
    ///     may.
    ///   - takesUnknownKey: Whether the command may run with a master key that the database does not know.
    ///   - reaching: Whether a database that cannot be reached ends the command before it begins.
    ///   - body: The command.
    /// - Throws: An exit code.
    static func run(
        statementsWithin limit: Duration = .zero,
        withUnknownMasterKey takesUnknownKey: Bool = false,
        reaching: Bool = true,
        _ body: @Sendable @escaping (Administration, Actor) async throws -> Void
    ) async throws {
        let configuration: AdministrationConfiguration
        do { configuration = try ConfigurationReader.readAdministration() } catch let problems
            as ConfigurationProblems
        {
            throw Exit.saying("\(problems)", Exit.configuration)
        }
        let curl: CurlClient
        let mailer: Mailer?
        do {
            curl = try CurlClient(configuration: configuration.curl)
            mailer = try configuration.mail.map { try $0.mailer() }
        } catch {
            throw Exit.saying("federation: \(error)", Exit.software)
        }
        let kinds = ProviderKinds(configuration.providers, curl: curl, logger: Logger(label: "federation"))
        try await DatabaseTask.run(configuration.postgres, statementsWithin: limit, reaching: reaching) { store in
            let administration = Administration(
                store: store,
                kinds: kinds,
                masterKeys: configuration.masterKeys,
                mailer: mailer,
                publicAddress: PublicAddress(url: configuration.publicURL),
                clock: .system,
                random: .system
            )
            if !takesUnknownKey { try await administration.requireMasterKey() }
            try await body(administration, actor())
        }
    }

    /// The person at this machine, for the audit log: who became root by sudo, or the user of the process.
    private static func actor() -> Actor {
        let environment = ProcessInfo.processInfo.environment
        let user = environment["SUDO_USER"] ?? getpwuid(getuid()).map { String(cString: $0.pointee.pw_name) }
        return Actor(name: "cli:" + (user ?? String(getuid())), source: ProcessInfo.processInfo.hostName)
    }
}
