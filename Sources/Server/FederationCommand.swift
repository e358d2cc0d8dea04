import ArgumentParser

// Server — the executable `federation`.
//
// It owns the command line, the configuration, and the one place where everything is wired together (Wiring.swift).
//
// It holds no rule: what a login is, what a document means, how a failure is answered, all that is below.

@main
struct FederationCommand: AsyncParsableCommand {
    static let version = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: "federation",
        abstract: "A self-hosted user federation service: login with Facebook into your own PostgreSQL users table.",
        discussion: """
            The configuration comes from environment variables, or from a JSON file that FEDERATION_CONFIG_FILE names. \
            docs/configuration.md lists all of them; these are needed:

              FEDERATION_DATABASE_URL       postgres://user:password@host:5432/database
              FEDERATION_MASTER_KEY         32 bytes as base64 (openssl rand -base64 32),
                or FEDERATION_MASTER_KEY_FILE, a file that holds them

            A first set-up, from an empty database to a running service:

              federation migrate
              federation check mappings/demo.json
              federation apply mappings/demo.json
              federation serve

            Exit codes follow sysexits.h: 0 success, 64 wrong usage, 65 a document or its data is wrong, 66 a file cannot \
            be read, 69 the database cannot be reached, 70 the service itself failed, 78 the configuration is wrong.
            """,
        version: version,
        subcommands: [ServeCommand.self, MigrateCommand.self, CheckCommand.self, ApplyCommand.self]
    )
}
