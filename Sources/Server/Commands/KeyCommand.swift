import Administration
import ArgumentParser
import Vocabulary

struct KeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "API keys: what clients name in the path beside the application.",
        subcommands: [List.self, Create.self, Label.self, Revoke.self]
    )

    /// The key that a command works on.
    struct LabelArgument: ParsableArguments {
        @OptionGroup var application: ApplicationArgument

        @Argument(help: "The key's label.")
        var label: String
    }

    struct List: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the keys of an application by their labels.",
            discussion: """
                Keys are stored as hashes: nothing shows one again.

                Example:
                  federation key list demo
                """
        )

        @OptionGroup var application: ApplicationArgument
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            let keys = try await administration.keys.list(of: application.id)
            try output.show(
                list: keys,
                [Column("LABEL", "label", .id), Column("CREATED", "created", .moment), Column("SERVER", "server")]
            )
        }
    }

    struct Create: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a key and print it, this once.",
            discussion: """
                Standard output has the key and nothing else. A key that clients have already is taken from a file or \
                from standard input instead, and is not printed.

                Examples:
                  federation key create demo ios
                  federation key create demo android --key-file android.key
                  federation key create demo backend --server
                """
        )

        @OptionGroup var key: LabelArgument
        @OptionGroup var given: APIKeyOptions

        @Flag(
            help:
                "A server's key: it may give roles, disable users and log in as a user. Never put it into an app or a page."
        )
        var server = false

        @OptionGroup var output: OutputOptions

        var inputFiles: [String] { [given.file].compactMap(\.self) }

        func run(_ administration: Administration, by actor: Actor) async throws {
            let given = try given.read("The API key")
            let document = JSONObject(present: [
                "label": .string(key.label), "key": given.map { .string($0.reveal()) },
                "server": server ? .bool(true) : nil,
            ])
            let made = try await administration.keys.create(of: key.application.id, .object(document), by: actor)
            guard !output.json, let text = made.body.object?["key"]?.string else { return try output.show(made) }
            guard given == nil else {
                return try Terminal.report("The key \(key.label) of \(key.application.id) is in force.")
            }
            try Terminal.printOnce(text, "This is the key \(key.label) of \(key.application.id).")
        }
    }

    struct Label: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Give a key another label.",
            discussion: """
                Example:
                  federation key label demo ios ios-2026
                """
        )

        @OptionGroup var key: LabelArgument

        @Argument(help: "The label that it gets.")
        var newLabel: String

        @OptionGroup var precondition: PreconditionOption
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            let changed = try await administration.keys.relabel(
                key.label,
                of: key.application.id,
                patch: .object(["label": .string(newLabel)]),
                if: precondition.precondition,
                by: actor
            )
            try output.show(changed)
        }
    }

    struct Revoke: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Revoke a key: clients that have it are refused.",
            discussion: """
                Every running instance refuses it within a second.

                Example:
                  federation key revoke demo ios --confirm ios
                """
        )

        @OptionGroup var key: LabelArgument
        @OptionGroup var confirmation: ConfirmationOption
        @OptionGroup var precondition: PreconditionOption

        func run(_ administration: Administration, by actor: Actor) async throws {
            let (label, application) = (key.label, key.application.id)
            try confirmation.require(
                label,
                losing: "the key \(label) of \(application), which no client can use any more"
            )
            try await administration.keys.revoke(label, of: application, if: precondition.precondition, by: actor)
            try Terminal.report("The key \(label) of \(application) is revoked.")
        }
    }
}
