import ArgumentParser
import Description
import Domain
import Glibc

// Server — the executable `federation`.
//
// It owns the command line, the configuration, and the one place where everything is wired together (Wiring.swift).
//
// It holds no rule: logins, documents and the responses to failures are defined in the modules below.

@main
struct FederationCommand: AsyncParsableCommand {
    static let version = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: "federation",
        abstract:
            "A self-hosted user service: logins with Facebook, Twitter and passwords into your own PostgreSQL users table.",
        discussion: """
            Applications are stored in the database. Describe an application in a document under version control, with \
            check, diff, apply and export. Or change single resources with get, list, set, patch and delete, which use \
            the paths, names and values of the administration API. Either way each change is checked first and written \
            to the audit log, and running instances follow within a second.

            A first set-up, from an empty database to a running service:

              federation init shop --app-id 1234567890 -o shop.json
              federation check shop.json
              federation migrate
              federation apply shop.json
              federation serve

            federation help COMMAND shows a command with examples. --json prints only the response of the \
            administration API, for programs. A secret is read from a file or from standard input, never from an \
            argument. Commands that delete something permanently ask for confirmation on a terminal, and need \
            --confirm elsewhere.

            ENVIRONMENT
            All variables can also be set in a JSON file, which FEDERATION_CONFIG_FILE names. See \
            docs/configuration.md. Required variables:

              FEDERATION_DATABASE_URL       postgres://user:password@host:5432/database
              FEDERATION_MASTER_KEY         32 bytes as base64 (openssl rand -base64 32),
                or FEDERATION_MASTER_KEY_FILE, a file with the key
              FEDERATION_TRUSTED_PROXIES    for serve: the number of proxies in front, or 0

            EXIT CODES
               0  success
               1  diff, mapping diff: there are differences; doctor: there are findings;
                  import check: something is missing
              64  wrong usage, or a removal without confirmation
              65  the input is not valid, conflicts with the stored state, or the resource
                  was changed meanwhile
              66  a file cannot be read, or an application, user, … does not exist
              69  the database or a provider cannot be reached
              70  the service itself failed
              73  a file cannot be created
              74  output cannot be written
              78  the configuration is not valid

            COMPLETION
            federation --generate-completion-script bash (or zsh, fish) prints the script for command completion. \
            docs/cli.md says where to install it.
            """,
        version: version,
        groupedSubcommands: [
            CommandGroup(
                name: "Service",
                subcommands: [ServeCommand.self, MigrateCommand.self, DoctorCommand.self]
            ),
            CommandGroup(
                name: "Document",
                subcommands: [
                    InitCommand.self, CheckCommand.self, DiffCommand.self, ApplyCommand.self, ExportCommand.self,
                    SchemaCommand.self,
                ]
            ),
            CommandGroup(
                name: "Resource",
                subcommands: [
                    GetCommand.self, ListCommand.self, SetCommand.self, PatchCommand.self, DeleteCommand.self,
                ]
            ),
            CommandGroup(
                name: "Application",
                subcommands: [
                    ProviderCommand.self, PropertyCommand.self, MappingCommand.self, AdoptCommand.self,
                ]
            ),
            CommandGroup(
                name: "User",
                subcommands: [UserCommand.self, IdentityCommand.self, ImportCommand.self, InvitationCommand.self]
            ),
            CommandGroup(
                name: "Administration",
                subcommands: [
                    ConsoleCommand.self, LoginsCommand.self, SecretsCommand.self, TokenKeyCommand.self,
                    MailCommand.self,
                ]
            ),
        ]
    )

    /// Returns the error message for an unknown subcommand among the arguments; nil if all subcommands are known.
    static func unknownCommand(in arguments: [String]) -> String? {
        var command: any ParsableCommand.Type = FederationCommand.self
        var path = ""
        for word in arguments {
            let below = command.configuration.subcommands
            guard !below.isEmpty, !word.hasPrefix("-") else { return nil }
            guard let next = below.first(where: { $0._commandName == word }) else {
                guard word != "help" else { return nil }
                let names = below.map { $0._commandName }
                let hint = NearestName.hint(for: word, among: names)
                return """
                    unknown command\(path) \(word)\(hint); federation help\(path) lists the commands
                    Usage: federation\(path) <subcommand>
                    """
            }
            command = next
            path += " \(word)"
        }
        return nil
    }

    /// Runs the command, prints its outcome as ArgumentParser would, and ends the process.
    ///
    /// The process ends without running exit handlers. Threads of libraries that libpq and libcurl use may still run.
    /// An exit handler of such a library could free memory that a thread is about to free as well.
    static func main() async {
        var code = ExitCode.success
        do {
            if let problem = unknownCommand(in: Array(CommandLine.arguments.dropFirst())) {
                throw Exit.refusing(problem)
            }
            if let help = try ResourceVerb.help(for: Array(CommandLine.arguments.dropFirst())) {
                try Terminal.print(help + "\n")
                _exit(ExitCode.success.rawValue)
            }
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            code = exitCode(for: error)
            let message = fullMessage(for: error)
            if code.isSuccess { print(message) } else if !message.isEmpty { Terminal.say(message) }
        }
        if fflush(nil) != 0, code.isSuccess { code = Exit.inputOutput }
        _exit(code.rawValue)
    }
}
