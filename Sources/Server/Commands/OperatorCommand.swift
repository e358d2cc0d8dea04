import Administration
import ArgumentParser
import Vocabulary

struct OperatorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "operator",
        abstract: "Operators: who may use the administration API, and their tokens.",
        subcommands: [
            Create.self, List.self, Show.self, Role.self, Token.self, RevokeToken.self, OperatorFactorCommand.self,
            Remove.self,
        ]
    )

    /// The operator that a command works on.
    struct NameArgument: ParsableArguments {
        @Argument(help: "The operator's name.")
        var name: String
    }

    /// How long a token is good for, and for whom it is.
    struct TokenOptions: ParsableArguments {
        @Option(
            help: ArgumentHelp(
                "How long the token is valid, like 12h or 90d; for ever unless given.",
                valueName: "time"
            )
        )
        var expires: Lifetime?

        @Flag(help: "Whether a program gets the token, which shows no second factor.")
        var machine = false

        var lifetime: JSONValue? { expires.map { .integer($0.seconds) } }
        var isMachine: JSONValue? { .bool(machine) }
    }

    private static let tokens = [
        OutputOptions.Section(
            member: "tokens",
            columns: [
                Column("TOKEN", "id", .id), Column("CREATED", "created", .moment),
                Column("EXPIRES", "expires", .moment), Column("LAST USED", "lastUsed", .moment),
                Column("MACHINE", "machine"),
            ]
        )
    ]

    /// Prints a token that was made, alone on standard output unless a program wants all of it.
    private static func print(_ made: Resource, of name: String, _ output: OutputOptions) throws {
        guard !output.json, let token = made.body.object?["token"]?.string else { return try output.show(made) }
        try Terminal.printOnce(token, "This is a token of the operator \(name).")
    }

    struct Create: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make an operator and print a token, this once.",
            discussion: """
                A viewer reads everything but secrets; an editor changes mappings and properties, disables users and ends \
                sessions as well; an owner does everything. Standard output has the token and nothing else.

                Examples:
                  federation operator create ann --role owner
                  federation operator create ci --role editor --machine --expires 90d > ci.token
                """
        )

        @OptionGroup var person: NameArgument

        @Option(help: "What the operator may do.")
        var role: OperatorRole

        @OptionGroup var options: TokenOptions
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            let document = JSONObject(present: [
                "name": .string(person.name), "role": .string(role.rawValue),
                "expiresInSeconds": options.lifetime, "machine": options.isMachine,
            ])
            let made = try await administration.operators.create(.object(document), by: actor, as: nil)
            try OperatorCommand.print(made, of: person.name, output)
        }
    }

    struct List: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the operators.",
            discussion: """
                Example:
                  federation operator list
                """
        )

        @OptionGroup var page: PageOptions
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            let page = try await page.read { try await administration.operators.list($0) }
            try output.show(
                page,
                [
                    Column("OPERATOR", "name", .id), Column("ROLE", "role", .id),
                    Column("CREATED", "created", .moment),
                    Column("TOKENS") { .integer(Int64($0["tokens"]?.array?.count ?? 0)) },
                ]
            )
        }
    }

    struct Show: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show an operator with the tokens by their ids.",
            discussion: """
                Tokens are stored as hashes: nothing shows one again.

                Example:
                  federation operator show ann
                """
        )

        @OptionGroup var person: NameArgument
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            try output.show(try await administration.operators.read(person.name), OperatorCommand.tokens)
        }
    }

    struct Role: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Give an operator another role.",
            discussion: """
                Example:
                  federation operator role ann editor
                """
        )

        @OptionGroup var person: NameArgument

        @Argument(help: "What the operator may do from here on.")
        var role: OperatorRole

        @OptionGroup var precondition: PreconditionOption
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            let changed = try await administration.operators.change(
                person.name,
                patch: .object(["role": .string(role.rawValue)]),
                if: precondition.precondition,
                by: actor
            )
            try output.show(changed, OperatorCommand.tokens)
        }
    }

    struct Token: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a further token of an operator and print it, this once.",
            discussion: """
                To replace a token: make a new one, put it where the old one is used, and revoke the old one. The token of a \
                person counts only with a second factor of the operator's, where there is one; that of a program counts alone.

                Example:
                  federation operator token ci --machine --expires 90d > ci.token
                """
        )

        @OptionGroup var person: NameArgument
        @OptionGroup var options: TokenOptions
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            let document = JSONObject(present: [
                "expiresInSeconds": options.lifetime, "machine": options.isMachine,
            ])
            let made = try await administration.operators.createToken(
                of: person.name,
                .object(document),
                by: actor,
                as: nil
            )
            try OperatorCommand.print(made, of: person.name, output)
        }
    }

    struct RevokeToken: AdministrationCommand {
        static let configuration = CommandConfiguration(
            commandName: "revoke-token",
            abstract: "Revoke one token of an operator.",
            discussion: """
                Example:
                  federation operator revoke-token ci 44d09a8fb0aa91b3
                """
        )

        @OptionGroup var person: NameArgument

        @Argument(help: "The token's id, as operator show lists it.")
        var id: String

        @OptionGroup var precondition: PreconditionOption

        func run(_ administration: Administration, by actor: Actor) async throws {
            try await administration.operators.revokeToken(
                id,
                of: person.name,
                if: precondition.precondition,
                by: actor
            )
            try Terminal.report("The token \(id) of \(person.name) is revoked.")
        }
    }

    struct Remove: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove an operator with all tokens.",
            discussion: """
                The audit log keeps what the operator did.

                Example:
                  federation operator remove ann --confirm ann
                """
        )

        @OptionGroup var person: NameArgument
        @OptionGroup var confirmation: ConfirmationOption
        @OptionGroup var precondition: PreconditionOption

        func run(_ administration: Administration, by actor: Actor) async throws {
            try confirmation.require(person.name, losing: "the operator \(person.name) and all tokens")
            try await administration.operators.remove(person.name, if: precondition.precondition, by: actor)
            try Terminal.report("The operator \(person.name) is removed.")
        }
    }
}
