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
            Applications live in the database. Describe one in a document under version control and use check, diff, apply and \
            export; or change it bit by bit with get, list, set, patch and delete, which take the paths, the names and the \
            values of the administration API. Either way every change is checked before it takes effect \
            and noted in the audit log, and running instances follow within a second.

            A first set-up, from an empty database to a running service:

              federation init shop --app-id 1234567890 -o shop.json
              federation check shop.json
              federation migrate
              federation apply shop.json
              federation serve

            federation help COMMAND shows a command with examples. What commands print is for people; --json prints what the \
            administration API answers, and nothing else, on standard output. A secret is taken from a file or from standard \
            input, never from an argument. Commands that remove something for good ask on a terminal, and need --confirm \
            elsewhere.

            ENVIRONMENT
            A JSON file that FEDERATION_CONFIG_FILE names may hold all of it; docs/configuration.md has every variable. These \
            are needed:

              FEDERATION_DATABASE_URL       postgres://user:password@host:5432/database
              FEDERATION_MASTER_KEY         32 bytes as base64 (openssl rand -base64 32),
                or FEDERATION_MASTER_KEY_FILE, a file that holds them
              FEDERATION_TRUSTED_PROXIES    for serve: how many proxies are in front, 0 for none

            EXIT CODES
               0  it is done
               1  diff, mapping diff: something differs; doctor: something should be changed
              64  the command was called in a wrong way, or a removal is not confirmed
              65  what was given is wrong, conflicts with what there is, or was changed
                  by somebody else meanwhile
              66  a file cannot be read, or there is no such application, user, …
              69  the database or a provider cannot be reached
              70  the service itself failed
              73  a file cannot be made
              74  output cannot be written
              78  the configuration is wrong

            COMPLETION
            federation --generate-completion-script bash (or zsh, fish) prints what the shell needs to complete commands; \
            docs/cli.md says where to put it.
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
                subcommands: [UserCommand.self, InvitationCommand.self]
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

    /// Returns the message about the first argument that should be a command and is none; nil when there is none.
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
                    there is no command\(path) \(word)\(hint); federation help\(path) lists those that there are
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
    /// It ends without exit handlers: those of libpq's and libcurl's libraries free memory that their threads, which
    /// are not joined, may be about to free as well.
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
