import Administration
import ArgumentParser
import Vocabulary

struct SecretsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "secrets",
        abstract: "The master key, and what is stored under it.",
        subcommands: [Status.self, Rotate.self]
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

        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            try output.show(
                try await administration.secrets.count(),
                [
                    OutputOptions.Section(
                        member: "secrets",
                        columns: [
                            Column("MASTER KEY", "keyId", .id), Column("SECRETS", "count", .id),
                            Column("KEPT TOKENS", "tokens", .id), Column("PASSWORDS", "passwords", .id),
                            Column("FACTORS", "factors", .id),
                            Column("TOKEN KEYS", "tokenKeys", .id), Column("BAN KEYS", "banKeys", .id),
                            Column("PASSING", "passing", .id),
                            Column("KNOWN", "known", .id),
                        ]
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
                It works in small steps and goes on where it was interrupted.

                Example:
                  FEDERATION_MASTER_KEY_FILE=/etc/federation/new.key \\
                  FEDERATION_MASTER_KEY_PREVIOUS_FILE=/etc/federation/old.key \\
                  federation secrets rotate
                """
        )

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
}
