import Administration
import ArgumentParser
import Domain
import Encodings
import Store

struct SecretsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "secrets",
        abstract: "Manage the master key and the secrets that it encrypts.",
        subcommands: [Status.self, Rotate.self, Register.self]
    )

    struct Status: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show which master keys encrypt secrets.",
            discussion: """
                Keys are shown by their ids, which reveal nothing. A master key encrypts app secrets, verify tokens of \
                webhooks, stored provider tokens, password hashes, second factors, the keys of signed tokens, the key \
                of bans, and temporarily pending logins and queued mails. If a key is not available, its secrets \
                cannot be decrypted: set it as FEDERATION_MASTER_KEY_PREVIOUS, or store the secrets again.

                Example:
                  federation secrets status
                """
        )

        var masterKeyUse: MasterKeyUse { .any }

        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
            try output.show(
                try await administration.secrets.count(),
                [
                    OutputOptions.Section(
                        member: "secrets",
                        columns: [Column("MASTER KEY", "keyId", .id)]
                            + EncryptedKind.allCases.map { Column($0.title, $0.rawValue, .id) }
                            + [Column("KNOWN", "known", .id)]
                    )
                ]
            )
        }
    }

    struct Rotate: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Encrypt all secrets with the current master key.",
            discussion: """
                First restart each instance with the new key as FEDERATION_MASTER_KEY and the old one as \
                FEDERATION_MASTER_KEY_PREVIOUS. Then run this command. Then remove the old key from all instances. If \
                interrupted, run it again. At the end the database only accepts the new key: an instance that only has \
                the old one stops serving.

                Example:
                  FEDERATION_MASTER_KEY_FILE=/etc/federation/new.key \\
                  FEDERATION_MASTER_KEY_PREVIOUS_FILE=/etc/federation/old.key \\
                  federation secrets rotate
                """
        )

        /// Allows any master key for this command, since the rotation itself registers the new key.
        var masterKeyUse: MasterKeyUse { .any }

        func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
            let count = try await administration.secrets.rotate(by: actor) { Terminal.say("\($0) secrets rotated") }
            try Terminal.report(
                count == 0
                    ? "All secrets are already encrypted with the current master key."
                    : "\(count) secrets are now encrypted with the current master key."
            )
            Terminal.say(
                """
                Next: wait ten minutes, until no pending login needs the old key. Then restart every instance without \
                FEDERATION_MASTER_KEY_PREVIOUS, and destroy the old key unless a database backup needs it.
                """
            )
        }
    }

    struct Register: AdministrationCommand {
        static let configuration = CommandConfiguration(
            commandName: "register",
            abstract: "Register a new master key with the database if the former one is lost.",
            discussion: """
                A database only accepts its registered master keys. If the former key is available, use `federation \
                secrets rotate` instead. If it is lost, this registers FEDERATION_MASTER_KEY. Secrets of the lost key \
                can no longer be decrypted and must be set again: docs/operations/rotate.md.

                Example:
                  federation secrets register --confirm 66687aadf862bd77
                """
        )

        var masterKeyUse: MasterKeyUse { .any }

        @Option(
            name: .customLong("confirm"),
            help: "The id of the new key, as refused commands print it. Required without a terminal."
        )
        var confirmation: String?

        func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
            let id = administration.secrets.currentID
            var given = confirmation
            if given == nil {
                guard Terminal.canAsk else {
                    throw Exit.refusing(
                        """
                        new secrets would be encrypted with the master key \(id). To confirm, repeat the command with \
                        --confirm \(id).
                        """
                    )
                }
                given = Terminal.ask("New secrets will be encrypted with the master key \(id). Type the id to confirm:")
            }
            guard let given, given.hasSameBytes(as: id) else {
                throw Exit.refusing("the id of the configured key is \(id): nothing was registered.")
            }
            let isNew = try await administration.secrets.register(by: actor)
            try Terminal.report(
                isNew ? "The master key \(id) is registered." : "This master key was already registered."
            )
        }
    }
}
