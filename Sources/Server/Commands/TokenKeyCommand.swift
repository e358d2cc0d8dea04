import ArgumentParser
import Federation
import Identity

struct TokenKeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token-key",
        abstract: "The keys that sign the tokens by which other services check users.",
        subcommands: [List.self, Rotate.self]
    )

    struct List: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the keys, the newest first.",
            discussion: """
                A key that is published is in /.well-known/jwks.json. The newest signs when ten minutes have passed, and the one before \
                it until then. The first one is made when the first token is asked for.

                Example:
                  federation token-key list
                """
        )

        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            try output.show(
                try await administration.tokenKeys(),
                [
                    OutputOptions.Section(
                        member: "items",
                        columns: [
                            Column("KEY", "id", .id), Column("CREATED", "created", .moment),
                            Column("RETIRED", "retired", .moment), Column("SIGNS", "signs", .id),
                            Column("PUBLISHED", "published", .id), Column("MASTER KEY", "keyId", .id),
                        ]
                    )
                ]
            )
        }
    }

    struct Rotate: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a new key, which signs in ten minutes.",
            discussion: """
                No token is refused meanwhile: services that follow /.well-known/jwks.json learn the new key before it signs, and \
                the former ones are published until their last token has ended.

                When a key may be known to others, --at-once removes all former keys. Tokens of theirs are refused as soon as services \
                have fetched the keys again; users get new ones with their next request.

                Examples:
                  federation token-key rotate
                  federation token-key rotate --at-once
                """
        )

        @Flag(help: "Remove all former keys.")
        var atOnce = false

        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            let made = try await administration.rotateTokenKeys(.object(["atOnce": .bool(atOnce)]), by: actor)
            guard !output.json, let key = made.object else { return try output.show(made, []) }
            let seconds = key["signsInSeconds"]?.integer ?? 0
            let moment = seconds == 0 ? "signs from now on" : "signs in \(seconds / 60) minutes"
            try Terminal.report("The key \(key["id"]?.string ?? "") is published and \(moment).")
        }
    }
}
