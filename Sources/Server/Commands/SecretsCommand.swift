import Administration
import ArgumentParser
import Domain
import Encodings
import Store

struct SecretsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "secrets",
        abstract: "The master key, and what is stored under it.",
        subcommands: [Status.self, Rotate.self, Register.self]
    )

    struct Status: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show under which master keys secrets are stored.",
            discussion: """
                Keys are named by their ids, which tell nothing about them. Beside app secrets and the verify tokens of \
                webhooks they seal the tokens that are kept with identities, the hashes of passwords, second factors, the keys of signed tokens, the key of bans, and for a while what passes: between two steps of a login, \
                and mails that wait to be sent. A secret whose key is not known cannot be opened: \
                set that key as FEDERATION_MASTER_KEY_PREVIOUS, or store the secret again.

                Example:
                  federation secrets status
                """
        )

        var masterKeyUse: MasterKeyUse { .any }

        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            try output.show(
                try await administration.secrets.count(),
                [
                    OutputOptions.Section(
                        member: "secrets",
                        columns: [Column("MASTER KEY", "keyId", .id)]
                            + SealedKind.allCases.map { Column($0.title, $0.rawValue, .id) }
                            + [Column("KNOWN", "known", .id)]
                    )
                ]
            )
        }
    }

    struct Rotate: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Store all secrets anew under the current master key.",
            discussion: """
                While instances run: give every instance the new key as FEDERATION_MASTER_KEY and the old one as \
                FEDERATION_MASTER_KEY_PREVIOUS, one after the other; run this; then take the old key away from all of them. \
                It works in small steps and goes on where it was interrupted. At its end the database knows the new key alone: \
                an instance that has only the old one serves nobody from then on.

                Example:
                  FEDERATION_MASTER_KEY_FILE=/etc/federation/new.key \\
                  FEDERATION_MASTER_KEY_PREVIOUS_FILE=/etc/federation/old.key \\
                  federation secrets rotate
                """
        )

        /// The rotation registers the new key.
        var masterKeyUse: MasterKeyUse { .any }

        func run(_ administration: Administration, by actor: Actor) async throws {
            let count = try await administration.secrets.rotate(by: actor) { Terminal.say("\($0) secrets stored anew") }
            try Terminal.report(
                count == 0
                    ? "Every secret is under the current master key already."
                    : "\(count) secrets are under the current master key."
            )
            Terminal.say(
                """
                What comes next: when ten minutes have passed, so that no login under way needs it, restart every instance without \
                FEDERATION_MASTER_KEY_PREVIOUS, and destroy the old key where no backup of the database needs it.
                """
            )
        }
    }

    struct Register: AdministrationCommand {
        static let configuration = CommandConfiguration(
            commandName: "register",
            abstract: "Have the database know a new master key when the former one is lost.",
            discussion: """
                A database knows its master keys, and nothing is stored under another one. A key that replaces one at hand \
                needs no registration: the database learns it by federation secrets rotate. When the former key is lost, this has \
                the database know FEDERATION_MASTER_KEY all the same. What is stored under the lost key opens no more and \
                has to be set anew: docs/operations/rotate.md.

                Example:
                  federation secrets register --confirm 66687aadf862bd77
                """
        )

        var masterKeyUse: MasterKeyUse { .any }

        @Option(
            name: .customLong("confirm"),
            help: "The id of the new key, as refused commands print it; needed where there is no terminal to ask."
        )
        var confirmation: String?

        func run(_ administration: Administration, by actor: Actor) async throws {
            let id = administration.secrets.currentID
            var given = confirmation
            if given == nil {
                guard Terminal.canAsk else {
                    throw Exit.refusing(
                        """
                        secrets would be stored under the master key \(id). Repeat the command with --confirm \(id) if \
                        that is meant.
                        """
                    )
                }
                given = Terminal.ask("Secrets will be stored under the master key \(id). Type the id to confirm:")
            }
            guard let given, given.hasSameBytes(as: id) else {
                throw Exit.refusing("the key that is given has the id \(id): nothing was registered.")
            }
            let isNew = try await administration.secrets.register(by: actor)
            try Terminal.report(
                isNew ? "The database knows the master key \(id)." : "The database knew this master key already."
            )
        }
    }
}
